// A Worker with oncekey inside: its handler is the origin, and its options are settings.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { exchange, startRaw } from "../fixtures/client.mjs";
import { startInside } from "../fixtures/inside.mjs";
import { eventually, head, newKey } from "../fixtures/support.mjs";

/** What the handler does, by the last segment of the path. `/seen` returns the requests that reached it. */
const program = `
  import { idempotent } from "oncekey-worker";
  export { Shard } from "oncekey-worker";

  const seen = [];
  const bytes = (text) => new TextEncoder().encode(text);
  const released = new Set();
  const acts = {
    created: () => Response.json({ id: crypto.randomUUID() }, { status: 201 }),
    throws: () => { throw new Error("a fault of the handler"); },
    nothing: () => undefined,
    hangs: (request) => new Promise((resolve, reject) => request.signal.addEventListener("abort", () => {
      seen.push({ url: "aborted " + new URL(request.url).pathname });
      resolve(new Response("late"));
    })),
    waits: async (request, env, ctx) => {
      ctx.waitUntil(new Promise((resolve) => setTimeout(resolve, 1)).then(() => seen.push({ url: "after " + new URL(request.url).pathname })));
      // A promise of this request cannot be resolved by another one.
      while (!released.has(new URL(request.url).pathname)) await new Promise((resolve) => setTimeout(resolve, 5));
      return new Response("done");
    },
    streams: () => new Response(new ReadableStream({
      async start(controller) {
        for (const piece of ["one ", "two ", "three"]) {
          controller.enqueue(bytes(piece));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        controller.close();
      },
    })),
    breaks: () => new Response(new ReadableStream({
      start(controller) {
        controller.enqueue(bytes("one "));
        controller.error(new Error("broken"));
      },
    })),
    cookie: () => new Response("hello", { headers: [["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]] }),
    coded: () => new Response(new Blob([bytes("hello")]).stream().pipeThrough(new CompressionStream("gzip")),
      { encodeBody: "manual", headers: { "Content-Encoding": "gzip" } }),
    socket: (request) => {
      if (request.headers.get("Upgrade") !== "websocket") return new Response(null, { status: 426 });
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      server.addEventListener("message", ({ data }) => server.send("echo " + data));
      return new Response(null, { status: 101, webSocket: client });
    },
    message: async (request) => new Response(await request.text()),
  };
  async function handle(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/seen") return Response.json(seen);
    if (pathname.startsWith("/go/")) {
      released.add(pathname.slice(3));
      return new Response();
    }
    const note = { method: request.method, url: request.url, headers: Object.fromEntries(request.headers), name: env.NAME };
    seen.push(note);
    if (!pathname.endsWith("/message")) note.body = await request.text();
    return acts[pathname.split("/").at(-1)](request, env, ctx);
  }
  const users = { "token-of-ann": "ann", "token-of-bob": "bob", empty: "" };
  const fetchers = {
    plain: idempotent(handle, { originTimeoutSeconds: 1 }),
    named: idempotent(handle, {
      required: true,
      ignore: ["/sent_at", "/nonce"],
      scope: async (request, env) => {
        const token = request.headers.get("Authorization");
        if (token === "fails") throw new Error("no connection to the database");
        if (token === "object") return { id: 1 };
        return users[token];
      },
    }),
    retry: idempotent(handle, { unknownOutcome: "retry", dialect: "ietf", scope: "header:X-User" }),
    misspelled: idempotent(handle, { retentionSecond: 5 }),
    short: idempotent(handle, { retention: 5 }),
    capitals: idempotent(handle, { RETENTION_SECONDS: 5 }),
    requird: idempotent(handle, { requird: true }),
    strange: idempotent(handle, { strange: 1 }),
    wrong: idempotent(handle, { retentionSeconds: 0 }),
    pointer: idempotent(handle, { ignore: ["nonce"] }),
    maybe: idempotent(handle, { required: "maybe" }),
    secret: idempotent(handle, { adminToken: "s3cr3t" }),
    elsewhere: idempotent(handle, { upstream: "https://s3cr3t.example" }),
    undefined: idempotent(handle, { retentionSeconds: undefined, required: false }),
  };
  export default {
    fetch(request, env, ctx) {
      return (fetchers[request.headers.get("Test-Handler")] ?? fetchers.plain)(request, env, ctx);
    },
  };
`;

