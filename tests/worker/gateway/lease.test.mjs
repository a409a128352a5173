// How long an attempt owns its key: as long as it runs, and at most one lease after it has died.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { created, eventually, gated, inTurn, newKey, noMemory, startGateway } from "../fixtures/support.mjs";

let gateway;
before(
  async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, LEASE_SECONDS: "6", UNKNOWN_OUTCOME: "retry" } })),
);
after(() => gateway.dispose());

// These tests mostly wait, so they run at the same time.
describe("a lease of six seconds, with UNKNOWN_OUTCOME=retry", { concurrency: true }, () => {
  test("an origin may take longer than the lease, because the lease is renewed", async () => {
    const slow = gated();
    const path = gateway.route(slow);
    const key = newKey();
    // A renewal is repeated if its call or its reply is lost.
    await gateway.faults(key, { op: "renew", fault: "refuse" }, { op: "renew", fault: "lose" });
    const first = gateway.post(path, key);
    await slow.reached;
    // A renewal is sent after half a lease, so three renewals outlast one lease.
    await eventually(async () => {
      const other = await gateway.post(path, key);
      assert.deepEqual([other.status, other.json.type, other.state], [409, "idempotency_in_progress", "in_progress"]);
      return assert.ok((await renewals(key)) >= 3);
    });
    slow.open();
    assert.deepEqual([(await first).status, (await first).state], [201, "completed"]);
    assert.equal(gateway.hits(path), 1);
  });

  /** Returns how many renewals of a key have arrived. */
  async function renewals(key) {
    return (await gateway.calls(key)).filter((call) => call.op === "renew" && !call.fault).length;
  }

  /** Sends a request whose renewals are lost, and waits until its lease has expired while the origin works. */
  async function loseLease(path, key, slow) {
    await gateway.faults(key, { op: "renew", fault: "refuse", times: 1000 });
    const response = gateway.post(path, key);
    await slow.reached;
    await eventually(async () => assert.equal((await gateway.status(key)).state, "unknown"));
    return { response };
  }

  test("faults 6, 8: a retry may run soon after an attempt has died", async () => {
    const slow = gated();
    const path = gateway.route(inTurn(slow, created));
    const key = newKey();
    const begun = Date.now();
    const { response } = await loseLease(path, key, slow);
    assert.ok(Date.now() - begun >= 5900, "not before the lease has expired");
    const second = await gateway.post(path, key);
    assert.deepEqual([second.status, second.state, gateway.hits(path)], [201, "completed", 2]);
    assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "2");
    slow.open();
    // The caller of the overtaken attempt gets the stored response, never the attempt's own.
    assert.deepEqual([(await response).text, (await response).replayed], [second.text, true]);
    assert.equal((await gateway.post(path, key)).text, second.text);
  });

  for (const ending of [429, 500, 422]) {
    test(`fault 5: an overtaken attempt that ends with ${ending} does not free the key of the attempt that overtook it`, async () => {
      const [slow, other] = [gated(inTurn(ending)), gated()];
      const path = gateway.route(inTurn(slow, other, created));
      const key = newKey();
      const { response: first } = await loseLease(path, key, slow);
      const second = gateway.post(path, key);
      await other.reached;
      await gateway.faults(key);
      slow.open();
      const response = await first;
      assert.deepEqual([response.status, response.json.type, response.state], [409, "idempotency_in_progress", "in_progress"]);
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_in_progress");
      other.open();
      assert.deepEqual([(await second).status, (await second).replayed], [201, false]);
      assert.equal((await gateway.post(path, key)).text, (await second).text);
      assert.equal(gateway.hits(path), 2);
    });
  }

  test("the first success of an overtaken attempt is the key's response, for both callers", async () => {
    const [slow, other] = [gated(), gated()];
    const path = gateway.route(inTurn(slow, other, created));
    const key = newKey();
    const { response: first } = await loseLease(path, key, slow);
    const second = gateway.post(path, key);
    await other.reached;
    await gateway.faults(key);
    slow.open();
    const result = await first;
    assert.deepEqual([result.status, result.state, result.replayed], [201, "completed", false]);
    other.open();
    for (const response of [await second, await gateway.post(path, key)])
      assert.deepEqual([response.text, response.replayed], [result.text, true]);
    assert.equal(gateway.hits(path), 2);
  });

  test("an attempt keeps its lease while its response takes long to store", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.faults(key, { op: "complete", fault: "hang", times: 3 });
    const first = gateway.post(path, key);
    await eventually(async () => assert.ok((await gateway.calls(key)).some((call) => call.op === "complete")));
    // The call is repeated every four seconds, for longer than the lease. Meanwhile the lease is renewed.
    await eventually(async () => assert.ok((await renewals(key)) >= 2));
    assert.deepEqual([(await first).status, (await first).state, gateway.hits(path)], [201, "completed", 1]);
  });

  test("a key whose begin never gets a reply in time is free afterwards, and the origin is not called", async () => {
    const path = gateway.route();
    const key = newKey();
    // The object carries out each try, and each reply comes too late.
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 3500, times: 3 });
    const late = await gateway.post(path, key);
    assert.deepEqual([late.status, late.json.type], [503, "api_connection_error"]);
    assert.equal(gateway.hits(path), 0);
    await eventually(async () => assert.equal((await gateway.status(key)).state, "released"));
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal((await gateway.status(key)).attempts, 2);
  });
});

