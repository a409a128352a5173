// The package in a Worker, where wasm is a module: bundled with the `workerd` condition, and run on workerd.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import * as esbuild from "esbuild";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { Consumer, Shop } from "./support.mjs";

let consumer;
let shop;
before(async () => {
  consumer = await Consumer.make("worker");
  shop = await Shop.open();
});
after(() => shop.close());

/** Bundles a Worker and sends it one request. */
async function run(name, script, compatibilityDate) {
  const outdir = consumer.at(name);
  await esbuild.build({
    entryPoints: { worker: consumer.write(`${name}.js`, script) },
    outdir,
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    // Copies the file and keeps the import, as wrangler does.
    loader: { ".wasm": "copy" },
    external: ["./translated.js"],
    logLevel: "silent",
  });
  const files = readdirSync(outdir).sort((one, other) => other.localeCompare(one));
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      compatibilityDate,
      bindings: { SHOP: shop.url },
      modulesRoot: outdir,
      modules: files.map((file) => ({
        type: file.endsWith(".wasm") ? "CompiledWasm" : "ESModule",
        path: join(outdir, file),
        contents: readFileSync(join(outdir, file), file.endsWith(".wasm") ? undefined : "utf8"),
      })),
      handleStructuredLogs() {},
    }),
  );
  try {
    const response = await fetch(await worker.ready);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  } finally {
    await worker.dispose();
  }
}

const SEND = `
const response = await client.fetch("order:1", env.SHOP + "/orders", { body: "{}" });
const { state, key } = client.intent("order:1").status();
return Response.json({ status: response.status, body: await response.json(), state, key });`;

// Before late 2024, fetch() in a Worker refuses the option `cache`.
for (const date of ["2026-11-01", "2024-01-01"]) {
  test(`a client of one request sends, with the compatibility date ${date}`, async () => {
    const { status, body, state, key } = await run(
      `request-${date}`,
      `import { createClient } from "oncekey";
      export default { async fetch(request, env) { const client = createClient({ storage: null });${SEND} } };`,
      date,
    );
    assert.deepEqual({ status, body, state }, { status: 201, body: { id: "order" }, state: "succeeded" });
    assert.equal(shop.orders.at(-1).key, key);
  });
}

test("a client at the top level of a Worker sends", async () => {
  // Outside of a request, a Worker has no random numbers and no time.
  const report = await run(
    "whole",
    `import { createClient } from "oncekey/workerd";
    import "oncekey/react";
    const client = createClient({ storage: null });
    export default { async fetch(request, env) {${SEND} } };`,
    "2026-11-01",
  );
  assert.equal(report.status, 201);
});