describe("a Worker with oncekey inside", () => {
  let worker;
  before(async () => (worker = await startInside({ program, vars: { NAME: "mine", ADMIN_TOKEN: "operator", RETENTION_SECONDS: "60" } })));
  after(() => worker.dispose());

  const call = (method, path, { key, body, as = "a", by, headers = [] } = {}) => {
    const all = [...headers];
    if (as !== null) all.push(["Authorization", as]);
    if (key) all.push(["Idempotency-Key", key]);
    if (by) all.push(["Test-Handler", by]);
    return exchange(worker.url, { method, path, headers: all, body });
  };
  const post = (path, key, more = {}) => call("POST", path, { key, body: { a: 1 }, ...more });
  const routeTo = (act) => `/${newKey()}/${act}`;
  const seen = async (path) => (await call("GET", "/seen")).json.filter(({ url }) => url.endsWith(path));

  test("runs the handler once for a key, and refuses another request with it", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    const first = await post(path, key);
    const again = await post(path, key);
    assert.deepEqual([first.status, first.state, first.replayed], [201, "completed", false]);
    assert.deepEqual([again.status, again.text, again.replayed], [201, first.text, true]);
    assert.equal((await post(path, key, { body: { a: 2 } })).status, 400);
    assert.notEqual((await post(path, key, { as: "b" })).json.id, first.json.id, "another caller");
    assert.equal((await seen(path)).length, 2);
    assert.ok(Date.parse(first.get("Idempotency-Expires")) < Date.now() + 3_600_000, "the vars count too");
  });

  test("gives the handler the caller's URL, the headers of an origin's request, and its own bindings", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    await post(path, key);
    const [{ url, headers, body, name }] = await seen(path);
    assert.deepEqual([url, body, name], [worker.url + path, '{"a":1}', "mine"]);
    const { host } = new URL(worker.url);
    const { "idempotency-key": sent, "idempotency-attempt": attempt, "content-length": length } = headers;
    assert.deepEqual([headers.host, sent, attempt, length, headers["x-forwarded-host"]], [host, key, "1", "7", host]);
  });

  test("logs an error of the handler, and does not know whether the request was executed", async () => {
    for (const act of ["throws", "nothing"]) {
      const [path, key] = [routeTo(act), newKey()];
      const first = await post(path, key);
      assert.deepEqual([first.status, first.text, first.state], [500, "Internal Server Error", "unknown"], act);
      const again = await post(path, key);
      assert.deepEqual([again.status, again.json.code], [409, "idempotency_outcome_unknown"], act);
      assert.equal((await seen(path)).length, 1, act);
    }
    assert.equal((await post(routeTo("throws"))).status, 500, "without a key");
    assert.match(worker.logs.map(({ message }) => message).join("\n"), /a fault of the handler/);
  });

  test("runs the handler again after an error, with unknownOutcome: retry", async () => {
    const [path, key] = [routeTo("throws"), newKey()];
    const headers = [["X-User", "ann"]];
    assert.equal((await post(path, key, { by: "retry", headers })).status, 500);
    assert.equal((await post(path, key, { by: "retry", headers })).status, 500);
    assert.deepEqual((await seen(path)).map(({ headers }) => headers["idempotency-attempt"]), ["1", "2"]);
    assert.equal((await post(path, key, { by: "retry", headers, body: { a: 2 } })).status, 422, "dialect: ietf");
  });

  test("ends an attempt that takes too long, and tells the handler", async () => {
    const [path, key] = [routeTo("hangs"), newKey()];
    const first = await post(path, key);
    assert.deepEqual([first.status, first.state], [504, "unknown"]);
    await eventually(async () => assert.equal((await seen(`aborted ${path}`)).length, 1));
  });

  test("stores the response of a handler whose caller has gone, and lets its own waitUntil end", async () => {
    const [path, key] = [routeTo("waits"), newKey()];
    const pairs = [["Authorization", "a"], ["Idempotency-Key", key], ["Content-Type", "application/json"], ["Content-Length", "2"]];
    const socket = await startRaw(worker.url, Buffer.concat([head("POST", path, pairs), Buffer.from("{}")]));
    await eventually(async () => assert.equal((await seen(path)).filter(({ method }) => method).length, 1));
    socket.resetAndDestroy();
    await call("GET", `/go${path}`);
    await eventually(async () => {
      const again = await call("POST", path, { key, body: {} });
      assert.deepEqual([again.status, again.text, again.replayed], [200, "done", true]);
    });
    assert.equal((await seen(`after ${path}`)).length, 1);
  });

  test("reads a response in pieces to its end, and does not know the outcome if it breaks off", async () => {
    const [path, key] = [routeTo("streams"), newKey()];
    assert.equal((await post(path, key)).text, "one two three");
    const again = await post(path, key);
    assert.deepEqual([again.text, again.replayed], ["one two three", true]);
    assert.equal((await post(routeTo("streams"))).text, "one two three", "without a key");
    const broken = await post(routeTo("breaks"), newKey());
    assert.equal(broken.state, "unknown");
  });

  test("keeps cookies of the first response out of replays", async () => {
    const [path, key] = [routeTo("cookie"), newKey()];
    assert.deepEqual((await post(path, key)).all("Set-Cookie"), ["a=1", "b=2"]);
    assert.deepEqual((await post(path, key)).all("Set-Cookie"), []);
    assert.deepEqual((await call("GET", path)).all("Set-Cookie"), ["a=1", "b=2"]);
  });

  test("passes reads and requests without a key on unchanged", async () => {
    const large = Buffer.alloc(200_000, "x");
    const sent = await call("POST", routeTo("message"), { body: large });
    assert.equal(Buffer.compare(sent.body, large), 0);
    const coded = await fetch(`${worker.url}${routeTo("coded")}`, { headers: { Authorization: "a" } });
    assert.deepEqual([coded.headers.get("Content-Encoding"), await coded.text()], ["gzip", "hello"]);
    assert.equal((await call("GET", routeTo("socket"))).status, 426);
  });

  test("passes WebSockets on", async () => {
    const socket = new WebSocket(`${worker.url.replace("http", "ws")}${routeTo("socket")}`);
    const message = await new Promise((resolve, reject) => {
      socket.onopen = () => socket.send("hello");
      socket.onmessage = ({ data }) => resolve(data);
      socket.onerror = reject;
    });
    assert.equal(message, "echo hello");
    socket.close();
  });

  test("serves the calls about keys, and leaves other paths to the handler", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    await post(path, key);
    assert.equal((await call("GET", "/_oncekey/key", { key })).json.state, "completed");
    assert.equal((await call("GET", "/_oncekey/health", { as: null })).json.status, "ok");
    assert.equal((await call("GET", "/_oncekey/console")).status, 404);
    assert.equal((await call("POST", "/webhooks/created", { body: {} })).status, 201, "no source is set");
  });

  describe("with a function as scope", () => {
    const by = "named";

    test("gives each caller their own keys", async () => {
      const [path, key] = [routeTo("created"), newKey()];
      const ids = [];
      for (const as of ["token-of-ann", "token-of-bob", "token-of-ann"]) ids.push((await post(path, key, { by, as })).json.id);
      assert.equal(ids[0], ids[2]);
      assert.notEqual(ids[0], ids[1]);
      assert.equal((await call("GET", "/_oncekey/key", { by, key, as: "token-of-ann" })).json.state, "completed");
      assert.equal((await call("GET", "/_oncekey/key", { by: "plain", key, as: "ann" })).status, 404, "a name is no credential");
    });

    test("refuses a request whose caller has no name", async () => {
      const path = routeTo("created");
      for (const as of ["token-of-nobody", "empty", null]) {
        const response = await post(path, newKey(), { by, as });
        assert.deepEqual([response.status, response.json.type], [401, "authentication_error"], as);
      }
      assert.equal((await seen(path)).length, 0);
    });

    test("executes nothing if the function fails", async () => {
      const path = routeTo("created");
      for (const as of ["fails", "object"]) assert.equal((await post(path, newKey(), { by, as })).status, 500, as);
      assert.equal((await seen(path)).length, 0);
      assert.match(worker.logs.map(({ message }) => message).join("\n"), /no connection to the database/);
    });

    test("does not call it where no scope is needed", async () => {
      assert.equal((await call("GET", routeTo("created"), { by, as: "fails" })).status, 201);
    });

    test("lets an operator name the caller by hash only", async () => {
      const admin = [["X-Oncekey-Scope", "ab".repeat(32)]];
      assert.equal((await call("GET", "/_oncekey/key", { by, key: newKey(), as: "Bearer operator", headers: admin })).status, 404);
      const response = await call("GET", "/_oncekey/key", { by, key: newKey(), as: "Bearer operator" });
      assert.deepEqual([response.status, /X-Oncekey-Scope/.test(response.json.message)], [400, true]);
    });
  });

  test("with required: true, refuses writes without a key, and no reads", async () => {
    const more = { by: "named", as: "token-of-ann" };
    for (const path of [routeTo("created"), "/", "/a/"]) {
      const response = await post(path, undefined, more);
      assert.deepEqual([response.status, response.json.code], [400, "idempotency_key_missing"], path);
    }
    assert.equal((await call("GET", routeTo("created"), more)).status, 201);
  });

  test("with ignore, does not compare these members", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    const send = (body) => post(path, key, { by: "named", as: "token-of-ann", body });
    await send({ a: 1, sent_at: 1, nonce: 1 });
    assert.equal((await send({ a: 1, sent_at: 2, nonce: 2 })).replayed, true);
    assert.equal((await send({ a: 2, sent_at: 2, nonce: 2 })).status, 400);
  });

  test("reports an option that is wrong, and executes nothing", async () => {
    const path = routeTo("created");
    for (const [by, message] of [
      ["misspelled", / retentionSecond is not the name of an option; did you mean retentionSeconds\?/],
      ["short", / retention is not the name of an option; did you mean retentionSeconds\?/],
      ["capitals", / RETENTION_SECONDS is not the name of an option; did you mean retentionSeconds\?/],
      ["requird", / requird is not the name of an option; did you mean required\?/],
      ["strange", / strange is not the name of an option/],
      ["wrong", / retentionSeconds: must be a whole number from 1 to 31536000/],
      ["pointer", / ignore: /],
      ["maybe", / required: must be true or false/],
      ["secret", / adminToken: cannot be an option; set the var ADMIN_TOKEN/],
      ["elsewhere", / upstream: cannot be an option/],
    ]) {
      const response = await post(path, newKey(), { by });
      assert.equal(response.status, 500, by);
      assert.match(response.json.message, message);
      assert.doesNotMatch(response.text, /s3cr3t/);
    }
    assert.equal((await seen(path)).length, 0);
    assert.equal((await post(path, newKey(), { by: "undefined" })).status, 201, "undefined and false are defaults");
  });
});

test("a Worker without the binding SHARDS says so", async () => {
  const worker = await startInside({ program, more: { durableObjects: { OTHER: { className: "Shard", useSQLite: true } } } });
  try {
    const response = await exchange(worker.url, { method: "POST", path: "/created", body: {} });
    assert.equal(response.status, 500);
    assert.match(response.json.message, / SHARDS: is missing; bind the Durable Object class Shard/);
  } finally {
    await worker.dispose();
  }
});

test("the Worker's own vars may look like settings", async () => {
  const vars = { UPSTREAM_URL: "x", MAX_CONNECTIONS: "5", SCOPES: "openid", ORIGIN: "https://shop.example" };
  const worker = await startInside({ program, vars });
  try {
    const response = await exchange(worker.url, { path: "/_oncekey/health" });
    assert.equal(response.status, 200, response.text);
  } finally {
    await worker.dispose();
  }
});
