// Metrics: what became of keyed writes, and how long object and origin took.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, eventually, gated, head, inTurn, newKey, sleep, startGateway, startRaw } from "./support.mjs";

const TOKEN = "admin-token-0123456789";
const admin = [["Authorization", `Bearer ${TOKEN}`]];

describe("metrics", () => {
  let gateway;
  before(async () => {
    const vars = { ADMIN_TOKEN: TOKEN, UNKNOWN_OUTCOME: "hold", LEASE_SECONDS: "6" };
    gateway = await startGateway({ faults: true, vars });
  });
  after(() => gateway.dispose());

  /** The page, read as Prometheus does: {name: {labels: value}}. */
  async function scrape() {
    const answer = await gateway.get("/_oncekey/metrics", { headers: admin, as: null });
    assert.equal(answer.status, 200);
    assert.equal(answer.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
    const found = {};
    const described = new Set();
    for (const line of answer.text.trimEnd().split("\n")) {
      const head = line.match(/^# (HELP|TYPE) (\w+) (.+)$/);
      if (head) {
        described.add(head[2]);
        continue;
      }
      const [, name, labels, value] = line.match(/^(\w+)\{isolate="[0-9a-f]{8}"(?:,(\w+="[^"]*"))?\} ([0-9.]+)$/) ?? assert.fail(line);
      assert.ok(described.has(name) || described.has(name.replace(/_(bucket|sum|count)$/, "")), name);
      (found[name] ??= {})[labels ?? ""] = Number(value);
    }
    return found;
  }

  /** How much the counters grew while something was done. */
  async function grown(work) {
    const before = await scrape();
    await work();
    const now = await scrape();
    const grown = {};
    for (const [name, values] of Object.entries(now))
      for (const [label, value] of Object.entries(values)) {
        const more = value - (before[name]?.[label] ?? 0);
        if (more && !/_(bucket|sum)$/.test(name)) grown[`${name} ${label}`.trim()] = more;
      }
    return grown;
  }

  const outcomes = async (work) =>
    Object.fromEntries(
      Object.entries(await grown(work))
        .filter(([name]) => name.startsWith("oncekey_keyed"))
        .map(([name, count]) => [name.match(/outcome="(\w+)"/)[1], count]),
    );

  test("each keyed write counts once, by what became of it", async () => {
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
      "what has no key, and what only asks, is no keyed write",
    );
  });

  test("executions count by how their key stands afterwards", async () => {
    const states = async (...answers) => {
      const path = gateway.route(inTurn(...answers));
      const found = await grown(() => gateway.post(path, newKey()));
      return Object.keys(found).filter((name) => name.startsWith("oncekey_executions"));
    };
    const state = (name) => [`oncekey_executions_total state="${name}"`];
    assert.deepEqual(await states(created), state("completed"));
    assert.deepEqual(await states(503), state("unknown"));
    assert.deepEqual(await states(429), state("released"));
    const key = newKey();
    await gateway.faults(key, { op: "complete", fault: "refuse", times: 100 });
    const found = await grown(() => gateway.post(gateway.route(), key));
    assert.equal(found['oncekey_executions_total state="not_stored"'], 1);
  });

  test("latencies are histograms of waiting", async () => {
    const path = gateway.route(async () => (await sleep(120), created()));
    const key = newKey();
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 60 });
    const before = await scrape();
    await gateway.post(path, key);
    const now = await scrape();
    for (const [name, atLeast, calls] of [
      ["oncekey_origin_seconds", 0.12, 1],
      ["oncekey_object_seconds", 0.06, 2],
    ]) {
      const more = now[`${name}_sum`][""] - before[`${name}_sum`][""];
      assert.ok(more >= atLeast - 0.005, `${name}: ${more}`);
      assert.equal(now[`${name}_count`][""] - before[`${name}_count`][""], calls);
      const buckets = Object.values(now[`${name}_bucket`]);
      assert.ok(buckets.every((count, at) => at === 0 || count >= buckets[at - 1]), "cumulative");
      assert.equal(now[`${name}_bucket`]['le="+Inf"'], now[`${name}_count`][""]);
    }
    const within = (at) => now.oncekey_origin_seconds_bucket[`le="${at}"`] - before.oncekey_origin_seconds_bucket[`le="${at}"`];
    assert.deepEqual([within("0.1"), within("+Inf")], [0, 1]);
  });

  test("Server-Timing tells the caller, beside what the origin says of itself, and is never replayed", async () => {
    const path = gateway.route(async () => {
      await sleep(80);
      const answer = created();
      return { ...answer, headers: { ...answer.headers, "Server-Timing": "db;dur=5" } };
    });
    const key = newKey();
    const times = (answer) =>
      Object.fromEntries(
        answer
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
    assert.deepEqual(Object.keys(times(replay)), ["store", "total"]);
    assert.deepEqual(Object.keys(times(await gateway.post(path, key, { other: 1 }))), ["store", "total"]);
    assert.equal((await gateway.post(path, undefined)).get("Server-Timing"), "db;dur=5");
    assert.equal((await gateway.get("/_oncekey/key", { key })).get("Server-Timing"), undefined);
  });

  test("Analytics Engine gets a point a keyed write, without key, tenant or path", async () => {
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

  test("a caller that hangs up counts too", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const completed = (await scrape()).oncekey_executions_total['state="completed"'];
    const found = await outcomes(async () => {
      const key = newKey();
      const headers = [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Length", 0]];
      const socket = await startRaw(gateway.url, head("POST", path, headers));
      await slow.reached;
      socket.resetAndDestroy();
      slow.open();
      await eventually(async () => assert.equal((await gateway.status(key)).state, "completed"));
      // It counts when its answer is made, right after its end is stored.
      await eventually(async () => assert.notEqual((await scrape()).oncekey_executions_total['state="completed"'], completed));
    });
    assert.deepEqual(found, { executed: 1 });
  });
});

test("without a dataset, and for everybody but the operator, nothing is different", async () => {
  const gateway = await startGateway({ vars: { ADMIN_TOKEN: TOKEN } });
  try {
    assert.equal((await gateway.post(gateway.route(), newKey())).status, 201);
    assert.equal((await gateway.get("/_oncekey/metrics")).status, 401);
    const page = await gateway.get("/_oncekey/metrics", { headers: admin });
    assert.match(page.text, /oncekey_keyed_writes_total\{isolate="[0-9a-f]+",outcome="executed"\} 1\n/);
    assert.equal(page.get("Cache-Control"), "no-store");
    assert.equal((await gateway.call("POST", "/_oncekey/metrics", { headers: admin })).status, 405);
  } finally {
    await gateway.dispose();
  }
});
