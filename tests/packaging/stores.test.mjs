// Clients outside of a page: their entries survive the process, several processes take turns, and a store that fails is an
// error.
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { before, describe, test } from "node:test";
import { build } from "esbuild";
import { HOSTS, Program } from "./hosts.mjs";
import { Consumer, root } from "./support.mjs";

/** A server that executes each key once. Until `open`, it executes and does not respond. */
class Server {
  /** What was executed: a body for each key. */
  executed = new Map();
  #arrived = [];
  #gate;

  static async start(t) {
    const server = new Server();
    server.http = createServer((request, response) => void server.#serve(request, response).catch(() => response.destroy()));
    await new Promise((resolve) => server.http.listen(0, "127.0.0.1", resolve));
    server.url = `http://127.0.0.1:${server.http.address().port}/orders`;
    t.after(() => server.stop());
    return server;
  }

  close() {
    this.#gate = new Promise((resolve) => (this.open = resolve));
  }
  /** Resolves when a request has been executed. */
  arrival() {
    return new Promise((resolve) => this.#arrived.push(resolve));
  }

  async #serve(request, response) {
    let body = "";
    for await (const chunk of request) body += chunk;
    const key = request.headers["idempotency-key"];
    const isFirst = !this.executed.has(key);
    if (isFirst) this.executed.set(key, { body, order: this.executed.size + 1 });
    for (const resolve of this.#arrived.splice(0)) resolve(key);
    await this.#gate;
    const replayed = isFirst ? {} : { "Idempotent-Replayed": "true" };
    response.writeHead(201, { "Content-Type": "application/json", "Idempotency-State": "completed", ...replayed });
    response.end(JSON.stringify({ order: this.executed.get(key).order }));
  }

  async stop() {
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }
}

let consumer;
before(async () => {
  consumer = await Consumer.make("stores");
  consumer.write(
    "buy.mjs",
    `import { createClient } from "oncekey";
    import { fileStore } from "oncekey/node";
    const [folder, url, body] = process.argv.slice(2);
    const client = createClient({ storage: fileStore(folder) });
    await client.ready;
    const before = client.pending().map(({ intent, state }) => [intent, state]);
    const response = await client.fetch("order:1042", url, { body, headers: { "content-type": "application/json" } });
    const { state, key } = client.intent("order:1042").status();
    console.log(JSON.stringify({ before, status: response.status, body: await response.json(), state, key }));`,
  );
});

const BODY = '{"amount":1}';
const newFolder = () => mkdtempSync(consumer.at("keys-"));
const buy = (host, folder, { url }) => new Program(host, consumer.path, consumer.at("buy.mjs"), [folder, url, BODY]);

// A killed process holds its turn for 15 seconds, so these tests wait side by side.
describe("fileStore", { concurrency: true }, () => {
  for (const host of HOSTS.keys()) {
    test(`${host}: a process that is killed before its response, and started again, executes once`, async (t) => {
      const server = await Server.start(t);
      const folder = newFolder();
      server.close();
      const first = buy(host, folder, server);
      const key = await server.arrival();
      assert.equal((await first.kill()).signal, "SIGKILL");
      server.open();
      // The killed process may still have its turn, which ends by itself.
      const { before, ...report } = await buy(host, folder, server).report();
      assert.deepEqual(before, [["order:1042", "sending"]]);
      assert.deepEqual(report, { status: 201, body: { order: 1 }, state: "succeeded", key });
      assert.deepEqual([...server.executed.keys()], [key]);
    });

    test(`${host}: several processes at once execute once, and all get the response`, async (t) => {
      const server = await Server.start(t);
      const folder = newFolder();
      server.close();
      const arrival = server.arrival();
      const all = [1, 2, 3].map(() => buy(host, folder, server).report());
      const key = await arrival;
      server.open();
      for (const report of await Promise.all(all)) {
        assert.deepEqual([report.status, report.body, report.key], [201, { order: 1 }, key]);
      }
      assert.deepEqual([...server.executed.keys()], [key]);
      // Only the entry and the marks of its lease are left: no draft, no older file.
      assert.equal(readdirSync(folder).flatMap((name) => readdirSync(`${folder}/${name}`)).length, 2);
    });
  }
});

test("two folders are two stores", async (t) => {
  const server = await Server.start(t);
  const reports = await Promise.all([buy("node", newFolder(), server).report(), buy("node", newFolder(), server).report()]);
  assert.notEqual(reports[0].key, reports[1].key);
  assert.equal(server.executed.size, 2);
});

test("of several processes that have read the same text, one writes", async () => {
  await build({
    entryPoints: [`${root}www/src/store/files.ts`],
    outfile: consumer.at("files.mjs"),
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "silent",
  });
  consumer.write(
    "count.mjs",
    `import { Files } from "./files.mjs";
    const [folder] = process.argv.slice(2);
    const files = new Files(folder);
    const written = [];
    while (written.length < 40) {
      const before = await files.read("count");
      const next = Number(before) + 1;
      if (await files.replace("count", before, String(next))) written.push(next);
    }
    console.log(JSON.stringify(written));`,
  );
  const folder = newFolder();
  const all = [1, 2, 3, 4].map(() => new Program("node", consumer.path, consumer.at("count.mjs"), [folder]).report());
  // A process may be told that it did not write although it did, and another has written since. The reverse never happens.
  const written = (await Promise.all(all)).flat();
  assert.equal(new Set(written).size, 160);
});

test("a removed text is gone, and its folder is removed later", async () => {
  const { Files } = await import(consumer.at("files.mjs"));
  const folder = newFolder();
  const files = new Files(folder);
  assert.equal(await files.replace("a:i:1", null, "one"), true);
  assert.equal(await files.replace("a:i:1", null, "two"), false);
  assert.deepEqual([await files.read("a:i:1"), await files.names("a:")], ["one", ["a:i:1"]]);
  assert.equal(await files.replace("a:i:1", "one", null), true);
  assert.deepEqual([await files.read("a:i:1"), await files.names("a:")], [null, []]);
  assert.equal(readdirSync(folder).length, 1);
  const { now } = Date;
  Date.now = () => now() + 3_700_000;
  try {
    await files.names("a:");
  } finally {
    Date.now = now;
  }
  assert.deepEqual(readdirSync(folder), []);
  assert.equal(await files.replace("a:i:1", null, "again"), true);
});

/** Returns a store in memory, which the test can break, with what it stores. */
function memory({ compares = true } = {}) {
  const texts = new Map();
  const store = {
    texts,
    fails: () => {},
    async read(name) {
      store.fails("read", name);
      return texts.get(name) ?? null;
    },
    async names(start) {
      store.fails("names", start);
      return [...texts.keys()].filter((name) => name.startsWith(start));
    },
  };
  const set = (name, text) => (text === null ? texts.delete(name) : texts.set(name, text));
  if (!compares) return Object.assign(store, { write: async (name, text) => (store.fails("write", name), set(name, text)) });
  const replace = async (name, before, text) => {
    store.fails("write", name);
    if ((texts.get(name) ?? null) !== before) return false;
    set(name, text);
    return true;
  };
  return Object.assign(store, { replace });
}

/** Loads the package as this process finds it in the consumer's folder. */
const load = async () => {
  const at = (entry) => import(consumer.at(`node_modules/oncekey/dist/${entry}.js`));
  return { ...(await at("index")), ...(await at("store")) };
};
const fails = (what, on = () => true) => (asked, name) => {
  if (asked === what && on(name)) throw new Error("the connection was lost");
};
const isEntry = (name) => name.includes(":i:");

for (const compares of [true, false]) {
  describe(`asyncStore with ${compares ? "replace" : "write"}`, () => {
    test("keeps an entry for the next process", async (t) => {
      const { createClient, asyncStore } = await load();
      const server = await Server.start(t);
      const store = memory({ compares });
      server.close();
      const arrival = server.arrival();
      const controller = new AbortController();
      const first = createClient({ storage: asyncStore(store) }).fetch("order:1", server.url, { body: BODY, signal: controller.signal });
      const key = await arrival;
      controller.abort();
      await assert.rejects(first, { name: "AbortError", outcome: "unknown" });
      server.open();

      const client = createClient({ storage: asyncStore(store) });
      await client.ready;
      assert.deepEqual(client.pending().map(({ intent, key }) => [intent, key]), [["order:1", key]]);
      const response = await client.fetch("order:1", server.url, { body: BODY });
      assert.deepEqual([response.status, response.headers.get("idempotent-replayed")], [201, "true"]);
      assert.equal(client.intent("order:1").status().state, "succeeded");
      assert.deepEqual([...server.executed.keys()], [key]);
      // No lease is left.
      assert.deepEqual([...store.texts.keys()], ["oncekey:i:order:1"]);
      await client.ready;
      assert.deepEqual(client.pending(), []);
      await client.intent("order:1").forget();
      assert.equal(store.texts.size, 0);
      assert.equal(client.intent("order:1").status().state, "idle");
    });

    for (const what of ["read", "write"]) {
      test(`nothing is sent if the store fails at a ${what}`, async (t) => {
        const { createClient, asyncStore, StoreError } = await load();
        const server = await Server.start(t);
        const store = memory({ compares });
        store.fails = fails(what);
        const client = createClient({ storage: asyncStore(store) });
        const error = await client.fetch("order:1", server.url, { body: BODY }).then(assert.fail, (error) => error);
        assert.ok(error instanceof StoreError && error.name === "StoreError", String(error));
        assert.equal(error.cause.message, "the connection was lost");
        assert.equal(server.executed.size, 0);
        // Nothing was kept in memory instead.
        store.fails = () => {};
        await client.ready;
        assert.deepEqual([client.pending(), client.intent("order:1").status().state], [[], "idle"]);
        assert.equal((await client.fetch("order:1", server.url, { body: BODY })).status, 201);
      });
    }

    test("a result that cannot be stored still reaches the caller, and the key stays", async (t) => {
      const { createClient, asyncStore } = await load();
      const server = await Server.start(t);
      const store = memory({ compares });
      const client = createClient({ storage: asyncStore(store) });
      const losses = [];
      client.addEventListener("storage-degraded", ({ detail }) => losses.push(detail.reason));
      server.close();
      const sent = client.fetch("order:1", server.url, { body: BODY });
      const key = await server.arrival();
      store.fails = fails("write", isEntry);
      server.open();
      assert.equal((await sent).status, 201);
      assert.deepEqual(losses, ["unavailable"]);
      assert.throws(() => client.intent("order:1").status(), /Await client\.ready/i);
      await assert.rejects(client.fetch("order:1", server.url, { body: BODY }), { name: "StoreError" });
      store.fails = () => {};
      const again = await client.fetch("order:1", server.url, { body: BODY });
      assert.equal(again.headers.get("idempotent-replayed"), "true");
      assert.deepEqual([...server.executed.keys()], [key]);
    });
  });
}

test("a client whose turn another process took does not overwrite the entry, and sends nothing", async (t) => {
  const { createClient, asyncStore } = await load();
  const server = await Server.start(t);
  const store = memory();
  // Between the read and the write of the first client, its process stands still, its lease ends, and another one buys.
  const { read, names, replace } = store;
  let other;
  store.replace = async (name, before, text) => {
    if (isEntry(name) && !other) {
      store.texts.delete(name.replace(":i:", ":c:"));
      other = createClient({ storage: asyncStore({ read, names, replace }) }).fetch("order:1", server.url, { body: BODY });
      await other;
    }
    return replace(name, before, text);
  };
  const client = createClient({ storage: asyncStore(store) });
  await assert.rejects(client.fetch("order:1", server.url, { body: BODY }), { name: "StoreError", message: /Another process/ });
  assert.equal((await other).status, 201);
  assert.equal(server.executed.size, 1);
  const again = await client.fetch("order:1", server.url, { body: BODY });
  assert.equal(again.headers.get("idempotent-replayed"), "true");
  assert.equal(server.executed.size, 1);
});

test("two clients of one process take turns", async (t) => {
  const { createClient, asyncStore } = await load();
  for (const compares of [true, false]) {
    const server = await Server.start(t);
    const store = memory({ compares });
    const [one, other] = [1, 2].map(() => createClient({ storage: asyncStore(store) }));
    const all = await Promise.all([one, other].map((client) => client.fetch("order:1", server.url, { body: BODY })));
    assert.deepEqual(all.map(({ status }) => status), [201, 201]);
    assert.equal(server.executed.size, 1);
  }
});

test("resolve, abandon and prune read and write the store", async (t) => {
  const { createClient, asyncStore } = await load();
  const server = await Server.start(t);
  const store = asyncStore(memory());
  const client = () => createClient({ storage: store });
  await client().fetch("order:1", server.url, { body: BODY });
  server.close();
  const controller = new AbortController();
  const arrival = server.arrival();
  const lost = client().fetch("order:2", server.url, { body: BODY, signal: controller.signal });
  await arrival;
  controller.abort();
  await assert.rejects(lost, { name: "AbortError" });
  server.open();
  assert.equal((await client().intent("order:2").resolve({ lookup: () => ({ state: "succeeded" }) })).state, "succeeded");
  assert.equal((await client().intent("order:1").abandon()).state, "succeeded");
  const { now } = Date;
  Date.now = () => now() + 2 * 86_400_000;
  t.after(() => (Date.now = now));
  assert.equal(await client().prune(), 2);
  const last = client();
  await last.ready;
  assert.equal(last.intent("order:1").status().state, "idle");
});

test("what is not a store, or not one for this client, is an error at once", async () => {
  const { createClient, asyncStore, kvStore, durableStore } = await load();
  const { fileStore } = await import(consumer.at("node_modules/oncekey/dist/node.js"));
  assert.throws(() => createClient({ storage: new Map() }), /storage must be an object with the methods of localStorage, a store of/);
  assert.throws(() => asyncStore({ read() {}, names() {} }), /either write or replace/);
  assert.throws(() => asyncStore({ read() {}, names() {}, write() {}, replace() {} }), /either write or replace/);
  assert.throws(() => kvStore(undefined), /kvStore needs a binding of Workers KV/);
  assert.throws(() => durableStore({ get() {} }), /durableStore needs the storage of a Durable Object/);
  assert.throws(() => fileStore(""), /fileStore needs the path of a folder/);
  // An asynchronous storage without asyncStore does not become a memory that forgets.
  const asynchronous = { length: 0, key: () => null, getItem: async () => null, setItem: async () => {}, removeItem: async () => {} };
  const client = createClient({ storage: asynchronous });
  await assert.rejects(client.ready, /storage is asynchronous. Use asyncStore/);
  await assert.rejects(client.fetch("order:1", "http://127.0.0.1:9/", { body: "{}" }), /storage is asynchronous. Use asyncStore/);
});

test("a folder that cannot be written is an error", async (t) => {
  const { createClient } = await load();
  const { fileStore } = await import(consumer.at("node_modules/oncekey/dist/node.js"));
  const server = await Server.start(t);
  const file = consumer.write("a-file", "not a folder");
  const client = createClient({ storage: fileStore(file) });
  await assert.rejects(client.fetch("order:1", server.url, { body: BODY }), { name: "StoreError" });
  assert.equal(server.executed.size, 0);
});
