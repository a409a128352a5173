// Callers that close or reset their connection, at any point of a request or a response.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, eventually, gated, head, inTurn, newKey, sleep, startGateway, startRaw } from "../fixtures/support.mjs";

const leave = {
  "closes its connection": (socket) => socket.destroy(),
  "resets its connection": (socket) => socket.resetAndDestroy(),
};

describe("a caller that goes away", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { LEASE_SECONDS: "3600" } })));
  after(() => gateway.dispose());

  const start = (path, key, body = '{"a":1}', length = body.length) => {
    const headers = [
      ["X-Api-Key", apiKey],
      ["Idempotency-Key", key],
      ["Content-Type", "application/json"],
      ["Content-Length", length],
    ];
    return startRaw(gateway.url, Buffer.concat([head("POST", path, headers), Buffer.from(body)]));
  };

  for (const [what, go] of Object.entries(leave)) {
    test(`fault 11: a caller that ${what} while the origin works gets its response later, and the request is executed once`, async () => {
      const slow = gated();
      const path = gateway.route(slow);
      const key = newKey();
      const socket = await start(path, key);
      await slow.reached;
      go(socket);
      // Gives the platform time to notice that the connection is closed.
      await sleep(300);
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_in_progress");
      slow.open();
      const response = await eventually(async () => {
        const found = await gateway.post(path, key);
        assert.equal(found.replayed, true);
        return found;
      });
      assert.equal(response.status, 201);
      assert.equal(gateway.hits(path), 1);
      assert.equal((await gateway.status(key)).attempts, 1);
    });

    test(`fault 12: the outcome of a caller that ${what} while the origin works is recorded, also if the origin fails`, async () => {
      const slow = gated(inTurn(500));
      const path = gateway.route(slow);
      const key = newKey();
      const socket = await start(path, key);
      await slow.reached;
      go(socket);
      slow.open();
      // The lease is an hour, so the outcome was recorded, not resolved after the end of the lease.
      await eventually(async () => assert.equal((await gateway.post(path, key)).json.type, "idempotency_outcome_unknown"));
      assert.equal(gateway.hits(path), 1);
    });

    test(`a caller that ${what} before its body has ended leaves no record`, async () => {
      const path = gateway.route();
      const key = newKey();
      const socket = await start(path, key, '{"a"', 7);
      await sleep(100);
      go(socket);
      await sleep(200);
      assert.equal(await gateway.status(key), undefined);
      assert.equal(gateway.hits(path), 0);
      assert.equal((await gateway.post(path, key)).status, 201);
    });

    test(`the request of a caller that ${what} right after sending it is executed at most once`, async () => {
      const path = gateway.route(created);
      const keys = Array.from({ length: 10 }, newKey);
      await Promise.all(keys.map(async (key) => go(await start(path, key))));
      const responses = await Promise.all(
        keys.map((key) =>
          eventually(async () => {
            const response = await gateway.post(path, key);
            assert.equal(response.status, 201);
            return response;
          }),
        ),
      );
      assert.equal(responses.length, 10);
      assert.equal(gateway.hits(path), 10);
    });

    test(`the key of a caller that ${what} in the middle of a large response is not executed again`, async () => {
      const blob = Buffer.alloc(8 << 20, "x");
      const path = gateway.route(() => ({ body: blob }));
      const key = newKey();
      const socket = await start(path, key);
      await new Promise((resolve) => socket.once("data", resolve));
      go(socket);
      const again = await gateway.post(path, key);
      assert.deepEqual(
        [again.status, again.json.type, again.json.http_status],
        [409, "idempotency_not_replayable", 200],
      );
      assert.equal(gateway.hits(path), 1);
    });
  }

  test("fault 11: a response is stored although its caller goes away meanwhile", async () => {
    const path = gateway.route();
    const key = newKey();
    // The third try happens after the caller has gone.
    await gateway.faults(key, { op: "complete", fault: "refuse", times: 2 });
    const socket = await start(path, key);
    await eventually(async () => assert.ok((await gateway.calls(key)).some((call) => call.op === "complete")));
    socket.resetAndDestroy();
    await eventually(async () => assert.equal((await gateway.post(path, key)).replayed, true));
    assert.equal(gateway.hits(path), 1);
  });

  test("a request is executed although its caller goes away while its record is read", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.faults(key, { op: "begin", fault: "stall", ms: 700 });
    const socket = await start(path, key);
    await eventually(async () => assert.ok((await gateway.calls(key)).some((call) => call.op === "begin")));
    socket.resetAndDestroy();
    await eventually(async () => assert.equal((await gateway.status(key))?.state, "completed"));
    assert.ok((await gateway.post(path, key)).replayed);
    assert.equal(gateway.hits(path), 1);
  });
});
