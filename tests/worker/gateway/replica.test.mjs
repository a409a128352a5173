// Copies in Workers KV: the gateway may replay them while a shard is slow or down. A missing copy never counts as a new
// key.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, eventually, inTurn, newKey, noMemory, recordName, startGateway } from "../fixtures/support.mjs";

describe("the replica", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { ...noMemory, LEASE_SECONDS: "4" } })));
  after(() => gateway.dispose());

  const copied = (key) => eventually(async () => assert.notEqual(await gateway.copy(key), null));
  const down = (key) => gateway.faults(key, { op: "begin", fault: "refuse", times: 1000 });

  /** Returns a completed key whose copy is written. */
  async function completed(handler = created) {
    const path = gateway.route(handler);
    const key = newKey();
    const first = await gateway.post(path, key);
    await copied(key);
    return { path, key, first };
  }

  function isReplay(response, first) {
    assert.deepEqual([response.status, response.replayed, response.state], [first.status, true, "completed"]);
    assert.deepEqual(response.body, first.body);
    for (const name of ["X-Request-Id", "Idempotency-Expires", "Content-Type"])
      assert.equal(response.get(name), first.get(name), name);
  }

  test("a response is copied once, after it was stored, and expires a minute before the object's record", async () => {
    const { key, path } = await completed();
    await gateway.post(path, key);
    const puts = (await gateway.replica()).filter(({ name }) => name === `answer-1/${recordName(key)}`);
    assert.equal(puts.length, 1);
    const { expirationTtl } = puts[0].options;
    assert.ok(expirationTtl <= 86_400 - 60 && expirationTtl > 86_400 - 90, `${expirationTtl}`);
  });

  test("while the store is down a completed key is replayed from its copy", async () => {
    const { key, path, first } = await completed(() => ({
      ...created(),
      headers: { "Content-Type": "text/plain", Link: ["<a>", "<b>"] },
    }));
    await down(key);
    const response = await gateway.post(path, key);
    isReplay(response, first);
    assert.equal(response.get("Link"), "<a>, <b>");
    const other = await gateway.post(path, key, { a: 2 });
    assert.deepEqual(
      [other.status, other.json.type],
      [400, "idempotency_error"],
      "another request is a mismatch with the copy, too",
    );
    assert.equal(gateway.hits(path), 1);
  });

  test("while the store is slow the copy is returned first", async () => {
    const { key, path, first } = await completed();
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 120_000, times: 1000 });
    const begins = async () => (await gateway.calls(key)).filter(({ op }) => op === "begin").length;
    const before = await begins();
    isReplay(await gateway.post(path, key), first);
    assert.ok((await begins()) - before < 3, "the gateway returned the copy before it stopped waiting for the object");
    await gateway.faults(key);
    isReplay(await gateway.post(path, key), first);
    assert.equal((await gateway.status(key)).attempts, 1);
  });

  test("fault 9: a completed key is replayed, not executed again, although its copy is missing", async () => {
    const { key, path, first } = await completed();
    await gateway.copy(key, { remove: true });
    await gateway.replica("empty");
    try {
      isReplay(await gateway.post(path, key), first);
      await gateway.faults(key, { op: "begin", fault: "slow", ms: 300 });
      isReplay(await gateway.post(path, key), first);
      await down(key);
      assert.equal((await gateway.post(path, key)).status, 503, "without the object and the copy, the gateway cannot know whether the key is new");
      assert.equal(gateway.hits(path), 1);
    } finally {
      await gateway.replica("honest");
    }
  });

  test("a new key is executed once while the replica has no copies", async () => {
    await gateway.replica("empty");
    try {
      const path = gateway.route();
      const key = newKey();
      await gateway.faults(key, { op: "begin", fault: "slow", ms: 200, times: 2 });
      const responses = await Promise.all([gateway.post(path, key), gateway.post(path, key)]);
      assert.deepEqual(responses.map((response) => response.status).sort(), [201, 409]);
      assert.equal(gateway.hits(path), 1);
    } finally {
      await gateway.replica("honest");
    }
  });

  test("with the store down and no copy the origin is not called", async () => {
    const path = gateway.route();
    const key = newKey();
    await down(key);
    const response = await gateway.post(path, key);
    assert.deepEqual(
      [response.status, response.json.type, response.get("Retry-After"), response.state],
      [503, "api_connection_error", "1", "absent"],
    );
    assert.equal(gateway.hits(path), 0);
    await gateway.faults(key);
    assert.equal((await gateway.post(path, key)).status, 201);
  });

  for (const mode of ["down", "hang"]) {
    test(`a replica that ${mode === "down" ? "fails" : "never responds"} does not fail the request`, async () => {
      await gateway.replica(mode);
      try {
        const path = gateway.route();
        const key = newKey();
        const first = await gateway.post(path, key);
        assert.deepEqual([first.status, first.state, first.get("Idempotency-Stored")], [201, "completed", undefined]);
        isReplay(await gateway.post(path, key), first);
        await gateway.faults(key, { op: "begin", fault: "slow", ms: 300 });
        isReplay(await gateway.post(path, key), first);
        await down(key);
        assert.equal((await gateway.post(path, key)).status, 503);
      } finally {
        await gateway.replica("honest");
      }
    });
  }

  test("only complete responses are copied", async () => {
    const endings = [
      429,
      500,
      307,
      { status: 200, headers: { "Content-Type": "text/event-stream" }, body: "data: 1\n\n" },
    ];
    for (const ending of endings) {
      const key = newKey();
      await gateway.post(gateway.route(inTurn(ending)), key);
      // A copy of the earlier key would be written before the copy of the next key.
      await completed();
      assert.equal(await gateway.copy(key), null);
    }
  });

  test("a replica entry that is not a copy of the key does not count", async () => {
    const { key, path, first } = await completed();
    const copy = Buffer.from(await gateway.copy(key), "hex");
    copy[copy.length - 1] ^= 1;
    for (const bytes of ["00", "6f6b01", copy.toString("hex")]) {
      await gateway.copy(key, { bytes });
      await gateway.faults(key, { op: "begin", fault: "slow", ms: 200 });
      isReplay(await gateway.post(path, key), first);
      await down(key);
      assert.equal((await gateway.post(path, key)).status, 503);
    }
    assert.equal(gateway.hits(path), 1);
  });

  test("a copy is never sent to another scope", async () => {
    const { key, path } = await completed();
    await gateway.faults(null, { op: "begin", fault: "refuse", times: 1000 });
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "somebody_else" })).status, 503);
    await gateway.faults(null);
  });

  // This test is the last one, because it sets the clock.
  test("an expired copy does not count", async () => {
    const { key, path, first } = await completed();
    const bytes = await gateway.copy(key);
    // The copy does not count in its last minute either, when the object's record still counts.
    await gateway.clock(86_400_000 - 30_000);
    await down(key);
    assert.equal((await gateway.post(path, key)).status, 503);
    await gateway.faults(key);
    isReplay(await gateway.post(path, key), first);
    await gateway.clock(86_400_000 + 5_000);
    await gateway.copy(key, { bytes });
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 200 });
    const fresh = await gateway.post(path, key);
    assert.deepEqual([fresh.replayed, gateway.hits(path)], [false, 2], "the key counts as new");
  });
});

test("a response whose retention is too short for Workers KV is replayed without a copy", async () => {
  const gateway = await startGateway({ faults: true, vars: { RETENTION_SECONDS: "100" } });
  try {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.deepEqual(await gateway.replica(), []);
  } finally {
    await gateway.dispose();
  }
});

test("fault 36: without a replica, the Worker replays from the shard and refuses writes while the shard is down", async () => {
  const gateway = await startGateway({ faults: true, vars: { ...noMemory, LEASE_SECONDS: "4" }, more: { kvNamespaces: [] } });
  try {
    const path = gateway.route();
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.equal(first.status, 201);
    await gateway.faults(key, { op: "begin", fault: "slow", ms: 200 });
    assert.equal((await gateway.post(path, key)).text, first.text);
    await gateway.faults(key, { op: "begin", fault: "refuse", times: 1000 });
    assert.equal((await gateway.post(path, key)).status, 503);
    assert.equal(gateway.hits(path), 1);
  } finally {
    await gateway.dispose();
  }
});
