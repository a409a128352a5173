// What happens to keys over time: they expire, are swept, or are refused. Clocks that jump do not change this.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { created, eventually, gated, inTurn, newKey, noMemory, recordName, sleep, startGateway } from "../fixtures/support.mjs";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Returns a UUIDv7 that was minted this long ago. */
function keyOfAge(age) {
  const time = (Date.now() - age).toString(16).padStart(12, "0");
  const rest = newKey().slice(15);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${rest}`;
}

/** Returns the row of a key. */
const row = async (gateway, key) =>
  (await gateway.sql(key, "SELECT record, due_at FROM records WHERE name = ?", { hex: recordName(key) }))[0];
const sweep = (gateway, key) => gateway.shard(key, { do: "alarm" });

describe("with a retention of five seconds", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, RETENTION_SECONDS: "5" } })));
  after(() => gateway.dispose());

  test("fault 15: an expired key counts as new for any request, also before the sweep", async () => {
    const path = gateway.route();
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.ok((await gateway.post(path, key)).replayed);
    const left = Date.parse(first.get("Idempotency-Expires")) - Date.now();
    assert.ok(left <= 5000);
    await sleep(5100);
    const second = await gateway.post(path, key, { b: 2 });
    assert.deepEqual([second.status, second.replayed, gateway.hits(path)], [201, false, 2]);
    assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "1");
  });

  test("the alarm removes expired records without a request", async () => {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    assert.ok(await row(gateway, key));
    await eventually(async () => assert.equal(await row(gateway, key), undefined));
    assert.equal(await gateway.status(key), undefined);
    const next = await gateway.shard(key, { do: "alarm-at" });
    assert.ok(next > Date.now() + 80 * DAY, "a shard that contains only journal rows has no alarm for months");
  });
});

describe("with a retention of a day", () => {
  let gateway;
  // Each test has its own gateway, because it sets the clock.
  beforeEach(async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, UNKNOWN_OUTCOME: "retry" } })));
  afterEach(() => gateway.dispose());
  const at = (offset) => gateway.clock(offset);

  /** Creates keys of one shard, in the states that expire at different times. */
  async function keysOfOneShard() {
    const first = newKey();
    const alike = () => {
      let key = newKey();
      while (recordName(key).slice(0, 2) !== recordName(first).slice(0, 2)) key = newKey();
      return key;
    };
    const keys = { completed: first, released: alike(), unknown: alike(), voided: alike(), damaged: alike() };
    await gateway.post(gateway.route(), keys.completed);
    await gateway.post(gateway.route(inTurn(429)), keys.released);
    await gateway.post(gateway.route(inTurn(500)), keys.unknown);
    await gateway.call("POST", "/_oncekey/key/void", { key: keys.voided });
    await gateway.post(gateway.route(), keys.damaged);
    await gateway.sql(first, "UPDATE records SET record = X'00' WHERE name = ?", { hex: recordName(keys.damaged) });
    return keys;
  }

  test("a sweep removes expired records, and keeps live and unreadable records", async () => {
    const keys = await keysOfOneShard();
    const left = async () => {
      const found = [];
      for (const [state, key] of Object.entries(keys)) if (await row(gateway, key)) found.push(state);
      return found;
    };
    await sweep(gateway, keys.completed);
    assert.deepEqual(await left(), Object.keys(keys), "nothing is due");
    await at(DAY - 5000);
    await sweep(gateway, keys.completed);
    assert.deepEqual(await left(), Object.keys(keys));
    await at(DAY + 5000);
    await sweep(gateway, keys.completed);
    assert.equal(await gateway.status(keys.completed), undefined, "it has expired, and is swept within an hour");
    await at(DAY + HOUR + 5000);
    await sweep(gateway, keys.completed);
    assert.deepEqual(await left(), ["unknown", "voided", "damaged"]);
    assert.equal((await row(gateway, keys.damaged)).due_at, null, "the sweep does not read it again");
    assert.equal((await gateway.get("/_oncekey/key", { key: keys.damaged })).status, 500);
    await at(30 * DAY - 60_000);
    await sweep(gateway, keys.completed);
    assert.deepEqual(await left(), ["unknown", "voided", "damaged"]);
    await at(30 * DAY + HOUR + 60_000);
    await sweep(gateway, keys.completed);
    assert.deepEqual(await left(), ["damaged"]);
  });

  test("the alarm is always set for the record that is due first", async () => {
    const keys = await keysOfOneShard();
    const key = keys.completed;
    const dues = await gateway.sql(key, "SELECT due_at FROM records WHERE due_at IS NOT NULL ORDER BY due_at");
    assert.equal(await gateway.shard(key, { do: "alarm-at" }), dues[0].due_at);
    assert.equal(dues[0].due_at % HOUR, 0, "one alarm for all that expire within an hour");
    assert.ok(dues[0].due_at >= Date.parse((await gateway.status(key)).expires_at), "and never too early");
    await at(DAY + HOUR + 5000);
    await sweep(gateway, key);
    const [{ due_at }] = await gateway.sql(
      key,
      "SELECT due_at FROM records WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1",
    );
    assert.ok(due_at > dues[0].due_at);
    assert.equal(await gateway.shard(key, { do: "alarm-at" }), due_at);
  });

  test("rows that one sweep leaves are removed by the next sweeps", async () => {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    // 1,200 copies of the row under other names.
    await gateway.sql(
      key,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
      INSERT INTO records (open, name, record, due_at) SELECT 0, CAST('copy' || i AS BLOB), record, due_at FROM records, n WHERE name = ?`,
      { hex: recordName(key) },
    );
    await at(DAY + HOUR + 5000);
    const next = await sweep(gateway, key);
    assert.ok(next <= Date.now() + DAY + HOUR + 60_000, "the next alarm rings at once, because rows are left");
    const count = async () => (await gateway.sql(key, "SELECT count(*) AS count FROM records"))[0].count;
    // Alarms use the platform's own clock, by which the next one is not due yet.
    for (let round = 0; round < 3; round++) await sweep(gateway, key);
    assert.equal(await count(), 0);
  });

  test("fault 10: a request during a sweep sees the current state", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.post(path, key);
    await at(DAY + 5000);
    const [, response] = await Promise.all([sweep(gateway, key), gateway.post(path, key)]);
    assert.deepEqual([response.status, response.replayed], [201, false]);
    await sweep(gateway, key);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.equal(gateway.hits(path), 2);
  });

  test("fault 25: Retry-After is one or two seconds, also if clocks differ", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    await at(2 * HOUR);
    const first = gateway.post(path, key);
    await slow.reached;
    // For a gateway whose clock is behind, the lease ends hours later.
    for (const offset of [2 * HOUR, 0, HOUR, 2 * HOUR + 1000]) {
      await at(offset);
      const waiting = await gateway.post(path, key);
      assert.deepEqual([waiting.status, waiting.json.type], [409, "idempotency_in_progress"]);
      assert.match(waiting.get("Retry-After"), /^[12]$/, `${offset}`);
    }
    slow.open();
    assert.equal((await first).status, 201);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.equal(gateway.hits(path), 1);
  });

  test("a clock that jumps back does not renew or expire any record", async () => {
    const path = gateway.route();
    const key = newKey();
    await at(2 * HOUR);
    const first = await gateway.post(path, key);
    await at(0);
    const again = await gateway.post(path, key);
    assert.deepEqual([again.replayed, again.get("Idempotency-Expires")], [true, first.get("Idempotency-Expires")]);
    // An attempt that began before the jump is not overtaken, and no attempt begins in the past.
    const next = newKey();
    let neighbour = next;
    while (recordName(neighbour).slice(0, 2) !== recordName(key).slice(0, 2)) neighbour = newKey();
    const later = await gateway.post(path, neighbour);
    assert.ok(
      Date.parse(later.get("Idempotency-Expires")) >= Date.parse(first.get("Idempotency-Expires")),
      "the time of a shard never goes back",
    );
    assert.equal(gateway.hits(path), 2);
    // The same is true after a restart of the object.
    await gateway.evict(key);
    const { created_at } = await gateway.status(neighbour);
    assert.ok(Date.parse(created_at) >= Date.now() + HOUR);
  });

  test("a restart while the clock is behind decides no earlier than a record was changed", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    await at(2 * HOUR);
    const first = gateway.post(path, key);
    await slow.reached;
    // The record is the only place that shows the time.
    await gateway.evict(key);
    await at(0);
    assert.equal((await gateway.post(path, key)).json.type, "idempotency_in_progress");
    slow.open();
    assert.equal((await first).status, 201);
    const { created_at, completed_at } = await gateway.status(key);
    assert.ok(completed_at >= created_at, `${created_at}, ${completed_at}`);
    // A record that the sweep removed shows nothing, so the object stores that time by itself.
    await at(2 * DAY);
    await sweep(gateway, key);
    await gateway.evict(key);
    await at(0);
    await gateway.post(gateway.route(), key);
    assert.ok(Date.parse((await gateway.status(key)).created_at) >= Date.now() + 2 * DAY - HOUR);
  });
});

