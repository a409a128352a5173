// The Worker as it is deployed in front of an origin: built without the sandbox (`scripts/worker-build --no-sandbox`),
// with the bindings of the environment `production` in worker/wrangler.toml.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { entries, inside, merchant, paid } from "../fixtures/merchant.mjs";
import { newKey, startGateway, startWorker } from "../fixtures/support.mjs";

const environment = "production";
const root = new URL("../../../", import.meta.url).pathname;

describe("a Worker without the sandbox", () => {
  test("contains no code of the sandbox", () => {
    const wasm = readFileSync(join(root, "worker/build-production/oncekey.wasm"), "latin1");
    const glue = readFileSync(join(root, "worker/build-production/glue.mjs"), "utf8");
    assert.deepEqual([glue.includes("Shard"), glue.includes("Merchant")], [true, false]);
    for (const text of ["CREATE TABLE orders", "Sandbox-Fault", "4242424242424242"]) assert.ok(!wasm.includes(text), text);
  });

  describe("and without UPSTREAM", () => {
    let worker;
    before(async () => (worker = await startWorker({ environment })));
    after(() => worker.dispose());

    for (const [method, path] of [
      ["GET", "/_oncekey/health"],
      ["POST", "/v1/orders"],
      ["GET", "/v1/orders/x"],
      ["GET", "/"],
      ["POST", "/webhooks/x"],
    ]) {
      test(`reports at ${method} ${path} which setting is missing`, async () => {
        const headers = { "X-Api-Key": "kuko_test_a", "Idempotency-Key": newKey() };
        const response = await worker.fetch(path, { method, headers });
        const { type, message } = await response.json();
        assert.deepEqual([response.status, type], [500, "api_error"]);
        assert.match(message, /UPSTREAM: is missing.* set it to the URL of your API, such as https:/);
      });
    }
  });

  test("works in front of an origin like any other deployment", async () => {
    const gateway = await startGateway({ environment, vars: { ADMIN_TOKEN: "operator" } });
    try {
      const [path, key] = [gateway.route(), newKey()];
      const first = await gateway.post(path, key);
      const again = await gateway.post(path, key);
      assert.deepEqual([first.status, again.status, again.text, again.replayed], [201, 201, first.text, true]);
      // Reconciliation exists only for the sandbox.
      const response = await gateway.get("/_oncekey/reconcile", { headers: [["Authorization", "Bearer operator"]] });
      assert.equal(response.status, 404);
    } finally {
      await gateway.dispose();
    }
  });

  test("keeps the data of an earlier deployment with the sandbox", async () => {
    const state = mkdtempSync(join(tmpdir(), "oncekey-production-"));
    const apiKey = "kuko_test_deployed_again";
    const withSandbox = () => startWorker({ state, wrapper: "merchants.mjs", vars: { WEBHOOK_TARGETS: "local" } });
    // The platform keeps the class and its objects. Without a binding, a test cannot read them.
    const durableObjects = {
      SHARDS: { className: "Shard", useSQLite: true },
      MERCHANTS: { className: "Merchant", useSQLite: true },
    };
    try {
      let worker = await withSandbox();
      let call = merchant(worker, apiKey);
      await call("POST", "/v1/webhook_endpoints", { body: { url: "http://127.0.0.1:1/" } });
      const { id } = await paid(call);
      await worker.dispose();

      worker = await startWorker({
        ...{ environment, state, wrapper: "merchants.mjs" },
        ...{ vars: { UPSTREAM: "http://127.0.0.1:1" }, more: { durableObjects } },
      });
      await inside(worker, apiKey).alarm();
      assert.deepEqual(worker.logs.filter(({ level }) => level === "error"), []);
      await worker.dispose();

      worker = await withSandbox();
      call = merchant(worker, apiKey);
      assert.equal((await entries(call, `order_id=${id}`)).length, 2);
      const delivered = await inside(worker, apiKey).sql("SELECT count(*) AS waiting FROM deliveries WHERE state = 'pending'");
      assert.deepEqual(delivered, [{ waiting: 2 }]);
      await worker.dispose();
    } finally {
      rmSync(state, { recursive: true });
    }
  });
});
