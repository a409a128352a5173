// Pages that are reloaded during a request, in front of the real gateway with its sandbox.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { executions, merchant, order } from "../worker/fixtures/merchant.mjs";
import { Site, eventually, open, startBrowser, startWorker } from "./support.mjs";

describe("a page that is reloaded", () => {
  let browser, site, worker, context, shop, call, credential, target;
  before(async () => {
    [browser, site, worker] = await Promise.all([startBrowser(), Site.start(), startWorker()]);
    target = `${worker.url}/v1/orders`;
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
    credential = `kuko_test_${randomUUID()}`;
    call = merchant(worker, credential);
    shop = await open(context, site.url + page({ keyUrl: `${worker.url}/_oncekey/key` }));
  });
  after(async () => {
    await browser.close();
    await worker.dispose();
    await site.close();
  });

  const page = (client) => site.page({ client: { credential, retry: { limit: 1, delays: [20] }, ...client } });
  const request = (content, fault) => ({
    headers: { "x-api-key": credential, ...(fault && { "sandbox-fault": fault }) },
    json: content,
  });
  const keyState = async (key) => (await call("GET", "/_oncekey/key", { key })).json?.state;
  const stored = async ({ out_trade_no }) => (await call("GET", `/v1/orders?out_trade_no=${out_trade_no}`)).json.data;

  /** Sends an order and reloads the page while the request is in progress. Returns the key. */
  async function left(content, fault = "delay=1000") {
    await shop.start("order:1", target, request(content, fault));
    await shop.waitForEvent("attempt");
    const [{ key }] = await shop.events("attempt");
    await eventually(async () => assert.equal(await keyState(key), "in_progress"));
    await shop.reload();
    return key;
  }

  test("faults 54, 70: after a reload during a request, the intent is pending, and the same key gets the response", async () => {
    const content = order();
    const key = await left(content);
    const [{ intent, state, attempts, ...found }] = await shop.call("pending");
    assert.deepEqual([intent, state, attempts, found.key], ["order:1", "sending", 1, key]);
    const end = await shop.send("order:1", target, request(content));
    assert.equal(end.status, 201, end.message);
    assert.deepEqual(JSON.parse(end.text).data, await stored(content));
    assert.ok((await shop.events("attempt")).every((event) => event.key === key));
    assert.deepEqual([await executions(call, key), await shop.call("pending")], [1, []]);
  });

  test("can resolve the request without sending it again", async () => {
    const key = await left(order());
    const { state, httpStatus, ...found } = await shop.call("resolve", "order:1");
    assert.deepEqual([state, httpStatus, found.key], ["succeeded", 201, key]);
    assert.equal(await executions(call, key), 1);
    const events = await shop.events();
    assert.deepEqual([events.at(-1).type, events.filter(({ type }) => type === "attempt")], ["settled", []]);
  });

  test("fault 55: after a reload, a changed amount is not sent if the old request has succeeded", async () => {
    const content = order();
    const key = await left(content);
    const end = await shop.send("order:1", target, request({ ...content, amount: 1 }));
    assert.deepEqual([end.error, end.outcome, end.key], ["PayloadChangedError", "succeeded", key]);
    assert.deepEqual([await executions(call, key), (await stored(content)).amount], [1, content.amount]);
  });

  test("fault 55: after a reload, a changed amount voids the key of a request that never arrived", async () => {
    const content = order();
    await context.route(target, (route) => route.abort("connectionreset"));
    const { error, key } = await shop.send("order:1", target, request(content));
    assert.equal(error, "OutcomeUnknownError");
    await context.unroute(target);
    await shop.reload();
    assert.equal((await shop.send("order:1", target, request({ ...content, amount: 1 }))).status, 201);
    const [sent] = await shop.events("attempt");
    assert.notEqual(sent.key, key);
    assert.equal((await shop.events("keyrotated"))[0].key, sent.key);
    assert.deepEqual([await keyState(key), await executions(call, key)], ["voided", 0]);
    assert.deepEqual([await keyState(sent.key), await executions(call, sent.key)], ["completed", 1]);
    // The old request is not executed if it arrives later.
    assert.equal((await call("POST", "/v1/orders", { key, body: content })).json.type, "idempotency_key_voided");
    assert.equal((await stored(content)).amount, 1);
  });

  test("fault 55: after a reload without key calls, a changed amount is not sent", async () => {
    const content = order();
    await shop.go(site.url + page({ keyUrl: null }));
    await left(content);
    const end = await shop.send("order:1", target, request({ ...content, amount: 1 }));
    assert.deepEqual([end.error, end.outcome], ["PayloadChangedError", "unknown"]);
    assert.deepEqual(await shop.events("attempt"), []);
    // The same amount is sent.
    assert.equal((await shop.send("order:1", target, request(content))).status, 201);
    assert.equal((await stored(content)).amount, content.amount);
  });

  for (const [fault, count] of [["error-after", 1], ["error-before", 0]]) {
    test(`fault 60: ${fault} leaves the outcome unknown, and the same key then leads to one execution`, async () => {
      const content = order();
      const end = await shop.send("order:1", target, request(content, fault));
      assert.deepEqual([end.error, end.status, end.attempts], ["OutcomeUnknownError", 500, 2]);
      assert.equal(await executions(call, end.key), count);
      await shop.reload();
      assert.equal((await shop.call("resolve", "order:1")).state, "unknown");
      assert.equal((await shop.send("order:1", target, request(content))).status, 201);
      assert.equal(await executions(call, end.key), 1);
      assert.ok((await shop.events("attempt")).every(({ key }) => key === end.key));
    });
  }

  test("can give up an intent only if nothing was executed", async () => {
    const first = await left(order());
    await context.route(target, (route) => route.abort());
    const { key } = await shop.send("order:2", target, request(order()));
    await context.unroute(target);
    assert.equal((await shop.call("abandon", "order:2")).state, "voided");
    assert.deepEqual([await keyState(key), await executions(call, key)], ["voided", 0]);
    assert.equal((await shop.call("abandon", "order:1")).state, "succeeded");
    assert.equal(await executions(call, first), 1);
    assert.deepEqual(await shop.call("pending"), []);
  });
});
