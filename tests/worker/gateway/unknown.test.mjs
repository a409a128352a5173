// Unknown outcomes: which keys are on hold, which are executed again, and which are released.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, cut, gated, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

const RELEASED = [401, 403, 407, 417, 421, 423, 425, 429];
const UNKNOWN = [408, 409, 500, 501, 502, 503, 504, 511, 599];
/** Announces ten bytes, sends three and cuts the connection. */
const cutOff = (_, response) => {
  response.writeHead(201, { "Content-Length": 10 });
  response.write("abc", () => response.socket.destroy());
};

describe("with an upstream, an unknown outcome is on hold", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { ORIGIN_TIMEOUT_SECONDS: "3" } })));
  after(() => gateway.dispose());

  /** Fails unless the key is on hold: no later request calls the origin. */
  async function isOnHold(path, key) {
    const held = await gateway.post(path, key);
    assert.deepEqual([held.status, held.json.type, held.state], [409, "idempotency_outcome_unknown", "unknown"]);
    const days = (Date.parse(held.get("Idempotency-Expires")) - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days < 30.1, `${days}`);
    assert.equal(held.get("Retry-After"), undefined, "waiting does not help");
    assert.equal(gateway.hits(path), 1);
    assert.equal((await gateway.post(path, key, { a: 2 })).json.type, "idempotency_error");
  }

  test("fault 34: a response that is not final reaches its caller and is not kept, and the key is on hold", async () => {
    for (const status of UNKNOWN) {
      const path = gateway.route(inTurn({ status, headers: { "X-A": "1" }, body: "why" }, created));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.text, first.state, first.get("X-A")], [status, "why", "unknown", "1"]);
      await isOnHold(path, key);
    }
  });

  test("a key is released when the origin certainly did not execute the request", async () => {
    for (const status of RELEASED) {
      const path = gateway.route(inTurn({ status, headers: { "Retry-After": "9" }, body: "no" }, created));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual(
        [first.status, first.text, first.state, first.get("Retry-After")],
        [status, "no", "released", "9"],
      );
      const second = await gateway.post(path, key);
      assert.deepEqual([second.status, second.state, second.replayed], [201, "completed", false], `after ${status}`);
      assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "2");
    }
  });

  test("another request cannot use a released key", async () => {
    const path = gateway.route(inTurn(429, created));
    const key = newKey();
    await gateway.post(path, key, { a: 1 });
    assert.equal((await gateway.post(path, key, { a: 2 })).json.type, "idempotency_error");
    assert.equal(gateway.hits(path), 1);
  });

  test("a connection that breaks before or during the response returns 502", async () => {
    for (const handler of [
      cut,
      cutOff,
      (_, response) => void response.socket.resetAndDestroy(),
      (_, response) => void response.socket.end("no HTTP\r\n\r\n"),
    ]) {
      const path = gateway.route(inTurn(handler, created));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.json.type, first.state], [502, "api_connection_error", "unknown"]);
      await isOnHold(path, key);
    }
  });

  test("fault 12: a call that takes too long returns 504, its key is on hold, and the late response changes nothing", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.json.type, first.state], [504, "api_connection_error", "unknown"]);
    slow.open();
    await isOnHold(path, key);
  });

  test("a body that stops arriving returns 504, too", async () => {
    const path = gateway.route((_, response) => {
      response.writeHead(201, { "Content-Length": 10 });
      response.write("abc");
    });
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.state], [504, "unknown"]);
    await isOnHold(path, key);
  });

  test("a read that fails returns the same errors", async () => {
    assert.equal((await gateway.get(gateway.route(cut))).status, 502);
  });

  test("an unreachable origin is an unknown outcome, because the platform reports refused and cut connections alike", async () => {
    const other = await startGateway();
    await other.origin.close();
    try {
      const key = newKey();
      const first = await other.post("/x", key);
      assert.deepEqual([first.status, first.json.type, first.state], [502, "api_connection_error", "unknown"]);
      assert.equal((await other.post("/x", key)).json.type, "idempotency_outcome_unknown");
    } finally {
      await other.worker.dispose();
    }
  });
});

describe("with UNKNOWN_OUTCOME=retry", () => {
  let gateway;
  before(
    async () => (gateway = await startGateway({ vars: { UNKNOWN_OUTCOME: "retry", ORIGIN_TIMEOUT_SECONDS: "3" } })),
  );
  after(() => gateway.dispose());

  test("faults 7, 13: a retry gets a higher attempt number and a result, however the first attempt ended", async () => {
    for (const ending of [...UNKNOWN, ...RELEASED, 307, 308, cut, cutOff, gated()]) {
      const path = gateway.route(inTurn(ending, created));
      const key = newKey();
      assert.notEqual((await gateway.post(path, key)).status, 201);
      const second = await gateway.post(path, key);
      assert.deepEqual([second.status, second.state, second.replayed], [201, "completed", false], `after ${ending}`);
      // A 307 or 308 leaves no record, so the attempts begin again at 1.
      assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], [307, 308].includes(ending) ? "1" : "2");
      assert.ok((await gateway.post(path, key)).replayed);
      assert.equal(gateway.hits(path), 2);
    }
  });

  test("an outcome stays unknown if an earlier attempt may have been executed, whatever later attempts get", async () => {
    for (const refusal of [...RELEASED, 307, 308]) {
      const path = gateway.route(inTurn(500, refusal, created));
      const key = newKey();
      const states = [];
      for (let attempt = 0; attempt < 3; attempt++) states.push((await gateway.post(path, key)).state);
      assert.deepEqual(states, ["unknown", "unknown", "completed"], `${refusal}`);
      const voided = await gateway.call("POST", "/_oncekey/key/void", { key });
      assert.equal(voided.json.state, "completed");
    }
  });

  test("a key whose outcome is unknown cannot be voided", async () => {
    const path = gateway.route(inTurn(500, 429));
    const key = newKey();
    await gateway.post(path, key);
    await gateway.post(path, key);
    assert.equal((await gateway.call("POST", "/_oncekey/key/void", { key })).json.state, "unknown");
  });

  test("a record keeps the policy that it was begun under", async () => {
    const key = newKey();
    const path = gateway.route(inTurn(500, created));
    await gateway.post(path, key);
    assert.equal((await gateway.status(key)).state, "unknown");
    assert.equal((await gateway.post(path, key)).status, 201);
  });
});

test("with CONNECT_FAILURE=released, a failed connection releases the key, but not if the response had begun", async () => {
  const gateway = await startGateway({ vars: { CONNECT_FAILURE: "released" } });
  try {
    for (const [ending, state, next] of [
      [cut, "released", 201],
      [cutOff, "unknown", 409],
    ]) {
      const path = gateway.route(inTurn(ending, created));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.state], [502, state]);
      assert.equal((await gateway.post(path, key)).status, next);
    }
  } finally {
    await gateway.dispose();
  }
});
