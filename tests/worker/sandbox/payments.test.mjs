// Payments of the sandbox: each order is paid once, whatever the keys; and the test cards.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { GOOD_CARD, balance, entries, executions, found, inside, made, merchant, ordered, paid, pay, refused } from "../fixtures/merchant.mjs";
import { eventually, startWorker } from "../fixtures/support.mjs";

const DECLINED = { 4000000000000002: "card_declined", 4000000000009995: "insufficient_funds", 4000000000000069: "expired_card", 4000000000000127: "incorrect_cvc", 4000000000000119: "processing_error" };
const RESPONSE_LOST = "4000000000005001";
const SLOW = "4000000000003006";

function declined(response, code) {
  assert.deepEqual([response.status, response.json.type, response.json.code], [402, "card_error", code], response.text);
  assert.equal(response.json.request_id, response.headers.get("X-Request-Id"));
  return response.json.message.match(/pay_[0-9a-f]{32}/)[0];
}

describe("payments", () => {
  let worker;
  before(async () => (worker = await startWorker({ wrapper: "merchants.mjs" })));
  after(() => worker.dispose());

  test("a payment takes the order's amount and makes the order paid", async () => {
    const call = merchant(worker);
    const order = await ordered(call);
    assert.deepEqual([order.status, order.amount_paid, order.amount_refunded], ["pending", 0, 0]);
    const key = randomUUID();
    const payment = made(await pay(call, order.id, { key }));
    assert.match(payment.id, /^pay_[0-9a-f]{32}$/);
    const { id, created_at, ...rest } = payment;
    assert.deepEqual(rest, {
      object: "payment",
      order_id: order.id,
      amount: order.amount,
      currency: order.currency,
      status: "succeeded",
      failure_code: null,
      card: { brand: "visa", last4: "4242" },
    });
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
    assert.deepEqual(found(await call("GET", `/v1/payments/${id}`)), payment);
    assert.deepEqual(found(await call("GET", `/v1/payments?order_id=${order.id}`)), [payment]);
    const now = found(await call("GET", `/v1/orders/${order.id}`));
    assert.deepEqual([now.status, now.amount_paid, now.amount_refunded], ["paid", order.amount, 0]);
    assert.equal(await executions(call, key), 1);
    const pair = await entries(call, `order_id=${order.id}`);
    assert.deepEqual(
      pair.map(({ account, amount, operation }) => [account, amount, operation]),
      [
        ["cash", order.amount, id],
        ["sales", -order.amount, id],
      ],
    );
  });

  test("an order is paid once, whatever the keys and cards", async () => {
    const call = merchant(worker);
    const order = await ordered(call);
    const payment = made(await pay(call, order.id, { key: randomUUID() }));
    for (const more of [{}, { key: randomUUID() }, { key: randomUUID(), number: "5555555555554444" }, { number: "4000000000000002" }]) {
      const second = await pay(call, order.id, more);
      refused(second, 400, "order_id");
      assert.equal(second.json.code, "order_already_paid");
      assert.ok(second.json.message.includes(payment.id), second.json.message);
      if (more.key) assert.equal(await executions(call, more.key), 0);
    }
    assert.deepEqual(found(await call("GET", `/v1/payments?order_id=${order.id}`)), [payment]);
    assert.equal((await entries(call, `order_id=${order.id}`)).length, 2);
  });

  test("of fifty keys that pay one order at once, one succeeds", async () => {
    const call = merchant(worker);
    const order = await ordered(call);
    const keys = Array.from({ length: 50 }, () => randomUUID());
    const responses = await Promise.all(keys.map((key) => pay(call, order.id, { key })));
    const won = responses.filter(({ status }) => status === 201);
    assert.equal(won.length, 1);
    for (const response of responses) {
      if (response === won[0]) continue;
      refused(response, 400, "order_id");
      assert.ok(response.json.message.includes(won[0].json.data.id));
    }
    const counts = await Promise.all(keys.map((key) => executions(call, key)));
    assert.equal(counts.reduce((sum, count) => sum + count), 1);
    assert.equal((await entries(call)).length, 2);
  });

  test("each test card has its documented result", async () => {
    const call = merchant(worker);
    for (const [number, brand, last4] of [
      [GOOD_CARD, "visa", "4242"],
      ["5555 5555 5555 4444", "mastercard", "4444"],
      ["3782-822463-10005", "amex", "0005"],
    ]) {
      const { id } = await ordered(call);
      assert.deepEqual(made(await pay(call, id, { number })).card, { brand, last4 });
    }
    for (const [number, code] of Object.entries(DECLINED)) {
      const { id } = await ordered(call);
      const payment = found(await call("GET", `/v1/payments/${declined(await pay(call, id, { number }), code)}`));
      assert.deepEqual([payment.status, payment.failure_code, payment.card.last4], ["failed", code, number.slice(-4)]);
      assert.deepEqual(await entries(call, `order_id=${id}`), []);
      assert.equal(found(await call("GET", `/v1/orders/${id}`)).status, "pending");
    }
  });

  test("a decline is final for its key, and another card pays the order", async () => {
    const call = merchant(worker);
    const { id } = await ordered(call);
    const key = randomUUID();
    const first = await pay(call, id, { key, number: "4000000000000002" });
    const second = await pay(call, id, { key, number: "4000000000000002" });
    assert.equal(declined(first, "card_declined"), declined(second, "card_declined"));
    assert.deepEqual([second.text, second.headers.get("Idempotent-Replayed")], [first.text, "true"]);
    assert.equal(await executions(call, key), 1);
    declined(await pay(call, id, { number: "4000000000009995" }), "insufficient_funds");
    made(await pay(call, id, { key: randomUUID() }));
    const tries = found(await call("GET", `/v1/payments?order_id=${id}`));
    assert.deepEqual(tries.map(({ status }) => status), ["failed", "failed", "succeeded"]);
    const [one, ...others] = [await call("GET", `/v1/payments?order_id=${id}&limit=1`)];
    assert.deepEqual([one.json.data, others.length], [[tries[0]], 0]);
    const rest = await call("GET", `/v1/payments?order_id=${id}&limit=2&cursor=${one.json.next_cursor}`);
    assert.deepEqual([rest.json.data, rest.json.next_cursor], [tries.slice(1), null]);
  });

  test("fault 39: after a lost response, the retry gets the payment of its key, and nothing is paid twice", async () => {
    const call = merchant(worker);
    for (const how of [{ number: RESPONSE_LOST }, { number: GOOD_CARD, fault: "error-after" }, { number: GOOD_CARD, fault: "error-before" }]) {
      const { id } = await ordered(call);
      const key = randomUUID();
      refused(await pay(call, id, { key, ...how }), 500, undefined, "api_error");
      assert.equal(found(await call("GET", `/v1/orders/${id}`)).status, how.fault === "error-before" ? "pending" : "paid");
      const again = made(await pay(call, id, { key, number: how.number }));
      assert.equal(again.status, "succeeded");
      assert.equal(await executions(call, key), 1);
      assert.equal((await entries(call, `order_id=${id}`)).length, 2);
    }
    const { id } = await ordered(call);
    const key = randomUUID();
    refused(await pay(call, id, { key, number: "4000000000000002", fault: "error-after" }), 500, undefined, "api_error");
    declined(await pay(call, id, { key, number: "4000000000000002" }), "card_declined");
    assert.equal(found(await call("GET", `/v1/payments?order_id=${id}`)).length, 1);
    assert.equal((await balance(call)).sum, 0);
  });

  test("a slow card pays before its response is sent", async () => {
    const call = merchant(worker);
    const { id } = await ordered(call);
    const begun = performance.now();
    const slow = pay(call, id, { number: SLOW, key: randomUUID() });
    await eventually(async () => assert.equal(found(await call("GET", `/v1/orders/${id}`)).status, "paid"));
    refused(await pay(call, id, { key: randomUUID() }), 400, "order_id");
    made(await slow);
    assert.ok(performance.now() - begun >= 2900);
  });

  test("Sandbox-Fault causes the requested fault", async () => {
    const call = merchant(worker);
    for (const fault of ["delay=4000", "delay-after=4000"]) {
      const { id } = await ordered(call);
      const begun = performance.now();
      let isDone = false;
      const paying = pay(call, id, { fault }).finally(() => (isDone = true));
      const status = async () => found(await call("GET", `/v1/orders/${id}`)).status;
      if (fault === "delay=4000") assert.equal(await status(), "pending");
      else await eventually(async () => assert.equal(await status(), "paid"));
      assert.equal(isDone, false, fault);
      made(await paying);
      assert.ok(performance.now() - begun >= 3990);
    }
  });

  test("a key that paid one order cannot pay another, even after the gateway has forgotten the key", async () => {
    const short = await startWorker({ vars: { RETENTION_SECONDS: "1" } });
    try {
      const call = merchant(short);
      const [one, other] = [await ordered(call), await ordered(call)];
      const key = randomUUID();
      const first = made(await pay(call, one.id, { key }));
      await new Promise((resolve) => setTimeout(resolve, 1500));
      const again = await pay(call, one.id, { key });
      assert.deepEqual([made(again), again.headers.get("Idempotent-Replayed")], [first, null]);
      await new Promise((resolve) => setTimeout(resolve, 1500));
      refused(await pay(call, other.id, { key }), 400, "Idempotency-Key", "idempotency_error");
      assert.equal(await executions(call, key), 1);
    } finally {
      await short.dispose();
    }
  });

  test("an invalid field of a payment is refused by name, and nothing is stored", async () => {
    const call = merchant(worker);
    const { id } = await ordered(call);
    const number = GOOD_CARD;
    for (const [body, param] of [
      [{}, "order_id"],
      [{ order_id: id }, "card"],
      [{ card: { number } }, "order_id"],
      [{ order_id: "ord_x", card: { number } }, "order_id"],
      [{ order_id: 1, card: { number } }, "order_id"],
      [{ order_id: `ord_${"0".repeat(32)}`, card: { number } }, "order_id"],
      [{ order_id: id, card: { number }, amount: 1 }, "amount"],
      [{ order_id: id, "card[number]": number }, "card[number]"],
      ...[null, 1, "", number, [], {}, { number: 4242424242424242 }, { number: "" }, { number: "4111111111111111" }, { number: "4242424242424243" }, { number: null }, { number, pin: "1" }, { number, cvc: {} }, { number, cvc: [] }].map((card) => [{ order_id: id, card }, "card"]),
    ]) {
      const key = randomUUID();
      const response = await call("POST", "/v1/payments", { body, key });
      refused(response, 400, param);
      assert.equal(await executions(call, key), 0);
      const { message } = response.json;
      assert.doesNotMatch(message.replace("such as 4242424242424242", ""), /\d{13}/, "the error contains no card number");
    }
    const twice = `{"order_id":"${id}","card":{"number":"${number}","number":"${number}"}}`;
    refused(await call("POST", "/v1/payments", { body: twice }), 400, "card");
    assert.deepEqual(found(await call("GET", `/v1/payments?order_id=${id}`)), []);
    const whole = { number, exp_month: 12, exp_year: "2030", cvc: "123", name: "A. Buyer" };
    made(await call("POST", "/v1/payments", { body: { order_id: id, card: whole } }));
    for (const [path, status, param] of [
      ["/v1/payments/pay_x", 404],
      [`/v1/payments/pay_${"0".repeat(32)}`, 404],
      [`/v1/payments/${id}`, 404],
      ["/v1/payments", 400, "order_id"],
      ["/v1/payments?order_id=x", 400, "order_id"],
      [`/v1/payments?order_id=${id}&limit=0`, 400, "limit"],
      [`/v1/payments?order_id=${id}&limit=101`, 400, "limit"],
      [`/v1/payments?order_id=${id}&cursor=-1`, 400, "cursor"],
      [`/v1/payments?order_id=${id}&cursor=99999999999999999999`, 400, "cursor"],
    ]) {
      refused(await call("GET", path), status, param);
    }
  });

  test("a form can pay an order", async () => {
    const call = merchant(worker);
    const { id } = await ordered(call);
    const type = "application/x-www-form-urlencoded";
    const form = (fields) => ({ body: new URLSearchParams({ order_id: id, ...fields }).toString(), type });
    refused(await call("POST", "/v1/payments", form({ card: GOOD_CARD })), 400, "card");
    refused(await call("POST", "/v1/payments", form({ "card[number]": "4111111111111111" })), 400, "card[number]");
    assert.equal(made(await call("POST", "/v1/payments", form({ "card[number]": "4242 4242 4242 4242", "card[cvc]": "123" }))).card.last4, "4242");
  });

  test("no complete card number is stored or logged", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { sql } = inside(worker, apiKey);
    await paid(call);
    const { id } = await ordered(call);
    declined(await pay(call, id, { number: "4000000000000002", key: randomUUID() }), "card_declined");
    refused(await pay(call, id, { number: "4111111111111111" }), 400, "card");
    const tables = await sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB '_cf_*'");
    for (const { name } of tables) {
      assert.doesNotMatch(JSON.stringify(await sql(`SELECT * FROM ${name}`)), /4242424242424242|4000000000000002|4111111111111111/, name);
    }
    assert.doesNotMatch(JSON.stringify(worker.logs), /4242424242424242|4000000000000002|4111111111111111/);
  });

  test("fault 23: merchants with the same key and order share nothing", async () => {
    const [one, other] = [merchant(worker), merchant(worker)];
    const order = await paid(one);
    refused(await pay(other, order.id), 400, "order_id");
    const [payment] = found(await one("GET", `/v1/payments?order_id=${order.id}`));
    refused(await other("GET", `/v1/payments/${payment.id}`), 404);
    assert.deepEqual(found(await other("GET", `/v1/payments?order_id=${order.id}`)), []);
    assert.deepEqual(await balance(other), { accounts: [], sum: 0 });
  });
});
