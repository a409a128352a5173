// Panics anywhere in the Rust code: only the request that panics fails, with a 500.
// This needs a build with the feature test-faults (scripts/worker-build --features test-faults --out DIR), named by
// ONCEKEY_WORKER_BUILD.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, eventually, gated, newKey, startGateway } from "../fixtures/support.mjs";

const KINDS = ["", ":overflow", ":memory"];
const armed = (point) => ({
  headers: [
    ["Oncekey-Test-Panic", point],
    ["Origin", "https://shop.example"],
  ],
});

describe("a panic", () => {
  let gateway;
  before(async () => {
    gateway = await startGateway({
      faults: true,
      vars: { LEASE_SECONDS: "6", UNKNOWN_OUTCOME: "retry", CORS_ORIGINS: "https://shop.example" },
    });
    const probe = await gateway.get("/probe", armed("gateway"));
    assert.equal(probe.status, 500, "this build has no test faults; build it as the head of this file says");
  });
  after(() => gateway.dispose());

  /** Runs `during` while other requests are at every stage, and checks that these succeed. */
  async function amongOthers(during) {
    const slow = gated();
    const path = gateway.route(slow);
    const keys = Array.from({ length: 5 }, newKey);
    const [asking, storing] = [newKey(), newKey()];
    await gateway.faults(asking, { op: "begin", fault: "slow", ms: 250 });
    await gateway.faults(storing, { op: "complete", fault: "slow", ms: 800 });
    // Running requests must not reach the armed point before the request that should panic.
    const [late, quick] = [gateway.route(slow), gateway.route()];
    const others = [
      ...keys.map((key) => gateway.post(path, key)),
      gateway.get(path),
      gateway.post(path),
      gateway.post(late, asking),
      gateway.post(quick, storing),
    ];
    await eventually(() => assert.equal(gateway.hits(path), 7));
    await eventually(async () => assert.ok((await gateway.calls(storing)).some((call) => call.op === "complete")));
    await during();
    slow.open();
    for (const response of await Promise.all(others)) assert.equal(response.status, 201);
    for (const key of keys) assert.ok((await gateway.post(path, key)).replayed);
    for (const [where, key] of [
      [late, asking],
      [quick, storing],
    ])
      assert.ok((await gateway.post(where, key)).replayed);
    assert.equal(gateway.hits(path), 7);
  }

  function isInternalError(response) {
    assert.deepEqual([response.status, response.json.type, response.json.code], [500, "api_error", "api_error"]);
    assert.equal(response.json.request_id, response.get("X-Request-Id"));
    assert.match(response.get("X-Request-Id"), /^req_/);
    assert.equal(response.get("Link"), '</_oncekey/errors#api_error>; rel="help"');
    assert.doesNotMatch(response.text, /panic|wasm|\.rs/);
  }

  for (const kind of KINDS) {
    const what = { "": "a panic", ":overflow": "a stack overflow", ":memory": "an exhausted memory" }[kind];

    test(`after ${what} before begin, the request gets a 500 and was not executed`, async () => {
      const path = gateway.route();
      const key = newKey();
      await amongOthers(async () => isInternalError(await gateway.post(path, key, { a: 1 }, armed(`gateway${kind}`))));
      assert.equal(gateway.hits(path), 0);
      assert.equal(await gateway.status(key), undefined);
      assert.equal((await gateway.post(path, key)).status, 201);
    });

    test(`after ${what} after the origin's response, the request gets a 500 and its key is not stuck`, async () => {
      const path = gateway.route(created);
      const key = newKey();
      await amongOthers(async () => isInternalError(await gateway.post(path, key, { a: 1 }, armed(`task${kind}`))));
      assert.equal(gateway.hits(path), 1);
      // The lease is no longer renewed, so the outcome soon is unknown, and a retry resolves it.
      const second = await eventually(async () => {
        const response = await gateway.post(path, key);
        assert.equal(response.status, 201);
        return response;
      });
      assert.deepEqual([second.state, gateway.hits(path)], ["completed", 2]);
      assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "2");
    });

    test(`after ${what} in the object, the gateway makes a second call and the request succeeds`, async () => {
      const path = gateway.route();
      const key = newKey();
      await amongOthers(async () => {
        const response = await gateway.post(path, key, { a: 1 }, armed(`object${kind}`));
        assert.deepEqual([response.status, response.state], [201, "completed"]);
      });
      assert.ok((await gateway.post(path, key)).replayed);
      assert.deepEqual([gateway.hits(path), (await gateway.status(key)).attempts], [1, 1]);
    });

    test(`after ${what} in the sweep, nothing is lost and the next sweep does the work`, async () => {
      const path = gateway.route();
      const key = newKey();
      await gateway.post(path, key);
      await amongOthers(async () => {
        await gateway.get("/_oncekey/health", armed(`alarm${kind}`));
        await assert.rejects(gateway.shard(key, { do: "alarm" }));
      });
      assert.ok((await gateway.post(path, key)).replayed);
      await gateway.shard(key, { do: "alarm" });
      assert.ok((await gateway.post(path, key)).replayed);
    });
  }

  test("the 500 of a panic has CORS headers and the content type that the caller accepts", async () => {
    const { headers } = armed("gateway");
    const response = await gateway.post(
      gateway.route(),
      newKey(),
      { a: 1 },
      { headers: [...headers, ["Accept", "application/problem+json"]] },
    );
    assert.deepEqual(
      [response.status, response.get("Content-Type"), response.json.code],
      [500, "application/problem+json", "api_error"],
    );
    assert.equal(response.get("Access-Control-Allow-Origin"), "https://shop.example");
    assert.match(response.get("Access-Control-Expose-Headers"), /X-Request-Id/i);
  });

  test("requests still work after many panics in a row", async () => {
    const body = Buffer.alloc(9 << 20);
    for (let round = 0; round < 5; round++)
      isInternalError(await gateway.post(gateway.route(), newKey(), body, armed("task")));
    assert.equal((await gateway.post(gateway.route(), newKey(), body)).status, 201);
  });

  test("a panic is logged with its location, and without the caller's data", async () => {
    const key = `visible-${newKey()}`;
    await gateway.post("/secret-path", key, { secret: "content" }, armed("gateway"));
    const logged = gateway.worker.logs.map(({ message }) => message).join("\n");
    assert.match(logged, /panic at worker\/platform\/src\/panic\.rs:\d+/);
    assert.doesNotMatch(logged, /visible-|secret|kuko_test/);
  });
});
