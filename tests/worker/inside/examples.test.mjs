// The examples, bundled by wrangler and run on workerd.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { exchange } from "../fixtures/client.mjs";
import { startExample } from "../fixtures/inside.mjs";
import { newKey } from "../fixtures/support.mjs";

for (const name of ["hono", "worker"]) {
  describe(`examples/${name}`, () => {
    let worker;
    before(async () => (worker = await startExample(name)));
    after(() => worker.dispose());

    const call = (method, { key, body, as = "ann" } = {}) => {
      const headers = [["Authorization", `Bearer token-of-${as}`]];
      if (key) headers.push(["Idempotency-Key", key]);
      return exchange(worker.url, { method, path: "/orders", headers, body });
    };
    const order = (key, more) => call("POST", { key, body: { item: "book", card: "card_1" }, ...more });
    const orders = async (as) => (await call("GET", { as })).json.length;

    test("makes an order once, however often the request is sent", async () => {
      const [key, before] = [newKey(), await orders()];
      const first = await order(key);
      const again = await order(key, { body: { card: "card_1", item: "book", sent_at: "later" } });
      assert.deepEqual([first.status, first.replayed, again.status, again.text, again.replayed], [201, false, 201, first.text, true]);
      assert.equal(await orders(), before + 1);
    });

    test("refuses another request with the same key", async () => {
      const key = newKey();
      await order(key);
      assert.equal((await order(key, { body: { item: "car", card: "card_1" } })).status, 400);
    });

    test("gives each user their own keys", async () => {
      const key = newKey();
      const [ann, bob] = [await order(key), await order(key, { as: "bob" })];
      assert.deepEqual([ann.json.user, bob.json.user, bob.replayed], ["ann", "bob", false]);
    });

    test("does not know the outcome if the handler throws, and does not run it again", async () => {
      const [key, before] = [newKey(), await orders()];
      const body = { item: "book", card: "card_broken" };
      const first = await order(key, { body });
      const again = await order(key, { body });
      assert.deepEqual([first.status, first.state, again.status, again.json.code], [500, "unknown", 409, "idempotency_outcome_unknown"]);
      assert.equal(await orders(), before + 1);
    });

    test("requires a key, and a user", async () => {
      const before = await orders();
      assert.equal((await order()).status, 400);
      assert.equal((await order(newKey(), { as: "nobody" })).status, 401);
      assert.equal(await orders(), before);
    });
  });
}
