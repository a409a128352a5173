// Look-ups: the gateway asks the origin for the outcome of a request, so that an operator does not have to.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { merchant, order } from "../fixtures/merchant.mjs";
import { isError, isReplayOf, newBusinessKey, startBusinessKeys } from "../fixtures/business-keys.mjs";
import { apiKey, created, cut, eventually, inTurn, newKey, startWorker } from "../fixtures/support.mjs";

const DAY = 86_400_000;
const json = { "Content-Type": "application/json" };

/** The pointers to the proof in a look-up's response, by the folder of the route. */
const PROOFS = { o: "/id", d: "/data/id", l: "/0/id", dl: "/data/0/id", e: "/a~1b/%2Cc" };
const RESOLVE = Object.entries(PROOFS)
  .map(([folder, proof]) => `POST:/${folder}/*:/o/{/find}?no={/no}#${proof}`)
  .join();

/** Responses to look-ups that prove an execution: description, folder, response. */
const FOUND = [
  ["an id", "o", { body: '{"id":"ord_1"}' }],
  ["an id in an object", "d", { body: '{"data":{"id":"ord_1"},"id":null}' }],
  ["an id in a list", "l", { body: '[{"id":"ord_1"}]' }],
  ["an id in a list in an object", "dl", { body: '{"data":[{"id":"ord_1"}],"total":1}' }],
  ["a number", "o", { body: '{"id":42}' }],
  ["a member whose name must be escaped", "e", { body: '{"a/b":{",c":"x"}}' }],
  ["a 201 in another type of JSON", "o", { status: 201, body: '{"id":"x"}', headers: { "Content-Type": "application/hal+json" } }],
];
/** Responses that prove nothing. Most of them report "not found" with a 2xx. */
const NOT_FOUND = [
  ["404", "o", { status: 404, body: '{"id":"x"}' }],
  ["401", "o", { status: 401, body: '{"id":"x"}' }],
  ["false", "o", { body: "false" }],
  ["0", "o", { body: "0" }],
  ["an empty text", "o", { body: '""' }],
  ["a text", "o", { body: '"not found"' }],
  ["a list of null", "l", { body: "[null]" }],
  ["an empty object", "o", { body: "{}" }],
  ["an error with 200", "o", { body: '{"error":{"id":"not_found"}}' }],
  ["an empty list", "l", { body: " [ ] " }],
  ["an empty list in an object", "dl", { body: '{"data":[],"total":0}' }],
  ["an id that is empty", "o", { body: '{"id":""}' }],
  ["an id of blanks", "o", { body: '{"id":" \\u00a0\\u200b"}' }],
  ["an id of zeros", "o", { body: '{"id":"00000000-0000-0000-0000-000000000000"}' }],
  ["an id that is zero", "o", { body: '{"id":-0.0e5}' }],
  ["an id that is null", "o", { body: '{"id":null}' }],
  ["an id that is true", "o", { body: '{"id":true}' }],
  ["an id that comes twice", "o", { body: '{"id":"a","id":"a"}' }],
  ["null in data", "d", { body: '{"data":null,"id":"x"}' }],
  ["null", "o", { body: "null" }],
  ["an id elsewhere", "o", { body: '{"data":{"id":"x"}}' }],
  ["nothing", "o", { status: 204, body: "" }],
  ["a page", "o", { body: "<html>Sign in</html>", headers: { "Content-Type": "text/html" } }],
  ["JSON with another media type", "o", { body: '{"id":"x"}', headers: { "Content-Type": "text/html" } }],
  ["invalid JSON", "o", { body: '{"id":' }],
  ["500", "o", { status: 500, body: '{"id":"x"}' }],
  ["a redirect", "o", { status: 302, headers: { Location: "/elsewhere" }, body: '{"id":"x"}' }],
  ["a response that is too large", "o", { body: `{"id":"${"x".repeat(3000)}"}` }],
  ["a cut connection", "o", cut],
];
const script = (response) => (typeof response === "function" ? response : () => ({ status: 200, headers: json, ...response }));

