// Many requests with one key at the same time: one is executed, and no caller waits for another.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, gated, newKey, noMemory, recordName, startGateway } from "../fixtures/support.mjs";

const tally = (responses) => responses.reduce((sum, { status }) => ({ ...sum, [status]: (sum[status] ?? 0) + 1 }), {});

describe("requests at the same time", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: noMemory })));
  after(() => gateway.dispose());

  test("faults 1, 2: of two first requests at the same time, one is executed and the other gets 409", async () => {
    for (let round = 0; round < 5; round++) {
      const handler = gated();
      const path = gateway.route(handler);
      const key = newKey();
      const both = [gateway.post(path, key), gateway.post(path, key)];
      const loser = await Promise.race(both);
      assert.deepEqual([loser.status, loser.json.type, loser.state], [409, "idempotency_in_progress", "in_progress"]);
      assert.ok(Number(loser.get("Retry-After")) >= 1);
      assert.equal(loser.get("Idempotency-Expires"), undefined, "a request in progress has no expiry");
      handler.open();
      assert.deepEqual(tally(await Promise.all(both)), { 201: 1, 409: 1 });
      assert.equal(gateway.hits(path), 1);
    }
  });

  test("faults 1, 9: a thousand requests at once with one key are one call to the origin", async () => {
    const handler = gated();
    const path = gateway.route(handler);
    const key = newKey();
    // On a busy machine, so many connections may take minutes.
    const all = Array.from({ length: 1000 }, () => gateway.post(path, key, { a: 1 }, { timeout: 300_000 }));
    await handler.reached;
    // 50 other requests get a response while the first is still at the origin. The origin has 25 s, in which a busy
    // machine cannot respond to all of them.
    let waiting = 50;
    await new Promise((resolve) =>
      all.forEach((one) => one.finally(() => --waiting === 0 && resolve()).catch(() => {})),
    );
    handler.open();
    const responses = await Promise.all(all);
    const first = responses.filter(({ status, replayed }) => status === 201 && !replayed);
    assert.equal(first.length, 1);
    assert.ok(responses.every(({ status }) => status === 201 || status === 409));
    assert.ok(responses.filter(({ status }) => status === 409).length >= 50);
    assert.equal(gateway.hits(path), 1);
    assert.deepEqual((await gateway.status(key)).attempts, 1);
    const later = await gateway.post(path, key);
    assert.deepEqual([later.replayed, later.text], [true, responses.find((one) => one.status === 201).text]);
  });

  test("fault 3: another body while the first is in progress is a mismatch", async () => {
    const handler = gated();
    const path = gateway.route(handler);
    const key = newKey();
    const first = gateway.post(path, key, { a: 1 });
    await handler.reached;
    const other = await gateway.post(path, key, { a: 2 });
    assert.deepEqual([other.status, other.json.type, other.state], [400, "idempotency_error", "in_progress"]);
    handler.open();
    assert.equal((await first).status, 201);
    assert.equal(gateway.hits(path), 1);
  });

  test("fault 4: a request right after the end of the first attempt gets the response of that attempt", async () => {
    const path = gateway.route(created);
    for (let round = 0; round < 20; round++) {
      const key = newKey();
      const first = await gateway.post(path, key);
      const rest = await Promise.all(Array.from({ length: 5 }, () => gateway.post(path, key)));
      for (const response of rest) assert.deepEqual([response.replayed, response.text], [true, first.text]);
      assert.equal(gateway.hits(path), round + 1);
    }
  });

  test("fault 4: a steady stream of requests gets 409 until the first attempt ends, and then only its response", async () => {
    const handler = gated();
    const path = gateway.route(handler);
    const key = newKey();
    const first = gateway.post(path, key);
    await handler.reached;
    const responses = [];
    const ask = async () => {
      for (let count = 0; count < 20; count++) {
        responses.push(await gateway.post(path, key));
        if (responses.length === 10) handler.open();
      }
    };
    await Promise.all([ask(), ask(), ask()]);
    const { text } = await first;
    assert.equal(gateway.hits(path), 1);
    for (const response of responses)
      assert.ok(response.status === 409 || (response.replayed && response.text === text), `${response.status}`);
    assert.ok(responses.at(-1).replayed);
  });

  test("no key waits for another key's origin call, not even one of the same shard", async () => {
    const shardOf = (key) => recordName(key).slice(0, 2);
    const key = newKey();
    let neighbour = newKey();
    while (shardOf(neighbour) !== shardOf(key)) neighbour = newKey();
    const handler = gated();
    const slow = gateway.route(handler);
    const first = gateway.post(slow, key);
    await handler.reached;
    assert.equal((await gateway.post(gateway.route(), neighbour)).status, 201);
    handler.open();
    assert.equal((await first).status, 201);
  });

  test("fault 14: an attempt whose calls to the shard arrive twice counts once", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.faults(key, { op: "begin", fault: "twice" }, { op: "complete", fault: "twice" });
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.state, first.get("Idempotency-Stored")], [201, "completed", undefined]);
    assert.equal((await gateway.status(key)).attempts, 1);
    assert.equal((await gateway.post(path, key)).text, first.text);
    assert.equal(gateway.hits(path), 1);
  });
});
