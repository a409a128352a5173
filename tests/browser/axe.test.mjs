// Every page that the Worker serves, checked by axe: on a phone and on a desk, in light and in dark.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findingsOf } from "./axe.mjs";
import { Operator, TOKEN, admin } from "./operator.mjs";
import { startBrowser, startWorker } from "./support.mjs";

const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };

describe("axe finds nothing", () => {
  let browser, worker;
  before(async () => {
    [browser, worker] = await Promise.all([startBrowser(), startWorker({ vars: { ADMIN_TOKEN: TOKEN, UNKNOWN_OUTCOME: "hold" } })]);
    // One failed request, which leaves a key and a business key unknown.
    const headers = { "X-Api-Key": "kuko_test_axe", "Idempotency-Key": "k-1", "Content-Type": "application/json", "Sandbox-Fault": "error-after" };
    const body = JSON.stringify({ out_trade_no: "A-1", amount: 100, currency: "EUR", subject: "Seeds" });
    assert.equal((await worker.fetch("/v1/orders", { method: "POST", headers, body })).status, 500);
    // Starts all 256 objects once.
    await worker.fetch("/_oncekey/keys", { headers: Object.fromEntries(admin) });
  });
  after(async () => {
    await browser?.close();
    await worker?.dispose();
  });

  test("unless there is something to find", async () => {
    const page = await browser.newPage();
    await page.setContent('<main><button aria-label="Send">Pay</button></main>');
    const ids = (await findingsOf(page)).map((finding) => finding.split(":")[0]);
    assert.ok(ids.includes("label-content-name-mismatch") && ids.includes("html-has-lang"), ids.join());
    await page.close();
  });

  for (const viewport of [PHONE, DESK]) {
    for (const colorScheme of ["light", "dark"]) {
      const look = `at ${viewport.width} × ${viewport.height} in ${colorScheme}`;
      const opened = async (run) => {
        const context = await browser.newContext({ viewport, colorScheme, reducedMotion: "reduce" });
        try {
          await run(context);
        } finally {
          await context.close();
        }
      };
      const isClean = async (page, what) => assert.deepEqual(await findingsOf(page), [], what);

      test(`in the demo ${look}`, () =>
        opened(async (context) => {
          const page = await context.newPage();
          const shows = (page, words) =>
            page.waitForFunction((words) => document.querySelector("[data-oncekey-status]").textContent.match(words), words);
          await page.goto(`${worker.url}/`);
          await page.waitForFunction(() => document.querySelector("#fact-state").textContent === "nothing sent");
          await isClean(page, "before a payment");
          const second = await context.newPage();
          await second.goto(page.url());
          await page.bringToFront();
          await page.locator(".pay:visible").first().click();
          await shows(page, "^Paid\\.");
          await isClean(page, "after a payment");
          await shows(second, "^Paid");
          await isClean(second, "in a second tab");
        }));

      test(`in the posted form and in the list of errors ${look}`, () =>
        opened(async (context) => {
          const page = await context.newPage();
          for (const path of ["/_oncekey/demo/navigate.html", "/_oncekey/errors"]) {
            await page.goto(worker.url + path);
            await isClean(page, path);
          }
        }));

      test(`in the console ${look}`, () =>
        opened(async (context) => {
          const { page } = await Operator.open(context, worker);
          await isClean(page, "before signing in");
          await page.fill("#token", TOKEN);
          await page.press("#token", "Enter");
          await page.waitForSelector("[role=option].unknown");
          await isClean(page, "the list");
          await page.click("[role=option].unknown");
          await page.waitForSelector("#acts:not([hidden])");
          await isClean(page, "a key");
          for (const name of ["not-executed", "executed"]) {
            await page.click(`#act-${name}`);
            await isClean(page, name);
            await page.click(`#dialog-${name} .cancel`);
          }
        }));
    }
  }
});
