// Runs what docs/guide/sdks.md shows against the real Worker.
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { unpack } from "../fixtures/guide.mjs";
import { created, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

const folder = unpack("docs/guide/sdks.md", "sdks");
const order = { amount: 2990, currency: "eur" };

describe("the page of SDKs", () => {
  for (const name of ["stripe", "openai"]) {
    test(`${name} repeats a request with its key, and a repeated call gets the first response`, async () => {
      const gateway = await startGateway({ vars: { UNKNOWN_OUTCOME: "retry" } });
      try {
        const { pay } = await import(join(folder, `${name}.mjs`));
        const path = gateway.origin.route(inTurn(503, created), "/v1/payment_intents");
        const key = newKey();
        const [first, second] = [await pay(gateway.url, "sk_test_1", order, key), await pay(gateway.url, "sk_test_1", order, key)];
        assert.ok(first.id);
        assert.equal(second.id, first.id);
        assert.deepEqual(gateway.origin.at(path).map(({ headers }) => headers["idempotency-key"]), [key, key]);
      } finally {
        await gateway.dispose();
      }
    });
  }

  test("a key in the body is a business key", async () => {
    const gateway = await startGateway({ vars: { BUSINESS_KEYS: "POST:/v2/payments:/idempotency_key!" } });
    try {
      gateway.origin.route(created, "/v2/payments");
      const pay = (body) => gateway.post("/v2/payments", undefined, body);
      const body = { idempotency_key: newKey(), ...order };
      const [first, second] = [await pay(body), await pay(body)];
      assert.deepEqual([first.status, second.text, second.replayed], [201, first.text, true]);
      assert.equal((await pay({ ...body, amount: 1 })).json.code, "idempotency_error");
      assert.equal((await pay(order)).status, 400);
      assert.equal(gateway.hits("/v2/payments"), 1);
    } finally {
      await gateway.dispose();
    }
  });
});