/** Sends a request whose outcome is unknown. Returns the request and its look-up. */
async function unknown(gateway, lookUp, { no = newBusinessKey(), as, folder = "o" } = {}) {
  const path = gateway.origin.route(inTurn(500, created), `/${folder}/${newKey()}`);
  const find = gateway.route(script(lookUp));
  const body = { no, content: 1, find: find.slice(3) };
  const send = (key, more) => gateway.call("POST", path, { key: key ?? undefined, body, as, ...more });
  const key = newKey();
  assert.equal((await send(key)).status, 500);
  return { path, find, no, key, send };
}

for (const withBusinessKeys of [true, false]) {
  describe(withBusinessKeys ? "a look-up with business keys" : "a look-up with idempotency keys alone", () => {
    let gateway;
    before(async () => {
      const vars = { RESOLVE, MAX_REPLAY_BYTES: "2000", BUSINESS_KEYS: withBusinessKeys ? "POST:/*:/no" : "none", SCOPE: "header:X-Api-Key" };
      gateway = await startBusinessKeys({ vars });
    });
    after(() => gateway.dispose());

    for (const [what, folder, lookUp] of FOUND) {
      test(`that returns ${what} makes it the response of the key`, async () => {
        const { path, find, key, send } = await unknown(gateway, lookUp, { folder });
        const found = await send(key);
        const { status = 200, headers = json } = lookUp;
        assert.deepEqual([found.status, found.text, found.replayed, found.state], [status, lookUp.body, true, "completed"]);
        assert.equal(found.get("Content-Type"), headers["Content-Type"]);
        isReplayOf(await send(key), found);
        if (withBusinessKeys) for (const other of [newKey(), null]) isReplayOf(await send(other), found);
        assert.deepEqual([gateway.hits(path), gateway.hits(find)], [1, 1], "the origin is asked once");
        const known = await gateway.status(key);
        assert.deepEqual([known.state, known.http_status], ["completed", status]);
      });
    }

    for (const [what, folder, lookUp] of NOT_FOUND) {
      test(`that returns ${what} proves nothing`, async () => {
        const { path, find, key, send } = await unknown(gateway, lookUp, { folder });
        for (let round = 1; round <= 2; round++) {
          isError(await send(key), 409, "idempotency_outcome_unknown", "unknown");
          // The platform repeats a read whose connection breaks.
          if (lookUp !== cut) assert.equal(gateway.hits(find), round, "each request causes one look-up");
        }
        if (withBusinessKeys) {
          isError(await send(newKey()), 409, "idempotency_outcome_unknown", "released");
          isError(await send(null), 409, "idempotency_outcome_unknown", "unknown");
        }
        assert.equal(gateway.hits(path), 1);
      });
    }

    test("sends the caller's credential, and no other header of the request", async () => {
      const { find, key, send } = await unknown(gateway, FOUND[0][2], { no: "訂單 1/2&x=3#%" });
      const headers = [["Cookie", "sid=7"], ["Authorization", "Bearer me"], ["X-Other", "1"], ["Sandbox-Fault", "x"]];
      const found = await send(key, { headers });
      assert.equal(found.replayed, true);
      const sent = gateway.origin.last(find);
      assert.deepEqual([sent.method, sent.body.length], ["GET", 0]);
      assert.equal(sent.target, `${find}?no=%E8%A8%82%E5%96%AE%201%2F2%26x%3D3%23%25`);
      const { host, connection, "x-request-id": id, "accept-encoding": coding, ...rest } = sent.headers;
      assert.match(id, /^req_/);
      const known = { "x-api-key": apiKey, cookie: "sid=7", authorization: "Bearer me" };
      // The host, and two headers that keep caches from responding.
      const own = ["forwarded", "x-forwarded-host", "x-forwarded-proto", "cache-control", "pragma"];
      for (const name of ["user-agent", "accept", "cf-worker", "cf-connecting-ip", ...own]) delete rest[name];
      assert.deepEqual(rest, known, `${host} ${connection} ${coding}`);
      assert.equal(found.get("X-Request-Id"), id, "the response belongs to that request");
    });

    test("is not sent for a request that lacks a value which the look-up needs", async () => {
      for (const lacking of [{}, { find: "x" }, { no: newBusinessKey(), find: null }, { no: "", find: "x" }, { no: newBusinessKey(), find: ".." }]) {
        const path = gateway.route(inTurn(500, created));
        const key = newKey();
        const send = () => gateway.call("POST", path, { key, body: { content: 1, ...lacking } });
        await send();
        const before = gateway.origin.seen.length;
        isError(await send(), 409, "idempotency_outcome_unknown", "unknown");
        assert.equal(gateway.origin.seen.length, before, JSON.stringify(lacking));
      }
    });

    test("returns one response to two callers at the same time", async () => {
      let count = 0;
      const { key, send } = await unknown(gateway, () => ({ status: 200, headers: json, body: `{"id":${++count}}` }));
      const responses = await Promise.all(Array.from({ length: 8 }, () => send(key)));
      const last = await send(key);
      assert.ok(last.replayed);
      for (const response of responses) {
        assert.ok([200, 409].includes(response.status), response.text);
        if (response.status === 200) assert.equal(response.text, last.text);
      }
    });
  });
}