describe("with EXPIRED_KEY=refuse and a retention of an hour", () => {
  let gateway;
  beforeEach(
    async () =>
      (gateway = await startGateway({ faults: true, vars: { ...noMemory, EXPIRED_KEY: "refuse", RETENTION_SECONDS: "3600" } })),
  );
  afterEach(() => gateway.dispose());

  function isRefused(response) {
    assert.deepEqual([response.status, response.json.type, response.state], [400, "idempotency_key_expired", "expired"]);
  }

  test("an expired key is refused, before the sweep and after it, until its tombstone is removed", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.post(path, key);
    await gateway.clock(HOUR + 1000);
    isRefused(await gateway.post(path, key));
    isRefused(await gateway.post(path, key, { a: 2 }));
    const before = await gateway.status(key);
    await sweep(gateway, key);
    isRefused(await gateway.post(path, key));
    assert.deepEqual(await gateway.status(key), before, "the status does not depend on the sweep");
    assert.equal(before.state, "expired");
    await gateway.clock(30 * DAY);
    await sweep(gateway, key);
    isRefused(await gateway.post(path, key));
    await gateway.clock(30 * DAY + HOUR + 5000);
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal(gateway.hits(path), 2);
  });

  test("a UUIDv7 that is older than the retention is refused without any record", async () => {
    const path = gateway.route(created);
    // The gateway tolerates callers whose clock is up to an hour behind.
    for (const age of [3 * HOUR, 100 * DAY]) isRefused(await gateway.post(path, keyOfAge(age)));
    assert.equal(gateway.hits(path), 0);
    for (const age of [0, HOUR, 1.9 * HOUR, -DAY])
      assert.equal((await gateway.post(path, keyOfAge(age))).status, 201, `${age / HOUR} h`);
    assert.equal((await gateway.post(path, newKey())).status, 201, "a UUIDv4 does not contain its age");
  });

  test("a key that may have been forgotten cannot be voided", async () => {
    const response = await gateway.call("POST", "/_oncekey/key/void", { key: keyOfAge(3 * HOUR) });
    assert.deepEqual([response.status, response.json.state], [200, "expired"]);
  });
});
