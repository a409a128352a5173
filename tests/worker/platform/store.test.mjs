// Failures of the store: lost calls and replies, an evicted object, a database that refuses writes, a damaged record.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, eventually, gated, inTurn, newKey, noMemory, recordName, startGateway } from "../fixtures/support.mjs";

const big = (length) => () => ({ status: 201, headers: { "X-A": "1" }, body: "b".repeat(length) });
const OPERATIONS = ["begin", "complete"];

let gateway;
before(async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, LEASE_SECONDS: "12" } })));
after(() => gateway.dispose());

// These tests mostly wait, so they run at the same time.
describe("a shard whose calls go wrong", { concurrency: true }, () => {
  /** Sends a request under faults and its replay. Both must look as without faults. */
  async function asUsual(key, path) {
    const first = await gateway.post(path, key);
    assert.deepEqual(
      [first.status, first.state, first.replayed, first.get("Idempotency-Stored")],
      [201, "completed", false, undefined],
    );
    await gateway.faults(key);
    const second = await gateway.post(path, key);
    assert.deepEqual([second.text, second.replayed, gateway.hits(path)], [first.text, true, 1]);
    assert.equal((await gateway.status(key)).attempts, 1);
  }

  for (const op of OPERATIONS) {
    test(`fault 14: when the reply to ${op} is lost, the attempt calls again and gets the same reply`, async () => {
      const key = newKey();
      await gateway.faults(key, { op, fault: "lose", times: 2 });
      await asUsual(key, gateway.route());
      const calls = (await gateway.calls(key)).filter((call) => call.op === op);
      assert.equal(calls.filter((call) => call.fault).length, 2);
    });

    test(`a ${op} that does not arrive is sent again`, async () => {
      const key = newKey();
      await gateway.faults(key, { op, fault: "refuse", times: 2 });
      await asUsual(key, gateway.route());
    });

    test(`a ${op} without a reply is sent again`, async () => {
      const key = newKey();
      await gateway.faults(key, { op, fault: "hang" });
      await asUsual(key, gateway.route());
    });

    test(`a ${op} that a shard of another version does not know is sent again`, async () => {
      const key = newKey();
      await gateway.faults(key, { op, fault: "version", times: 2 });
      await asUsual(key, gateway.route());
      const asked = (await gateway.calls(key)).filter((call) => call.op === op);
      assert.equal(asked.filter((call) => call.fault).length, 2);
    });

    test(`a ${op} works after the object was evicted`, async () => {
      const key = newKey();
      await gateway.faults(key, { op, fault: "evict" });
      await asUsual(key, gateway.route());
    });
  }

  test("a failure whose reply is lost is recorded once", async () => {
    for (const [ending, state] of [
      [429, "released"],
      [500, "unknown"],
    ]) {
      const key = newKey();
      const path = gateway.route(inTurn(ending));
      await gateway.faults(key, { op: "complete", fault: "lose" });
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.state], [ending, state]);
      assert.equal((await gateway.status(key)).attempts, 1);
    }
  });

  test("a 307 whose reply is lost leaves no record", async () => {
    const key = newKey();
    const path = gateway.route(() => ({ status: 307, headers: { Location: "/x" } }));
    await gateway.faults(key, { op: "complete", fault: "lose" });
    assert.equal((await gateway.post(path, key)).status, 307);
    assert.equal(await gateway.status(key), undefined);
  });

  test("nothing is lost if an object is evicted while the origin works", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    const first = gateway.post(path, key);
    await slow.reached;
    await gateway.evict(key);
    assert.equal((await gateway.post(path, key)).json.type, "idempotency_in_progress");
    slow.open();
    assert.equal((await first).state, "completed");
    await gateway.evict(key);
    assert.equal((await gateway.post(path, key)).text, (await first).text);
    assert.equal(gateway.hits(path), 1);
  });

  for (const fault of ["refuse", "hang"]) {
    test(`fault 36: when the store ${fault === "hang" ? "does not reply" : "is down"} the origin is not called, and the key can be used afterwards`, async () => {
      const path = gateway.route();
      const key = newKey();
      await gateway.faults(key, { op: "begin", fault, times: 1000 });
      const response = await gateway.post(path, key);
      assert.deepEqual(
        [response.status, response.json.type, response.get("Retry-After")],
        [503, "api_connection_error", "1"],
      );
      assert.equal(gateway.hits(path), 0);
      await gateway.faults(key);
      assert.equal(await gateway.status(key), undefined);
      assert.equal((await gateway.post(path, key)).status, 201);
      assert.equal(gateway.hits(path), 1);
    });
  }

  test("a key has one record in its object, which is open until there is a response", async () => {
    const key = newKey();
    const rows = async () => (await gateway.sql(key, "SELECT open FROM records WHERE name = ?", { hex: recordName(key) })).map(({ open }) => open);
    const slow = gated(inTurn(429, 201));
    const path = gateway.route(slow);
    const first = gateway.post(path, key);
    await slow.reached;
    assert.deepEqual(await rows(), [1], "in progress");
    slow.open();
    assert.equal((await first).state, "released");
    assert.deepEqual(await rows(), [1], "released");
    assert.equal((await gateway.post(path, key)).state, "completed");
    assert.deepEqual(await rows(), [0], "completed");
    assert.equal((await gateway.post(path, key)).replayed, true);
  });

  test("a first begin that times out and arrives late leaves the key usable", async () => {
    const path = gateway.route();
    const key = newKey();
    // Calls arrive in order, so the calls after it are late, too.
    await gateway.faults(key, { op: "begin", fault: "stall", ms: 7500 });
    const response = await gateway.post(path, key);
    assert.deepEqual([response.status, response.json.type], [503, "api_connection_error"]);
    await eventually(async () => assert.equal((await gateway.status(key)).state, "released"));
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal(gateway.hits(path), 1);
  });

  test("a begin that arrives late does not execute the request a second time", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    // The first try arrives long after the second try has begun the attempt.
    await gateway.faults(key, { op: "begin", fault: "delay", ms: 3000 });
    const first = gateway.post(path, key);
    await slow.reached;
    await eventually(async () => assert.ok((await gateway.calls(key)).some(({ fault, arrived }) => fault === "delay" && arrived)));
    slow.open();
    assert.equal((await first).status, 201);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.deepEqual([gateway.hits(path), (await gateway.status(key)).attempts], [1, 1]);
  });

  test("a response that cannot be stored still reaches its caller, and the key is on hold", async () => {
    const path = gateway.route(
      inTurn({ status: 201, headers: { "X-Request-Id": "req_o", "X-A": "1" }, body: "charged" }, created),
    );
    const key = newKey();
    // That the response was not stored can be recorded only after the caller has its response.
    await gateway.faults(
      key,
      { op: "complete", fault: "refuse", times: 1000 },
      { op: "fail", fault: "refuse", times: 1 },
    );
    const first = await gateway.post(path, key);
    assert.deepEqual(
      [first.status, first.text, first.get("X-A"), first.get("X-Request-Id")],
      [201, "charged", "1", "req_o"],
    );
    assert.deepEqual([first.get("Idempotency-Stored"), first.state], ["false", "absent"]);
    await eventually(async () =>
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_outcome_unknown"),
    );
    assert.equal(gateway.hits(path), 1);
  });
});

