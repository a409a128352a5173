// The package in Deno and Bun: as an ES module and as CommonJS, with every entry point. Its stores: stores.test.mjs.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { HOSTS, Program } from "./hosts.mjs";
import { Consumer, Shop } from "./support.mjs";

let consumer;
let shop;
before(async () => {
  consumer = await Consumer.make("deno-bun");
  shop = await Shop.open();
});
after(() => shop.close());

const run = (host, name, content) => new Program(host, consumer.path, consumer.write(`${host}/${name}`, content)).report();

const buy = (load) => `${load}
const client = createClient({ storage: null });
const body = JSON.stringify({ amount: 1 });
client.fetch("order:1", "${shop.url}/orders", { body, headers: { "content-type": "application/json" } }).then(async (response) => {
  const { state, key } = client.intent("order:1").status();
  console.log(JSON.stringify({ status: response.status, body: await response.json(), state, key, minted: await mintKey() }));
});`;
const ENTRIES = ["oncekey", "oncekey/slim", "oncekey/node", "oncekey/store", "oncekey/react", "oncekey/element", "oncekey/auto"];

for (const host of ["deno", "bun"]) {
  describe(host, { skip: HOSTS.has(host) ? false : "its binary is not installed on this platform" }, () => {
    for (const [how, name, load] of [
      ["import", "buy.mjs", 'import { createClient, mintKey } from "oncekey";'],
      ["require", "buy.cjs", 'const { createClient, mintKey } = require("oncekey");'],
      [
        "slim, with the wasm's bytes",
        "slim.mjs",
        `import { readFileSync } from "node:fs";
        import { createClient, init, mintKey } from "oncekey/slim";
        init(() => readFileSync(new URL(import.meta.resolve("oncekey/wasm"))));`,
      ],
    ]) {
      test(`${how}: a client sends`, async () => {
        const { status, body, state, key, minted } = await run(host, name, buy(load));
        assert.deepEqual({ status, body, state }, { status: 201, body: { id: "order" }, state: "succeeded" });
        assert.deepEqual(shop.orders.at(-1), { key, body: '{"amount":1}' });
        assert.match(minted, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
      });
    }

    test("every entry point can be imported, and does nothing", async () => {
      const report = await run(
        host,
        "entries.mjs",
        `// The first CommonJS module adds a name in Deno.
        await import("react");
        const before = Reflect.ownKeys(globalThis).length;
        const names = [];
        for (const entry of ${JSON.stringify(ENTRIES)}) names.push(Object.keys(await import(entry)).length);
        console.log(JSON.stringify({ names, added: Reflect.ownKeys(globalThis).length - before }));`,
      );
      assert.deepEqual(report, { names: [9, 10, 2, 4, 2, 1, 0], added: 0 });
    });

    test("React renders a guarded form on a server", async () => {
      const report = await run(
        host,
        "render.mjs",
        `import { createElement } from "react";
        import { renderToString } from "react-dom/server";
        import { createClient } from "oncekey";
        import { useFormGuard, useIntentStatus } from "oncekey/react";
        const client = createClient({ storage: null });
        function Checkout() {
          const { state } = useIntentStatus(client, "order:1");
          return createElement("form", { ref: useFormGuard({ client, intent: "order:1" }) }, state);
        }
        console.log(JSON.stringify(renderToString(createElement(Checkout))));`,
      );
      assert.equal(report, "<form>idle</form>");
    });
  });
}
