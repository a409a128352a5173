// Runs the programs of docs/guide/cookbook.md against the real Worker. tests/browser/cookbook.test.mjs runs the page.
import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { Program, unpack } from "../fixtures/guide.mjs";
import { merchant, paid } from "../fixtures/merchant.mjs";
import { apiKey, created, cut, eventually, inTurn, startGateway, startWorker } from "../fixtures/support.mjs";

const folder = unpack("docs/guide/cookbook.md", "cookbook");

describe("the webhook receiver", () => {
  const secret = "a2tra2tra2tra2tra2tra2tra2tra2tr";
  const event = JSON.stringify({ type: "payment.succeeded", data: { customer: "cus_1", credits: 100 } });
  let receiver, worker;
  before(async () => {
    receiver = await Program.start(folder, "receiver.mjs");
    worker = await startWorker({ upstream: receiver.url, vars: { WEBHOOK_SECRETS: `dodo:whsec_${secret}` } });
  });
  after(async () => {
    await receiver.kill();
    await worker.dispose();
  });

  const deliver = (id) => {
    const at = Math.floor(Date.now() / 1000);
    const signature = createHmac("sha256", Buffer.from(secret, "base64")).update(`${id}.${at}.${event}`).digest("base64");
    const headers = { "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": `v1,${signature}`, "Content-Type": "application/json" };
    return worker.fetch("/webhooks/dodo", { method: "POST", headers, body: event });
  };
  const credits = async () => (await receiver.rows("SELECT credits FROM credits WHERE customer = 'cus_1'"))[0]?.credits;

  test("gives the credits once, whoever repeats the event", async () => {
    assert.equal((await deliver("evt_1")).status, 204);
    assert.equal(await credits(), 100);
    const again = await deliver("evt_1");
    assert.deepEqual([again.status, again.headers.get("Idempotent-Replayed")], [200, "true"]);
    // As after a response that the gateway never got.
    const headers = { "Idempotency-Key": "evt_1" };
    assert.equal((await fetch(`${receiver.url}/webhooks/dodo`, { method: "POST", headers, body: event })).status, 204);
    assert.equal(await credits(), 100);
  });

  test("gets an event that came while it was down", async () => {
    await receiver.kill();
    assert.equal((await deliver("evt_2")).status, 502);
    await receiver.start();
    assert.equal((await deliver("evt_2")).status, 204);
    assert.equal(await credits(), 200);
  });
});

describe("the queue consumer", () => {
  let gateway, runtime;
  before(async () => {
    gateway = await startGateway({ vars: { UNKNOWN_OUTCOME: "retry" } });
    runtime = new Miniflare(
      convertV4MiniflareOptions({
        modules: [{ type: "ESModule", path: "orders.mjs", contents: readFileSync(join(folder, "orders.mjs"), "utf8") }],
        compatibilityDate: "2026-11-01",
        cf: false,
        bindings: { API: gateway.url, API_KEY: apiKey },
        queueProducers: { ORDERS: "orders" },
        queueConsumers: { orders: { maxBatchTimeout: 0, maxRetries: 20 } },
      }),
    );
    await runtime.ready;
  });
  after(async () => {
    await runtime.dispose();
    await gateway.dispose();
  });

  test("sends a message with the same key until there is a response, and once only", async () => {
    gateway.origin.route(inTurn(cut, 503, created), "/v1/orders");
    const url = await runtime.ready;
    const order = { out_trade_no: "ORDER_1", amount: 2990 };
    const queued = await fetch(url, { method: "POST", body: JSON.stringify(order) });
    assert.equal(queued.status, 202);
    const seen = await eventually(() => {
      const requests = gateway.origin.at("/v1/orders");
      assert.equal(requests.length, 3);
      return requests;
    });
    assert.equal(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size, 1);
    assert.deepEqual(seen.map(({ headers }) => headers["idempotency-attempt"]), ["1", "2", "3"]);
    for (const { body } of seen) assert.deepEqual(JSON.parse(body), order);

    // The queue delivers the message once more.
    const producer = await runtime.getQueueProducer("ORDERS");
    const key = seen[0].headers["idempotency-key"];
    const later = { key: randomUUID(), order: { out_trade_no: "ORDER_2", amount: 1 } };
    await producer.send({ key, order });
    await eventually(async () => assert.equal((await gateway.status(key)).state, "completed"));
    await producer.send(later);
    await eventually(async () => assert.equal((await gateway.status(later.key))?.state, "completed"));
    assert.equal(gateway.hits("/v1/orders"), 4);
  });
});

describe("the agent's tool call", () => {
  let refund;
  before(async () => ({ refund } = await import(join(folder, "refund.mjs"))));

  test("refunds an order once, whether the run is repeated or the model asks again", async () => {
    const worker = await startWorker();
    try {
      const key = `kuko_test_${randomUUID()}`;
      const call = merchant(worker, key);
      const { id: order_id } = await paid(call);
      const asked = { run: "run_1", api: worker.url, apiKey: key };
      const tool = (id, amount) => refund({ id, input: { order_id, amount } }, asked);

      const first = JSON.parse((await tool("call_1", 1000)).content);
      for (const id of ["call_1", "call_2"]) assert.deepEqual(JSON.parse((await tool(id, 1000)).content), first, id);
      const other = await tool("call_3", 500);
      assert.equal(other.is_error, true);
      assert.match(other.content, /out_refund_no .* was already used with different content.*Do not call this tool again/);
      const order = await call("GET", `/v1/orders/${order_id}`);
      assert.equal(order.json.data.amount_refunded, 1000);
    } finally {
      await worker.dispose();
    }
  });

  test("tries again with the same key, and reports what is on hold", async () => {
    for (const [outcome, attempts] of [
      ["retry", 2],
      ["hold", 1],
    ]) {
      const gateway = await startGateway({ vars: { UNKNOWN_OUTCOME: outcome } });
      try {
        gateway.origin.route(inTurn(cut, created), "/v1/refunds");
        const asked = { run: "run_1", api: gateway.url, apiKey };
        const result = await refund({ id: "call_1", input: { order_id: "ord_1", amount: 1 } }, asked);
        assert.equal(result.is_error, outcome === "hold" ? true : undefined, result.content);
        const seen = gateway.origin.at("/v1/refunds").map(({ headers }) => headers["idempotency-key"]);
        assert.deepEqual(seen, Array(attempts).fill("run_1:call_1"));
      } finally {
        await gateway.dispose();
      }
    }
  });
});