test("key calls and health report that the store is down", async () => {
  const key = newKey();
  await gateway.faults(
    null,
    { op: "get_status", fault: "refuse", times: 1000 },
    { op: "void", fault: "refuse", times: 1000 },
  );
  assert.equal((await gateway.get("/_oncekey/key", { key })).status, 503);
  assert.equal((await gateway.call("POST", "/_oncekey/key/void", { key })).status, 503);
  assert.equal((await gateway.get("/_oncekey/health")).status, 503, "a Worker without a store cannot serve");
  await gateway.faults(null);
  assert.equal((await gateway.get("/_oncekey/health")).status, 200);
});

describe("with UNKNOWN_OUTCOME=retry", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, UNKNOWN_OUTCOME: "retry" } })));
  after(() => gateway.dispose());

  test("a key whose response could not be stored is on hold nevertheless", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.faults(key, { op: "complete", fault: "refuse", times: 1000 });
    assert.equal((await gateway.post(path, key)).get("Idempotency-Stored"), "false");
    await eventually(async () =>
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_outcome_unknown"),
    );
    assert.equal(gateway.hits(path), 1);
  });

  const refuse = (key, when) =>
    gateway.sql(
      key,
      `CREATE TRIGGER full BEFORE UPDATE ON records WHEN ${when} BEGIN SELECT RAISE(ABORT, 'disk full'); END`,
    );
  const accept = (key) => gateway.sql(key, "DROP TRIGGER full");

  test("a response that the database refuses is stored without its body", async () => {
    const path = gateway.route(big(50_000));
    const key = newKey();
    await gateway.status(key);
    await refuse(key, "length(NEW.record) > 2000");
    const first = await gateway.post(path, key);
    assert.deepEqual(
      [first.status, first.body.length, first.state, first.get("Idempotency-Stored")],
      [201, 50_000, "completed", undefined],
    );
    await accept(key);
    const second = await gateway.post(path, key);
    assert.deepEqual(
      [second.json.type, second.json.http_status, gateway.hits(path)],
      ["idempotency_not_replayable", 201, 1],
    );
  });

  test("when the database refuses a response even without its body, the response is marked as not stored", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.status(key);
    await refuse(key, "1");
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.get("Idempotency-Stored"), first.state], [201, "false", "absent"]);
    await accept(key);
    await eventually(async () =>
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_outcome_unknown"),
    );
    assert.equal(gateway.hits(path), 1);
  });

  test("the origin is not called if the database refuses a new record", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.status(key);
    await gateway.sql(
      key,
      "CREATE TRIGGER no_room BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.json.type, gateway.hits(path)], [503, "api_connection_error", 0]);
    await gateway.sql(key, "DROP TRIGGER no_room");
    assert.equal((await gateway.post(path, key)).status, 201);
  });

  test("a damaged record returns an error, is kept, and the origin is not called", async () => {
    const damages = {
      "its last byte is changed": "substr(record, 1, length(record) - 1) || X'FF'",
      "it is cut short": "substr(record, 1, 20)",
      "it is empty": "X''",
      "it is a text": "'text'",
      "it has a later version": "X'6F6B02' || substr(record, 4)",
    };
    for (const [what, damage] of Object.entries(damages)) {
      const path = gateway.route();
      const key = newKey();
      assert.equal((await gateway.post(path, key)).status, 201);
      await gateway.copy(key, { remove: true });
      const name = { hex: recordName(key) };
      await gateway.sql(
        key,
        `UPDATE records SET record = CAST(${damage} AS ${what.includes("text") ? "TEXT" : "BLOB"}) WHERE name = ?`,
        name,
      );
      const [{ record }] = await gateway.sql(key, "SELECT record FROM records WHERE name = ?", name);
      for (const body of [{ a: 1 }, { a: 2 }]) {
        const response = await gateway.post(path, key, body);
        assert.deepEqual([response.status, response.json.type, response.json.code], [500, "api_error", "api_error"], what);
        assert.match(response.json.message, /Do not use a new key/);
      }
      assert.equal((await gateway.get("/_oncekey/key", { key })).status, 500);
      assert.equal((await gateway.call("POST", "/_oncekey/key/void", { key })).status, 500);
      assert.deepEqual(await gateway.sql(key, "SELECT record FROM records WHERE name = ?", name), [{ record }]);
      assert.equal(gateway.hits(path), 1);
      const neighbour = newKey();
      assert.equal((await gateway.post(gateway.route(), neighbour)).status, 201);
    }
  });
});
