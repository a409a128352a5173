// A Worker that is bound as ORIGIN is the origin: the gateway calls it without DNS and without a second connection.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Gateway, eventually, newKey, startWorker } from "../fixtures/support.mjs";

/** The bound Worker. It notes the requests to each path; `/_seen/…` returns them. The last segment is what it does. */
const bound = `
  const seen = new Map();
  const acts = {
    created: () => Response.json({ id: "ord_1" }, { status: 201, headers: { Location: "/v1/orders/ord_1" } }),
    absolute: (request) => new Response("", { status: 201, headers: { Location: new URL("/v1/orders/1", request.url) } }),
    moved: () => Response.redirect("https://elsewhere.example/x", 303),
    throws: () => { throw new Error("a fault of the Worker"); },
    hangs: () => new Promise((resolve) => setTimeout(resolve, 20_000)),
    large: () => new Response(new Uint8Array(3 << 20)),
    "one-by-one": () => new Response(new ReadableStream({
      start(controller) {
        for (const byte of "in pieces") controller.enqueue(new TextEncoder().encode(byte));
        controller.close();
      },
    })),
    found: () => Response.json({ id: "ord_1" }),
  };
  export default {
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (pathname.startsWith("/_seen")) return Response.json(seen.get(pathname.slice(6)) ?? []);
      const note = { method: request.method, url: request.url, headers: [...request.headers], hasBody: request.body !== null };
      seen.set(pathname, [...(seen.get(pathname) ?? []), note]);
      note.body = await request.text();
      note.path = pathname + search;
      return acts[pathname.split("/").at(-1)](request);
    },
  };
`;

describe("a Worker that is bound as ORIGIN", () => {
  let gateway;
  before(async () => {
    const vars = {
      ORIGIN_TIMEOUT_SECONDS: "1",
      RESOLVE: "POST:/l/*:/o/found?no={/no}#/id",
      // Nothing listens there.
      UPSTREAM: "http://127.0.0.1:1",
    };
    const more = { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] };
    gateway = new Gateway(await startWorker({ bound, vars, more }));
    // The simulator calls workerd with its own host name.
    gateway.url = (await gateway.worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "");
  });
  after(() => gateway.worker.dispose());

  const routeTo = (act) => `/v1/${newKey()}/${act}`;
  const seenAt = async (path) => (await gateway.get(`/_seen${path}`)).json;

  test("is the origin even if UPSTREAM is set, and executes a write once", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    const first = await gateway.post(path, key);
    const again = await gateway.post(path, key);
    assert.deepEqual([first.status, first.json, first.replayed, first.state], [201, { id: "ord_1" }, false, "completed"]);
    assert.deepEqual([again.status, again.text, again.replayed], [201, first.text, true]);
    assert.equal((await seenAt(path)).length, 1);
    assert.equal((await gateway.post(path, key, { a: 2 })).status, 400);
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "kuko_test_other" })).replayed, false, "another caller");
    assert.equal((await seenAt(path)).length, 2);
  });

  test("gets the caller's own URL and host, and the headers that every origin gets", async () => {
    const [path, key] = [routeTo("created"), newKey()];
    await gateway.call("POST", `${path}?a=b`, { key, body: { a: 1 }, headers: [["X-Forwarded-Host", "evil.example"]] });
    const [{ url, body, headers: pairs }] = await seenAt(path);
    const headers = Object.fromEntries(pairs);
    const { host } = new URL(gateway.url);
    assert.deepEqual([url, body], [`${gateway.url}${path}?a=b`, '{"a":1}']);
    const { "idempotency-key": sent, "idempotency-attempt": attempt, "x-forwarded-host": forwarded, "x-request-id": id } = headers;
    assert.deepEqual([headers.host, sent, attempt, forwarded, headers.forwarded], [host, key, "1", host, `host="${host}";proto=http`]);
    assert.match(id, /^req_/);
  });

  test("gets reads and writes without a key as they are", async () => {
    const path = routeTo("created");
    assert.equal((await gateway.get(path)).status, 201);
    assert.equal((await gateway.post(path, undefined, "text")).status, 201);
    const seen = await seenAt(path);
    assert.deepEqual(seen.map(({ method, body }) => [method, body]), [["GET", ""], ["POST", "text"]]);
    assert.equal(new Map(seen[0].headers).get("cache-control"), undefined, "no cache is between");
  });

  test("gets an empty body as a stream, which cannot be sent twice", async () => {
    const path = routeTo("created");
    await gateway.call("PUT", path, { key: newKey() });
    const seen = await seenAt(path);
    assert.deepEqual(seen.map(({ method, body, hasBody }) => [method, body, hasBody]), [["PUT", "", true]]);
  });

  test("sends links and redirects that reach the caller as they are", async () => {
    for (const [act, status, link] of [
      ["created", 201, "/v1/orders/ord_1"],
      ["absolute", 201, `${gateway.url}/v1/orders/1`],
      ["moved", 303, "https://elsewhere.example/x"],
    ]) {
      const response = await gateway.post(routeTo(act), newKey());
      assert.deepEqual([response.status, response.get("Location")], [status, link], act);
    }
  });

  test("may respond in pieces, and with more than is kept", async () => {
    const [path, key] = [routeTo("one-by-one"), newKey()];
    assert.equal((await gateway.post(path, key)).text, "in pieces");
    const again = await gateway.post(path, key);
    assert.deepEqual([again.text, again.replayed], ["in pieces", true]);

    const large = newKey();
    const first = await gateway.post(routeTo("large"), large);
    assert.deepEqual([first.status, first.body.length], [200, 3 << 20]);
  });

  test("that throws or takes too long leaves an unknown outcome, and gets no second request", async () => {
    for (const [act, status] of [["throws", 502], ["hangs", 504]]) {
      const [path, key] = [routeTo(act), newKey()];
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.state], [status, "unknown"], act);
      const again = await gateway.post(path, key);
      assert.deepEqual([again.status, again.json.code], [409, "idempotency_outcome_unknown"], act);
      assert.equal((await seenAt(path)).length, 1, act);
    }
  });

  test("is asked for unknown outcomes too", async () => {
    const [path, key, no] = ["/l/throws", newKey(), newKey()];
    assert.equal((await gateway.post(path, key, { no })).status, 502);
    await eventually(async () => {
      const again = await gateway.post(path, key, { no });
      assert.deepEqual([again.status, again.json, again.replayed], [200, { id: "ord_1" }, true]);
    });
    const seen = await seenAt("/o/found");
    assert.ok(seen.some(({ method, path }) => method === "GET" && path === `/o/found?no=${no}`));
  });
});

test("with ORIGIN, the defaults are those of an API of your own", async () => {
  const worker = await startWorker({ bound });
  try {
    const response = await worker.fetch("/v1/created", { headers: { Origin: "https://shop.example" } });
    assert.deepEqual([response.status, response.headers.get("Access-Control-Allow-Origin")], [201, null]);
    assert.equal((await worker.fetch("/")).status, 502, "no demo page: the Worker throws for this path");
  } finally {
    await worker.dispose();
  }
});

test("CONNECT_FAILURE=released is refused, because a Worker that failed may have executed the request", async () => {
  const worker = await startWorker({ bound, vars: { CONNECT_FAILURE: "released" } });
  try {
    const response = await worker.fetch("/_oncekey/health");
    assert.equal(response.status, 500);
    assert.match((await response.json()).message, / CONNECT_FAILURE: must be unknown/);
  } finally {
    await worker.dispose();
  }
});
