// Subscriptions of the sandbox.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { balance, executions, found, made, merchant, refused } from "../fixtures/merchant.mjs";
import { startWorker } from "../fixtures/support.mjs";

const subscription = (more) => ({ plan: "Pro 年度", customer: "cus_1042", amount: 990, currency: "EUR", ...more });

describe("subscriptions", () => {
  let worker;
  before(async () => (worker = await startWorker()));
  after(() => worker.dispose());

  const subscribe = (call, more) => call("POST", "/v1/subscriptions", { body: subscription(), ...more });

  test("a subscription is created, found and cancelled", async () => {
    const call = merchant(worker);
    const key = randomUUID();
    const first = made(await subscribe(call, { key }));
    const { id, created_at, ...rest } = first;
    assert.match(id, /^sub_[0-9a-f]{32}$/);
    assert.ok(Date.parse(created_at));
    assert.deepEqual(rest, { object: "subscription", ...subscription(), status: "active", cancelled_at: null });
    assert.deepEqual(found(await call("GET", `/v1/subscriptions/${id}`)), first);
    assert.equal(await executions(call, key), 1);
    assert.deepEqual(await balance(call), { accounts: [], sum: 0 }, "nothing was charged");

    const cancelKey = randomUUID();
    const cancelled = found(await call("POST", `/v1/subscriptions/${id}/cancel`, { key: cancelKey }));
    assert.equal(cancelled.status, "cancelled");
    assert.ok(Date.parse(cancelled.cancelled_at) >= Date.parse(created_at));
    assert.deepEqual(found(await call("POST", `/v1/subscriptions/${id}/cancel`)), cancelled, "a second time changes nothing");
    assert.deepEqual(found(await call("GET", `/v1/subscriptions/${id}`)), cancelled);
    assert.equal(await executions(call, cancelKey), 1);
  });

  test("after a lost response, the retry gets the subscription of its key", async () => {
    const call = merchant(worker);
    const events = async () => found(await call("GET", "/v1/events")).filter(({ type }) => type === "subscription.created");
    const key = randomUUID();
    refused(await subscribe(call, { key, fault: "error-after" }), 500, undefined, "api_error");
    const again = made(await subscribe(call, { key }));
    assert.equal(await executions(call, key), 1);
    assert.deepEqual((await events()).map(({ data }) => data.id), [again.id]);
    const other = made(await subscribe(call, { key: randomUUID() }));
    assert.notEqual(other.id, again.id, "another key creates another subscription");
    assert.equal((await events()).length, 2);
  });

  test("fifty requests at once with one key create one subscription", async () => {
    const call = merchant(worker);
    const key = randomUUID();
    const responses = await Promise.all(Array.from({ length: 50 }, () => subscribe(call, { key })));
    const ids = responses.filter(({ status }) => status === 201).map((response) => made(response).id);
    assert.equal(new Set(ids).size, 1);
    assert.equal(await executions(call, key), 1);
    assert.equal(found(await call("GET", "/v1/events")).length, 1);
  });

  test("an invalid field of a subscription is refused by name", async () => {
    const call = merchant(worker);
    for (const [change, param] of [
      [{ plan: "" }, "plan"],
      [{ plan: undefined }, "plan"],
      [{ customer: 1 }, "customer"],
      [{ customer: "a\nb" }, "customer"],
      [{ amount: 0 }, "amount"],
      [{ amount: "990" }, "amount"],
      [{ currency: "eur" }, "currency"],
      [{ trial: 14 }, "trial"],
    ]) {
      refused(await call("POST", "/v1/subscriptions", { body: subscription(change) }), 400, param);
    }
    for (const [method, path, status] of [
      ["GET", "/v1/subscriptions", 405],
      ["GET", "/v1/subscriptions/sub_x", 404],
      ["POST", `/v1/subscriptions/sub_${"0".repeat(32)}/cancel`, 404],
      ["GET", `/v1/subscriptions/sub_${"0".repeat(32)}/cancel`, 405],
    ]) {
      refused(await call(method, path), status);
    }
  });
});
