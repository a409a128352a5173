// Metrics: the outcomes of keyed writes, and how long the object and the origin took.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, eventually, gated, head, inTurn, newKey, sleep, startGateway, startRaw } from "../fixtures/support.mjs";

const TOKEN = "admin-token-0123456789";
const admin = [["Authorization", `Bearer ${TOKEN}`]];

describe("metrics", () => {
  let gateway;
  before(async () => {
    const vars = { ADMIN_TOKEN: TOKEN, UNKNOWN_OUTCOME: "hold", LEASE_SECONDS: "6" };
    gateway = await startGateway({ faults: true, vars });
  });
  after(() => gateway.dispose());

  /** Returns the counts of the isolate. */
  async function isolate() {
    const { isolate } = (await gateway.get("/_oncekey/health", { headers: admin, as: null })).json;
    assert.match(isolate.id, /^[0-9a-f]{8}$/);
    assert.deepEqual(Object.keys(isolate.held_bytes), ["requests", "responses", "memory"]);
    return isolate;
  }

  /** Returns by how much the counts grew during `work`. */
  async function outcomes(work) {
    const before = await isolate();
    await work();
    const now = await isolate();
    assert.equal(now.id, before.id);
    const grown = Object.entries(now.keyed_writes).map(([outcome, count]) => [outcome, count - before.keyed_writes[outcome]]);
    return Object.fromEntries(grown.filter(([, more]) => more > 0));
  }

  /** Returns the points that Analytics Engine got during `work`. */
  async function points(work) {
    const seen = (await gateway.points()).length;
    await work();
    return (await gateway.points()).slice(seen);
  }

  test("each keyed write counts once, by its outcome", async () => {
    const path = gateway.route(inTurn(created));
    const key = newKey();
    assert.deepEqual(await outcomes(() => gateway.post(path, key)), { executed: 1 });
    assert.deepEqual(
      await outcomes(async () => {
        for (let again = 0; again < 3; again++) await gateway.post(path, key);
      }),
      { replayed: 3 },
    );
    assert.deepEqual(await outcomes(() => gateway.post(path, key, { other: 1 })), { mismatched: 1 });
    const unknown = newKey();
    const failing = gateway.route(inTurn(500));
    assert.deepEqual(await outcomes(() => gateway.post(failing, unknown)), { executed: 1 });
    assert.deepEqual(await outcomes(() => gateway.post(failing, unknown)), { unknown: 1 });
    const voided = newKey();
    await gateway.call("POST", "/_oncekey/key/void", { key: voided });
    assert.deepEqual(await outcomes(() => gateway.post(path, voided)), { voided: 1 });
    const slow = gated();
    const busy = newKey();
    const running = gateway.route(slow);
    assert.deepEqual(
      await outcomes(async () => {
        const first = gateway.post(running, busy);
        await slow.reached;
        await gateway.post(running, busy);
        slow.open();
        await first;
      }),
      { executed: 1, in_progress: 1 },
    );
    const down = newKey();
    await gateway.faults(down, { op: "begin", fault: "refuse", times: 100 });
    assert.deepEqual(await outcomes(() => gateway.post(path, down)), { store_down: 1 });
    assert.deepEqual(await outcomes(() => gateway.post(path, "a b")), { refused: 1 });
    assert.deepEqual(
      await outcomes(async () => {
        await gateway.post(path, undefined);
        await gateway.get(path);
        await gateway.status(key);
        await gateway.get("/_oncekey/health");
      }),
      {},
      "a request without a key, and a read, are not keyed writes",
    );
  });

  test("executions count by the state of their key after the response", async () => {
    const states = async (...responses) => {
      const path = gateway.route(inTurn(...responses));
      return (await points(() => gateway.post(path, newKey()))).map(({ blobs: [outcome, , state] }) => [outcome, state]);
    };
    assert.deepEqual(await states(created), [["executed", "completed"]]);
    assert.deepEqual(await states(503), [["executed", "unknown"]]);
    assert.deepEqual(await states(429), [["executed", "released"]]);
    const key = newKey();
    await gateway.faults(key, { op: "complete", fault: "refuse", times: 100 });
    const [{ blobs }] = await points(() => gateway.post(gateway.route(), key));
    assert.deepEqual(blobs, ["executed", "2xx", "not_stored"]);
  });

  test("latencies are the times spent waiting for the object and the origin", async () => {
    const path = gateway.route(async () => (await sleep(120), created()));
    const key = newKey();
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 60 });
    const [{ doubles: [object, origin, total] }, ...others] = await points(() => gateway.post(path, key));
    assert.equal(others.length, 0, "each keyed write has one point");
    assert.ok(object >= 55 && origin >= 115 && total >= object + origin - 5, `${object}, ${origin}, ${total}`);
  });

  test("Server-Timing is added to the origin's own, and is never replayed", async () => {
    const path = gateway.route(async () => {
      await sleep(80);
      const response = created();
      return { ...response, headers: { ...response.headers, "Server-Timing": "db;dur=5" } };
    });
    const key = newKey();
    const times = (response) =>
      Object.fromEntries(
        response
          .all("Server-Timing")
          .join(", ")
          .split(", ")
          .map((one) => one.split(";dur="))
          .map(([name, length]) => [name, Number(length)]),
      );
    const first = times(await gateway.post(path, key));
    assert.deepEqual(Object.keys(first), ["db", "store", "origin", "total"]);
    assert.ok(first.origin >= 75 && first.total >= first.origin && first.total >= first.store, JSON.stringify(first));
    const replay = await gateway.post(path, key);
    assert.ok(replay.replayed);
    assert.deepEqual(Object.keys(times(replay)), ["total"], "the response was in memory");
    const refused = await gateway.post(gateway.route(() => ({ status: 429 })), newKey());
    assert.deepEqual(Object.keys(times(refused)), ["store", "origin", "total"]);
    const voided = newKey();
    await gateway.call("POST", "/_oncekey/key/void", { key: voided });
    assert.deepEqual(Object.keys(times(await gateway.post(path, voided))), ["store", "total"]);
    assert.equal((await gateway.post(path, undefined)).get("Server-Timing"), "db;dur=5");
    assert.equal((await gateway.get("/_oncekey/key", { key })).get("Server-Timing"), undefined);
  });

  test("Analytics Engine gets one point for each keyed write, without key, tenant or path", async () => {
    const seen = (await gateway.points()).length;
    const path = gateway.route(inTurn(created));
    const key = newKey();
    await gateway.post(path, key);
    await gateway.post(path, key);
    await gateway.post(path, key, { other: 1 });
    await gateway.get(path);
    const points = (await gateway.points()).slice(seen);
    assert.deepEqual(
      points.map(({ indexes, blobs }) => [indexes, blobs]),
      [
        [["executed"], ["executed", "2xx", "completed"]],
        [["replayed"], ["replayed", "2xx", "completed"]],
        [["mismatched"], ["mismatched", "4xx", "completed"]],
      ],
    );
    for (const { doubles } of points) {
      assert.equal(doubles.length, 3);
      assert.ok(doubles.every((time) => time >= 0 && Number.isFinite(time)));
    }
    assert.ok(!JSON.stringify(points).includes(path));
  });

  test("the request of a caller that hangs up is counted", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const found = await outcomes(async () => {
      const key = newKey();
      const headers = [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Length", 0]];
      const { executed } = (await isolate()).keyed_writes;
      const socket = await startRaw(gateway.url, head("POST", path, headers));
      await slow.reached;
      socket.resetAndDestroy();
      slow.open();
      await eventually(async () => assert.equal((await gateway.status(key)).state, "completed"));
      // The write is counted when its response is created, right after the record is stored.
      await eventually(async () => assert.notEqual((await isolate()).keyed_writes.executed, executed));
    });
    assert.deepEqual(found, { executed: 1 });
  });
});

test("without a dataset the Worker works, and only the operator sees the counts", async () => {
  const gateway = await startGateway({ vars: { ADMIN_TOKEN: TOKEN } });
  try {
    assert.equal((await gateway.post(gateway.route(), newKey())).status, 201);
    for (const headers of [[], [["Authorization", "Bearer wrong"]], [["Authorization", TOKEN]]]) {
      assert.deepEqual((await gateway.get("/_oncekey/health", { headers })).json, { status: "ok" });
    }
    const health = await gateway.get("/_oncekey/health", { headers: admin });
    assert.deepEqual([health.json.status, health.json.isolate.keyed_writes.executed], ["ok", 1]);
    assert.equal(health.get("Cache-Control"), "no-store");
    assert.equal((await gateway.get("/_oncekey/metrics", { headers: admin })).status, 404);
    assert.equal((await gateway.call("POST", "/_oncekey/health", { headers: admin })).status, 405);
  } finally {
    await gateway.dispose();
  }
});