test("takes ten seconds at most, and does not count as an attempt", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE, LEASE_SECONDS: "6" } });
  try {
    const never = () => new Promise(() => {});
    const { path, find, send } = await unknown(gateway, never);
    const key = newKey();
    const begun = Date.now();
    const waiting = send(key);
    // The key's lease expires meanwhile. That changes nothing, because no attempt is dispatched.
    await new Promise((resolve) => setTimeout(resolve, 7000));
    const second = await send(key);
    isError(second, 409, "idempotency_outcome_unknown", second.state);
    isError(await waiting, 409, "idempotency_outcome_unknown", "released");
    const took = Date.now() - begun;
    assert.ok(took >= 16_500, `${took}`);
    assert.deepEqual([gateway.hits(path), gateway.hits(find)], [1, 2]);
    assert.equal((await gateway.status(key)).state, "released");
  } finally {
    await gateway.dispose();
  }
});

test("another key of an unknown business key finds the response for both", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE } });
  try {
    const { path, find, key, send } = await unknown(gateway, FOUND[0][2]);
    const other = newKey();
    const found = await send(other);
    assert.deepEqual([found.status, found.replayed, found.state], [200, true, "completed"]);
    for (const again of [other, key, null, newKey()]) isReplayOf(await send(again), found, again);
    assert.deepEqual([gateway.hits(path), gateway.hits(find)], [1, 1]);
  } finally {
    await gateway.dispose();
  }
});

test("an attempt that died before the origin responded is resolved, too", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE, LEASE_SECONDS: "4" } });
  try {
    const path = gateway.route();
    const find = gateway.route(script(FOUND[0][2]));
    const [no, key] = [newBusinessKey(), newKey()];
    const send = () => gateway.call("POST", path, { key, body: { no, content: 1, find: find.slice(3) } });
    const lost = ["complete", "renew", "fail"].map((op) => ({ op, fault: "refuse", times: 99 }));
    await gateway.faults(null, ...lost);
    const first = await send();
    assert.deepEqual([first.status, first.get("Idempotency-Stored")], [201, "false"]);
    await gateway.faults(null);
    await eventually(async () => assert.equal((await gateway.status(key)).state, "unknown"));
    await eventually(async () => {
      const found = await send();
      assert.deepEqual([found.status, found.text, found.replayed], [200, FOUND[0][2].body, true]);
    });
    assert.equal(gateway.hits(path), 1);
  } finally {
    await gateway.dispose();
  }
});

test("after the retention, the object of a business key is looked up, with any idempotency key and without one", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE } });
  try {
    const path = gateway.route();
    const find = gateway.route(script(FOUND[0][2]));
    const body = { no: newBusinessKey(), content: 1, find: find.slice(3) };
    const send = (key, more) => gateway.call("POST", path, { key, body: { ...body, ...more } });
    await send(newKey());
    await gateway.clock(40 * DAY);
    const key = newKey();
    const found = await send(key);
    assert.deepEqual([found.status, found.text, found.replayed, found.state], [200, FOUND[0][2].body, true, "completed"]);
    isReplayOf(await send(key), found, "the key has the response now");
    const alone = await send(undefined);
    assert.deepEqual([alone.status, alone.text, alone.replayed], [200, FOUND[0][2].body, true]);
    isError(await send(newKey(), { content: 2 }), 400, "idempotency_error", "released");
    assert.deepEqual([gateway.hits(path), gateway.hits(find)], [1, 2]);
  } finally {
    await gateway.dispose();
  }
});

