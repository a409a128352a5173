// Refunds of the sandbox: each has a permanent business key, and their sum is never more than was paid.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { balance, entries, executions, found, inside, made, merchant, ordered, paid, refund, refused } from "../fixtures/merchant.mjs";
import { startWorker } from "../fixtures/support.mjs";

describe("refunds", () => {
  let worker;
  // The gateway has no business keys here, so that the sandbox's own are tested.
  before(async () => (worker = await startWorker({ wrapper: "merchants.mjs", vars: { BUSINESS_KEYS: "none" } })));
  after(() => worker.dispose());

  test("several refunds can return the amount in parts", async () => {
    const call = merchant(worker);
    const order = await paid(call);
    const key = randomUUID();
    const out_refund_no = `R_${randomUUID()}`;
    const first = made(await refund(call, { out_refund_no, order_id: order.id, amount: 1000 }, { key }));
    assert.match(first.id, /^rfd_[0-9a-f]{32}$/);
    const { id, created_at, ...rest } = first;
    assert.ok(Date.parse(created_at));
    assert.deepEqual(rest, { object: "refund", out_refund_no, order_id: order.id, amount: 1000, currency: "USD", status: "succeeded" });
    assert.deepEqual(found(await call("GET", `/v1/refunds/${id}`)), first);
    assert.deepEqual(found(await call("GET", `/v1/refunds?out_refund_no=${out_refund_no}`)), first);
    assert.equal(await executions(call, key), 1);
    const state = async () => {
      const { status, amount_paid, amount_refunded } = found(await call("GET", `/v1/orders/${order.id}`));
      return [status, amount_paid, amount_refunded];
    };
    assert.deepEqual(await state(), ["partially_refunded", 2990, 1000]);
    made(await refund(call, { out_trade_no: order.out_trade_no, amount: 1990 }));
    assert.deepEqual(await state(), ["refunded", 2990, 2990]);
    refused(await refund(call, { order_id: order.id, amount: 1 }), 400, "amount");
    const shown = (await entries(call, `order_id=${order.id}`)).map(({ account, amount }) => [account, amount]);
    const pair = (debit, credit, amount) => [[debit, amount], [credit, -amount]];
    assert.deepEqual(shown, [...pair("cash", "sales", 2990), ...pair("refunds", "cash", 1000), ...pair("refunds", "cash", 1990)]);
    assert.deepEqual(await balance(call), {
      accounts: [
        { account: "cash", currency: "USD", balance: 0 },
        { account: "refunds", currency: "USD", balance: 2990 },
        { account: "sales", currency: "USD", balance: -2990 },
      ],
      sum: 0,
    });
  });

  test("fault 40: a business key refunds once, with any idempotency key and at any time; other content is refused by name", async () => {
    const call = merchant(worker);
    const [order, other] = [await paid(call), await paid(call)];
    const body = { out_refund_no: `R_${randomUUID()}`, order_id: order.id, amount: 2990 };
    const first = made(await refund(call, body, { key: randomUUID() }));
    const { order_id: _, ...rest } = body;
    for (const [again, more] of [
      [body, {}],
      [body, { key: randomUUID() }],
      [{ ...rest, out_trade_no: order.out_trade_no }, { key: randomUUID() }],
    ]) {
      const response = await call("POST", "/v1/refunds", { body: again, ...more });
      assert.deepEqual(made(response), first, "also if nothing is left to refund");
    }
    for (const change of [{ amount: 1000 }, { amount: 99_999 }, { order_id: other.id }, { order_id: `ord_${"0".repeat(32)}` }]) {
      for (const key of [undefined, randomUUID()]) {
        const response = await refund(call, { ...body, ...change }, { key });
        refused(response, 400, "out_refund_no", "idempotency_error");
        assert.ok(response.json.message.includes(body.out_refund_no));
      }
    }
    assert.equal((await entries(call, `order_id=${order.id}`)).length, 4);
    assert.equal((await entries(call, `order_id=${other.id}`)).length, 2);
  });

  test("a refused request does not use up its business key", async () => {
    const call = merchant(worker);
    const order = await paid(call);
    const out_refund_no = `R_${randomUUID()}`;
    const key = randomUUID();
    const over = await refund(call, { out_refund_no, order_id: order.id, amount: 2991 }, { key });
    refused(over, 400, "amount");
    assert.ok(over.json.message.includes("2990"), "the error contains the amount that is left");
    assert.equal(await executions(call, key), 0);
    made(await refund(call, { out_refund_no, order_id: order.id, amount: 2990 }, { key: randomUUID() }));
  });

  test("an unpaid order cannot be refunded", async () => {
    const call = merchant(worker);
    const order = await ordered(call);
    refused(await refund(call, { order_id: order.id, amount: 1 }), 400, "order_id");
    refused(await refund(call, { out_trade_no: order.out_trade_no, amount: 1 }), 400, "out_trade_no");
    refused(await refund(call, { order_id: `ord_${"0".repeat(32)}`, amount: 1 }), 400, "order_id");
    refused(await refund(call, { out_trade_no: "nobody", amount: 1 }), 400, "out_trade_no");
    assert.deepEqual(await entries(call), []);
  });

  test("twenty refunds at once never return more than was paid", async () => {
    const call = merchant(worker);
    const order = await paid(call);
    const responses = await Promise.all(Array.from({ length: 20 }, () => refund(call, { order_id: order.id, amount: 1000 }, { key: randomUUID() })));
    assert.equal(responses.filter(({ status }) => status === 201).length, 2);
    for (const response of responses) if (response.status !== 201) refused(response, 400, "amount");
    const body = { out_refund_no: `R_${randomUUID()}`, order_id: order.id, amount: 990 };
    const same = await Promise.all(Array.from({ length: 20 }, () => refund(call, body, { key: randomUUID() })));
    assert.equal(new Set(same.map((response) => made(response).id)).size, 1);
    assert.equal(found(await call("GET", `/v1/orders/${order.id}`)).status, "refunded");
    assert.equal((await balance(call)).sum, 0);
  });

  test("fault 39: a refund whose response is lost is executed once", async () => {
    const call = merchant(worker);
    const order = await paid(call);
    for (const fault of ["error-before", "error-after"]) {
      const key = randomUUID();
      const body = { out_refund_no: `R_${randomUUID()}`, order_id: order.id, amount: 100 };
      refused(await refund(call, body, { key, fault }), 500, undefined, "api_error");
      made(await refund(call, body, { key }));
      assert.equal(await executions(call, key), 1);
    }
    assert.equal(found(await call("GET", `/v1/orders/${order.id}`)).amount_refunded, 200);
    assert.equal((await entries(call, `order_id=${order.id}`)).length, 6, "the payment and each refund have one pair of entries");
  });

  test("an invalid field of a refund is refused by name", async () => {
    const call = merchant(worker);
    const { id, out_trade_no } = await paid(call);
    for (const [change, param] of [
      [{ out_refund_no: "" }, "out_refund_no"],
      [{ out_refund_no: "a b" }, "out_refund_no"],
      [{ out_refund_no: "a".repeat(65) }, "out_refund_no"],
      [{ out_refund_no: 7 }, "out_refund_no"],
      [{ out_refund_no: undefined }, "out_refund_no"],
      [{ amount: 0 }, "amount"],
      [{ amount: -1 }, "amount"],
      [{ amount: 1.5 }, "amount"],
      [{ amount: "1" }, "amount"],
      [{ amount: 100_000_000_000 }, "amount"],
      [{ amount: undefined }, "amount"],
      [{ order_id: undefined }, "order_id"],
      [{ order_id: null }, "order_id"],
      [{ order_id: "x" }, "order_id"],
      [{ out_trade_no }, "order_id"],
      [{ reason: "x" }, "reason"],
    ]) {
      refused(await refund(call, { order_id: id, amount: 1, ...change }), 400, param);
    }
    refused(await call("GET", "/v1/refunds/rfd_x"), 404);
    refused(await call("GET", `/v1/refunds/rfd_${"0".repeat(32)}`), 404);
    refused(await call("GET", "/v1/refunds?out_refund_no=R_never"), 404);
    refused(await call("GET", "/v1/refunds"), 400, "out_refund_no");
  });

  test("the database refuses a refund that is too large", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { sql } = inside(worker, apiKey);
    const { id } = await paid(call);
    const insert = (amount, order) => sql("INSERT INTO refunds (id, out_refund_no, order_id, amount, currency, created_at) VALUES (?, ?, ?, ?, 'USD', 0)", `rfd_${randomUUID()}`, randomUUID(), order, amount);
    await assert.rejects(insert(2991, id), /more would be refunded/);
    await assert.rejects(insert(1, (await ordered(call)).id), /more would be refunded/);
    made(await refund(call, { order_id: id, amount: 2000 }));
    await assert.rejects(insert(991, id), /more would be refunded/);
    for (const statement of ["DELETE FROM refunds", "UPDATE refunds SET amount = 1", "DELETE FROM payments", "UPDATE payments SET failure = 'x'"]) {
      await assert.rejects(sql(statement), /permanent/, statement);
    }
    const second = "INSERT INTO payments (id, order_id, amount, currency, card_brand, card_last4, created_at) VALUES ('pay_2', ?, 1, 'USD', 'visa', '4242', 0)";
    await assert.rejects(sql(second, id), /UNIQUE/);
  });
});