// This test runs alone, because it sets the clock of the gateway.
test("an attempt that gets Execute after half its lease does not call the origin, and its key is free", async () => {
  const path = gateway.route();
  const key = newKey();
  await gateway.faults(key, { op: "begin", fault: "jump", ms: 3100 });
  const late = await gateway.post(path, key);
  assert.deepEqual(
    [late.status, late.json.type, late.state, late.get("Retry-After")],
    [503, "api_connection_error", "released", "1"],
  );
  assert.equal(gateway.hits(path), 0);
  const again = await gateway.post(path, key);
  assert.deepEqual([again.status, gateway.hits(path)], [201, 1]);
  // Before half the lease, the attempt calls the origin.
  await gateway.faults(`${key}2`, { op: "begin", fault: "jump", ms: 300 });
  assert.equal((await gateway.post(path, `${key}2`)).status, 201);
});

describe("with UNKNOWN_OUTCOME=hold and a lease of four seconds", () => {
  let holding;
  before(async () => (holding = await startGateway({ faults: true, vars: { ...noMemory, LEASE_SECONDS: "4" } })));
  after(() => holding.dispose());

  test("fault 6: with hold, nothing is executed after an expired lease, and a late success still becomes the response", async () => {
    const slow = gated();
    const path = holding.route(slow);
    const key = newKey();
    await holding.faults(key, { op: "renew", fault: "refuse", times: 1000 });
    const first = holding.post(path, key);
    await slow.reached;
    await eventually(async () =>
      assert.equal((await holding.post(path, key)).json.type, "idempotency_outcome_unknown"),
    );
    slow.open();
    assert.deepEqual([(await first).status, (await first).state], [201, "completed"]);
    assert.ok((await holding.post(path, key)).replayed);
    assert.equal(holding.hits(path), 1);
  });

  test("an attempt that finds its own lease expired does not call the origin, and its key is free", async () => {
    const path = holding.route();
    const key = newKey();
    await holding.faults(key, { op: "begin", fault: "jump", ms: 4500, lost: true });
    const late = await holding.post(path, key);
    assert.ok([409, 503].includes(late.status));
    assert.equal(holding.hits(path), 0);
    await eventually(async () => assert.equal((await holding.status(key)).state, "released"));
    assert.equal((await holding.post(path, key)).status, 201);
    assert.equal(holding.hits(path), 1);
  });
});

test("faults 6, 13: a power cut loses no stored response, and interrupted requests are executed again", async () => {
  const state = mkdtempSync(join(tmpdir(), "oncekey-test-"));
  const vars = { LEASE_SECONDS: "6", UNKNOWN_OUTCOME: "retry" };
  const [done, cut] = [newKey(), newKey()];
  let gateway = await startGateway({ vars, state });
  const { origin } = gateway;
  try {
    const slow = gated();
    const path = origin.route(inTurn(created, slow, created));
    const kept = await gateway.post(path, done);
    const lost = gateway.post(path, cut).catch((error) => error);
    await slow.reached;
    await gateway.worker.dispose();
    slow.open();
    assert.ok((await lost) instanceof Error);
    gateway = await startGateway({ vars, state, upstream: origin.url });
    const again = await gateway.post(path, done);
    assert.deepEqual([again.replayed, again.text], [true, kept.text]);
    await eventually(async () => assert.equal((await gateway.post(path, cut)).status, 201));
    assert.equal(origin.last(path).headers["idempotency-attempt"], "2");
    assert.equal(origin.hits(path), 3);
  } finally {
    await gateway.dispose();
    await origin.close();
    rmSync(state, { recursive: true, force: true });
  }
});
