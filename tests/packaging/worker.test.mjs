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
  const worker = await start(name, script, { compatibilityDate });
  try {
    return await ask(worker);
  } finally {
    await worker.dispose();
  }
}

async function ask(worker) {
  const response = await fetch(await worker.ready);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Bundles a Worker and starts it. */
async function start(name, script, options) {
  const outdir = consumer.at(name);
  await esbuild.build({
    entryPoints: { worker: consumer.write(`${name}.js`, script) },
    outdir,
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    // Copies the file and keeps the import, as wrangler does.
    loader: { ".wasm": "copy" },
    external: ["./translated.js", "cloudflare:*"],
    logLevel: "silent",
  });
  const files = readdirSync(outdir).sort((one, other) => other.localeCompare(one));
  return new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      bindings: { SHOP: shop.url },
      modulesRoot: outdir,
      modules: files.map((file) => ({
        type: file.endsWith(".wasm") ? "CompiledWasm" : "ESModule",
        path: join(outdir, file),
        contents: readFileSync(join(outdir, file), file.endsWith(".wasm") ? undefined : "utf8"),
      })),
      handleStructuredLogs() {},
      ...options,
    }),
  );
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

// Each Worker is stopped while its request is at the server, and started again with the same storage.
const BUY = `
await client.ready;
const before = client.pending().map(({ state }) => state);
const response = await client.fetch("order:1", env.SHOP + "/held", { body: "{}" });
const { state, key } = client.intent("order:1").status();
await client.ready;
return Response.json({ before, status: response.status, state, key, left: client.pending().length });`;
const STORES = {
  kvStore: {
    script: `import { createClient } from "oncekey";
    import { kvStore } from "oncekey/store";
    export default { async fetch(request, env) { const client = createClient({ storage: kvStore(env.KEYS) });${BUY} } };`,
    options: { kvNamespaces: ["KEYS"] },
  },
  durableStore: {
    script: `import { createClient } from "oncekey";
    import { durableStore } from "oncekey/store";
    import { DurableObject } from "cloudflare:workers";
    export class Till extends DurableObject {
      async fetch() {
        const { env } = this;
        const client = createClient({ storage: durableStore(this.ctx.storage) });${BUY}
      }
    }
    export default { fetch: (request, env) => env.TILL.get(env.TILL.idFromName("one")).fetch(request) };`,
    options: { durableObjects: { TILL: { className: "Till", useSQLite: true } } },
  },
};
for (const [name, { script, options }] of Object.entries(STORES)) {
  test(`${name}: a Worker that is stopped before the response sends the same key again`, async () => {
    const storage = { compatibilityDate: "2026-11-01", resourcePersistencePath: consumer.at(`${name}-data`), ...options };
    const before = shop.orders.length;
    shop.hold();
    const first = await start(name, script, storage);
    const lost = ask(first).catch(() => "lost");
    while (shop.orders.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
    await first.dispose();
    assert.equal(await lost, "lost");
    shop.let();
    const second = await start(name, script, storage);
    try {
      const { key, ...report } = await ask(second);
      assert.deepEqual(report, { before: ["sending"], status: 201, state: "succeeded", left: 0 });
      assert.deepEqual(shop.orders.slice(before).map((order) => order.key), [key, key]);
    } finally {
      await second.dispose();
    }
  });
}

test("durableStore: two requests at once send one key", async () => {
  const { script, options } = STORES.durableStore;
  const worker = await start("durable-both", script, { compatibilityDate: "2026-11-01", ...options });
  const before = shop.orders.length;
  shop.hold();
  try {
    const both = [ask(worker), ask(worker)];
    while (shop.orders.length === before) await new Promise((resolve) => setTimeout(resolve, 20));
    shop.let();
    for (const { status, state } of await Promise.all(both)) assert.deepEqual([status, state], [201, "succeeded"]);
    assert.equal(new Set(shop.orders.slice(before).map(({ key }) => key)).size, 1);
  } finally {
    await worker.dispose();
  }
});

test("kvStore: a write that KV refuses because the last one was too recent is made again", async () => {
  const { kvStore } = await import(consumer.at("node_modules/oncekey/dist/store.js"));
  const { createClient } = await import(consumer.at("node_modules/oncekey/dist/index.js"));
  const texts = new Map();
  const refused = [];
  // The second write comes too early, and is refused once.
  const put = (name, text) => {
    if (texts.has(name) && refused.length === 0) {
      refused.push(name);
      throw new Error("KV PUT failed: 429 Too Many Requests");
    }
    texts.set(name, text);
  };
  const namespace = {
    get: async (name) => texts.get(name) ?? null,
    put: async (name, text) => put(name, text),
    delete: async (name) => void texts.delete(name),
    list: async ({ prefix }) => ({ keys: [...texts.keys()].filter((name) => name.startsWith(prefix)).map((name) => ({ name })), list_complete: true }),
  };
  const client = createClient({ storage: kvStore(namespace) });
  assert.equal((await client.fetch("order:kv", `${shop.url}/orders`, { body: "{}" })).status, 201);
  assert.equal(client.intent("order:kv").status().state, "succeeded");
  assert.deepEqual(refused, ["oncekey:i:order:kv"]);
});