test("after the retention, a 2xx that says not found does not become the business key's response", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE } });
  try {
    const path = gateway.route();
    const find = gateway.route(script({ body: '{"orders":[],"id":0}' }));
    const body = { no: newBusinessKey(), content: 1, find: find.slice(3) };
    const send = (key) => gateway.call("POST", path, { key, body });
    await send(newKey());
    await gateway.clock(40 * DAY);
    isError(await send(newKey()), 409, "idempotency_not_replayable", "released");
    isError(await send(undefined), 409, "idempotency_not_replayable", "completed");
    assert.deepEqual([gateway.hits(path), gateway.hits(find)], [1, 2]);
  } finally {
    await gateway.dispose();
  }
});

test("with retry, the gateway sends the request again instead of a look-up", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE, UNKNOWN_OUTCOME: "retry" } });
  try {
    const { path, find, key, send } = await unknown(gateway, FOUND[0][2]);
    assert.equal((await send(key)).status, 201);
    assert.deepEqual([gateway.hits(path), gateway.hits(find)], [2, 0]);
  } finally {
    await gateway.dispose();
  }
});

test("the sandbox's orders can be looked up", async () => {
  const vars = { UNKNOWN_OUTCOME: "hold", RESOLVE: "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}#/data/id" };
  const worker = await startWorker({ vars });
  try {
    const call = merchant(worker);
    for (const [fault, status] of [
      ["error-after", 200],
      ["error-before", 409],
    ]) {
      const [body, key] = [order(), newKey()];
      assert.equal((await call("POST", "/v1/orders", { body, key, fault })).status, 500);
      assert.equal((await call("POST", "/v1/orders", { body, key })).status, status, fault);
      assert.equal((await call("POST", "/v1/orders", { body, key: newKey() })).status, status, fault);
    }
  } finally {
    await worker.dispose();
  }
});

test("with the sandbox's own settings an unknown outcome is not looked up", async () => {
  const worker = await startWorker({ vars: { UNKNOWN_OUTCOME: "hold" } });
  try {
    const [call, body, key] = [merchant(worker), order(), newKey()];
    assert.equal((await call("POST", "/v1/orders", { body, key, fault: "error-after" })).status, 500);
    assert.equal((await call("POST", "/v1/orders", { body, key })).json.code, "idempotency_outcome_unknown");
  } finally {
    await worker.dispose();
  }
});

test("a look-up reads no cache, and its result enters no cache", async () => {
  const gateway = await startBusinessKeys({ vars: { RESOLVE, BUSINESS_KEYS: "none" } });
  try {
    // workerd adds these headers to a request that must bypass all caches.
    const { find, key, send } = await unknown(gateway, { body: '{"id":"ord_1"}' });
    assert.ok((await send(key)).replayed);
    assert.equal(gateway.origin.last(find).headers["cache-control"], "no-cache");
    // A value from the body cannot change the path of the look-up.
    for (const value of ["../secret", "..", "%2e%2e/secret", "a/..;/secret"]) {
      const { key: other, send: again } = await unknown(gateway, { body: '{"id":"ord_1"}' }, { no: newBusinessKey() });
      const before = gateway.origin.seen.length;
      const path = gateway.route(inTurn(500, created));
      const body = { no: newBusinessKey(), find: value };
      const held = newKey();
      await gateway.call("POST", path, { key: held, body });
      isError(await gateway.call("POST", path, { key: held, body }), 409, "idempotency_outcome_unknown", "unknown");
      assert.equal(gateway.origin.seen.length, before + 1, `${value}: no look-up was sent`);
      assert.ok((await again(other)).replayed);
    }
  } finally {
    await gateway.dispose();
  }
});
