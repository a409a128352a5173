// The package in Node: as an ES module and as CommonJS, on servers that render pages, and the side effects of its import.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { Consumer, Shop } from "./support.mjs";

let consumer;
let shop;
before(async () => {
  consumer = await Consumer.make("node");
  shop = await Shop.open();
});
after(() => shop.close());

/** Returns a program that buys something in Node, and prints the result. */
const buy = () => `
const client = createClient({ storage: null });
const body = JSON.stringify({ amount: 1 });
client.fetch("order:1", "${shop.url}/orders", { body, headers: { "content-type": "application/json" } }).then(async (response) => {
  const { state, key } = client.intent("order:1").status();
  console.log(JSON.stringify({ status: response.status, body: await response.json(), state, key, minted: await mintKey() }));
});`;

for (const [how, name, load] of [
  ["import", "buy.mjs", 'import { createClient, mintKey } from "oncekey";'],
  ["require", "buy.cjs", 'const { createClient, mintKey } = require("oncekey");'],
]) {
  test(`${how}: a client sends`, async () => {
    const { status, body, state, key, minted } = await consumer.run(name, load + buy());
    assert.deepEqual({ status, body, state }, { status: 201, body: { id: "order" }, state: "succeeded" });
    assert.deepEqual(shop.orders.at(-1), { key, body: '{"amount":1}' });
    assert.match(minted, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });
}

test("keyHeader names the header for the key, and key calls send Idempotency-Key", async () => {
  const report = await consumer.run(
    "key-header.mjs",
    `import { createClient } from "oncekey";
    const sent = [];
    const fetch = async (url, init) => {
      const headers = new Headers(init.headers);
      sent.push([url, headers.get("x-idempotency-key") !== null, headers.get("idempotency-key") !== null]);
      if (url.endsWith("/key")) return Response.json({ state: "released" });
      throw new TypeError("the connection broke");
    };
    const client = createClient({ storage: null, keyHeader: "X-Idempotency-Key", keyUrl: "http://shop/key", fetch, retry: { limit: 0 } });
    const intent = client.intent("order:1");
    const { name } = await intent.fetch("http://shop/orders", { body: "{}", headers: { "X-Api-Key": "k" } }).catch((error) => error);
    await intent.resolve();
    console.log(JSON.stringify([name, sent]));`,
  );
  const [, sent] = report;
  assert.deepEqual(sent[0], ["http://shop/orders", true, false]);
  assert.ok(sent.length > 1, "there was a key call");
  for (const call of sent.slice(1)) assert.deepEqual(call, ["http://shop/key", false, true]);
});

test("slim: accepts the wasm's bytes", async () => {
  const report = await consumer.run(
    "slim.mjs",
    `import { readFileSync } from "node:fs";
    import { createClient, init, mintKey } from "oncekey/slim";
    init(() => readFileSync(new URL(import.meta.resolve("oncekey/wasm"))));${buy()}`,
  );
  assert.equal(report.status, 201);
});

test("fault 75: slim: wasm of another version causes an error, and the correct wasm can be given later", async () => {
  const report = await consumer.run(
    "versions.mjs",
    `import { readFileSync } from "node:fs";
    import { createClient, init } from "oncekey/slim";
    const right = readFileSync(new URL(import.meta.resolve("oncekey/wasm")));
    const { name } = WebAssembly.Module.exports(new WebAssembly.Module(right)).find(({ kind }) => kind === "memory");
    const wrong = Buffer.from(right.toString("latin1").replaceAll(name, "v".repeat(name.length)), "latin1");
    let wasm = wrong;
    init(() => wasm);
    const client = createClient({ storage: null });
    const first = await client.ready.then(() => "ready", (error) => error.name);
    wasm = right;
    console.log(JSON.stringify([first, await client.ready.then(() => "ready")]));`,
  );
  assert.deepEqual(report, ["TypeError", "ready"]);
});

test("slim: a call without init, or with bytes that are not wasm, is an error, and no translation is loaded", async () => {
  const report = await consumer.run(
    "no-init.mjs",
    `import { createClient, init, mintKey } from "oncekey/slim";
    const described = async (call) => {
      try {
        await call();
        return "nothing";
      } catch ({ message }) {
        return message;
      }
    };
    const page = () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
    const all = [await described(createClient), await described(mintKey), await described(() => init(undefined))];
    for (const wasm of [page, new TextEncoder().encode("<!doctype html>"), () => new Response("", { status: 404 })]) {
      init(wasm);
      const client = createClient({ storage: null });
      client.addEventListener("wasm-fallback", () => all.push("a translation was loaded"));
      all.push(await described(() => client.ready));
    }
    console.log(JSON.stringify(all));`,
  );
  const expected = [/call init\(\)/, /call init\(\)/, /init\(\) needs the wasm/, /no wasm \(text\/html\)/, /no wasm \(bytes\)/, /404/];
  assert.equal(report.length, expected.length, report.join());
  for (const [at, pattern] of expected.entries()) assert.match(report[at], pattern);
});

test("where wasm is forbidden, its translation runs", async () => {
  // Node's fetch compiles the wasm of its parser first.
  const forbid = `const forbidden = () => { throw new WebAssembly.CompileError("forbidden"); };
    fetch("${shop.url}/").then(() => {
      WebAssembly.Module = WebAssembly.compile = WebAssembly.instantiate = forbidden;
      return load();
    }).then(({ createClient, mintKey }) => {${buy()}});`;
  for (const [name, load] of [
    ["translated.mjs", 'const load = () => import("oncekey");'],
    ["translated.cjs", 'const load = () => require("oncekey");'],
  ]) {
    const report = await consumer.run(name, load + forbid);
    assert.equal(report.status, 201, name);
  }
});

test("where the wasm cannot be unpacked, its translation runs", async () => {
  const report = await consumer.run(
    "packed.mjs",
    `delete globalThis.DecompressionStream;
    const { createClient } = await import("oncekey");
    const client = createClient({ storage: null });
    client.addEventListener("wasm-fallback", ({ detail }) => console.log(JSON.stringify(detail.reason)));
    await client.ready;
    await client.fetch("order:1", "${shop.url}/orders", { body: "{}" });`,
  );
  assert.match(report, /DecompressionStream/);
});

// On a server that renders pages, `document` and similar objects do not exist.
const ENTRIES = ["oncekey", "oncekey/slim", "oncekey/node", "oncekey/store", "oncekey/react", "oncekey/element", "oncekey/auto"];

test("every entry point can be imported and required without a document", async () => {
  const names = JSON.stringify(ENTRIES);
  const load = (how) => `const all = {};
    for (const name of ${names}) all[name] = Object.keys(${how}(name)).filter((name) => !["default", "module.exports", "__esModule"].includes(name)).sort();
    console.log(JSON.stringify(all));`;
  const imported = await consumer.run("all.mjs", load("await import"));
  const required = await consumer.run("all.cjs", load("require"));
  assert.deepEqual(imported, required);
  assert.deepEqual(imported, {
    oncekey: [...ERRORS, "createClient", "guardForm", "mintKey"],
    "oncekey/slim": [...ERRORS, "createClient", "guardForm", "init", "mintKey"],
    "oncekey/node": ["StoreError", "fileStore"],
    "oncekey/store": ["StoreError", "asyncStore", "durableStore", "kvStore"],
    "oncekey/react": ["useFormGuard", "useIntentStatus"],
    "oncekey/element": ["defineElement"],
    "oncekey/auto": [],
  });
});
const ERRORS = ["AbortedError", "KeyReusedError", "KeyVoidedError", "OutcomeUnknownError", "PayloadChangedError", "ResponseGoneError"];

test("fault 58: React renders a guarded form on a server without using randomness", async () => {
  const report = await consumer.run(
    "render.mjs",
    `import { createElement } from "react";
    import { renderToString } from "react-dom/server";
    import { createClient } from "oncekey";
    import { useFormGuard, useIntentStatus } from "oncekey/react";
    let drawn = 0;
    for (const name of ["getRandomValues", "randomUUID"]) {
      const real = crypto[name];
      crypto[name] = (...all) => (drawn++, real.apply(crypto, all));
    }
    const client = createClient({ storage: null });
    function Checkout() {
      const { state } = useIntentStatus(client, "order:1");
      return createElement("form", { ref: useFormGuard({ client, intent: "order:1" }) }, state);
    }
    await client.ready;
    const pages = [1, 2].map(() => renderToString(createElement(Checkout)));
    console.log(JSON.stringify([...pages, drawn]));`,
  );
  assert.deepEqual(report, ["<form>idle</form>", "<form>idle</form>", 0]);
});

test("an import has no side effects", async () => {
  const report = await consumer.run(
    "touched.mjs",
    `// Each access to one of these is recorded.
    const touched = [];
    const watched = ["localStorage", "sessionStorage", "document", "window", "navigator", "location", "crypto", "performance",
      "fetch", "WebAssembly", "atob", "customElements", "setTimeout", "setInterval", "queueMicrotask", "addEventListener",
      "MutationObserver", "indexedDB", "BroadcastChannel"];
    const real = {};
    for (const name of watched) {
      real[name] = Object.getOwnPropertyDescriptor(globalThis, name);
      const value = real[name]?.get ? undefined : real[name]?.value;
      const get = () => {
        const { stack } = new Error();
        if (stack.includes("node_modules/oncekey")) touched.push(name);
        return value;
      };
      Object.defineProperty(globalThis, name, { configurable: true, get });
    }
    const keys = () => Reflect.ownKeys(globalThis).map(String).sort().join();
    const before = keys();
    const { active } = process.getActiveResourcesInfo ? { active: process.getActiveResourcesInfo().length } : {};
    for (const entry of ${JSON.stringify(ENTRIES.filter((entry) => entry !== "oncekey/auto"))}) await import(entry);
    const after = keys();
    const left = process.getActiveResourcesInfo().length - active;
    console.log(JSON.stringify({ touched, added: after !== before, left }));`,
  );
  assert.deepEqual(report, { touched: [], added: false, left: 0 });
});

test("the package works with frozen built-in objects", async () => {
  const report = await consumer.run("frozen.mjs", `import { createClient, mintKey } from "oncekey";${buy()}`, ["--frozen-intrinsics"]);
  assert.equal(report.status, 201);
});

test("importing only an error class does not bundle the wasm", async () => {
  const size = async (name, content) => {
    const { outputFiles } = await build({
      stdin: { contents: content, resolveDir: consumer.path },
      bundle: true,
      minify: true,
      format: "esm",
      splitting: true,
      outdir: "out",
      write: false,
      logLevel: "silent",
    });
    // What a page can come to load. esbuild also writes chunks that nothing leads to.
    const texts = new Map(outputFiles.map(({ path, text }) => [path.split("/").at(-1), text]));
    const reached = new Set();
    const follow = (file) => {
      if (reached.has(file) || !texts.has(file)) return;
      reached.add(file);
      for (const [, next] of texts.get(file).matchAll(/"\.\/([\w-]+\.js)"/g)) follow(next);
    };
    follow("stdin.js");
    return [...reached].reduce((sum, file) => sum + texts.get(file).length, 0);
  };
  const whole = await size("whole", 'import { createClient } from "oncekey"; createClient();');
  const part = await size("part", 'import { OutcomeUnknownError } from "oncekey"; console.log(OutcomeUnknownError);');
  const none = await size("none", 'import "oncekey"; import "oncekey/react"; import "oncekey/element";');
  assert.ok(whole > 150_000, `${whole} bytes`);
  assert.ok(part < 50_000, `${part} bytes`);
  assert.equal(none, 0);
});
