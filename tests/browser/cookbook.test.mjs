// The checkout page of docs/guide/cookbook.md in Chromium, against the real Worker and its sandbox.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { build } from "esbuild";
import { unpack } from "../worker/fixtures/guide.mjs";
import { eventually, startBrowser, startWorker } from "./support.mjs";

const folder = unpack("docs/guide/cookbook.md", "checkout");
const oncekey = new URL("../../www/dist/index.js", import.meta.url).pathname;

test("the checkout page orders once, whatever the buyer presses and loads again", async () => {
  await build({ entryPoints: [join(folder, "checkout.js")], outdir: join(folder, "built"), bundle: true, format: "esm", alias: { oncekey } });
  const [browser, worker] = await Promise.all([startBrowser(), startWorker()]);
  try {
    const context = await browser.newContext();
    const page = await context.newPage();
    const html = readFileSync(join(folder, "checkout.html"), "utf8");
    const script = readFileSync(join(folder, "built/checkout.js"), "utf8");
    await page.route("**/shop/checkout.html", (route) => route.fulfill({ contentType: "text/html", body: html }));
    await page.route("**/shop/checkout.js", (route) => route.fulfill({ contentType: "text/javascript", body: script }));
    await page.route("**/thanks", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Thanks</h1>" }));
    const keys = [];
    // The first response is lost on its way to the page.
    await page.route("**/v1/orders", async (route) => {
      keys.push((await route.request().allHeaders())["idempotency-key"]);
      if (keys.length > 1) return route.continue();
      await route.fetch();
      return route.abort("connectionreset");
    });

    await page.goto(`${worker.url}/shop/checkout.html`);
    await page.getByRole("button").dblclick();
    await eventually(() => assert.equal(keys.length, 1));
    await page.reload();
    await page.getByRole("button").dblclick();
    await page.waitForURL("**/thanks");

    assert.equal(new Set(keys).size, 1);
    const headers = { "X-Api-Key": "kuko_test_demo" };
    const { data } = await (await worker.fetch(`/v1/sandbox/executions/${keys[0]}`, { headers })).json();
    assert.equal(data.count, 1);
    const order = await (await worker.fetch("/v1/orders?out_trade_no=ORDER_1042", { headers })).json();
    assert.deepEqual([order.data.amount, order.data.subject], [2990, "Pro plan"]);
  } finally {
    await browser.close();
    await worker.dispose();
  }
});
