// The ledger: double entry, append-only, and its sum is always 0.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { GOOD_CARD, balance, entries, found, inside, made, merchant, order, ordered, paid, pay, refund, refused } from "../fixtures/merchant.mjs";
import { startWorker } from "../fixtures/support.mjs";

/** Returns a generator of random numbers that depends only on its seed (mulberry32). */
function randomOf(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  return { below: (limit) => next() % limit, one: (list) => list[next() % list.length] };
}

describe("the ledger", () => {
  let worker;
  // The gateway has no business keys here, so that every request reaches the sandbox.
  before(async () => (worker = await startWorker({ wrapper: "merchants.mjs", vars: { BUSINESS_KEYS: "none" } })));
  after(() => worker.dispose());

  test("fault 39: the ledger adds up after any operations in any order with any faults", async () => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));
    const random = randomOf(seed);
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { evict } = inside(worker, apiKey);
    /** The orders that the responses describe: out_trade_no -> {id, amount, paid, refunds: number -> amount}. */
    const orders = Array.from({ length: 6 }, () => ({ body: order({ amount: 1 + random.below(5000), currency: random.one(["USD", "EUR"]) }) }));
    for (const one of orders) one.id = made(await call("POST", "/v1/orders", { body: one.body })).id;
    const refundNos = Array.from({ length: 12 }, () => `R_${randomUUID()}`);
    const seen = [];
    let watching = true;
    const watch = (async () => {
      while (watching) {
        const response = await call("GET", "/v1/ledger/balance");
        // Calls without a response are lost when their object is evicted.
        if (response.status !== 503) seen.push(found(response).sum);
      }
    })();
    const operation = async () => {
      const one = random.one(orders);
      const fault = random.one([undefined, undefined, "error-before", "error-after", "delay=20", "delay-after=20"]);
      const key = random.one([undefined, randomUUID()]);
      const send = random.below(2)
        ? (fault) => pay(call, one.id, { key, fault, number: random.one([GOOD_CARD, "4000000000000002", "4000000000005001"]) })
        : (fault) => refund(call, { out_refund_no: random.one(refundNos), order_id: one.id, amount: 1 + random.below(one.body.amount) }, { key, fault });
      const response = await send(fault);
      assert.ok([201, 400, 402, 500].includes(response.status), `seed ${seed}: ${response.text}`);
    };
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 8 }, operation));
      if (round % 5 === 4) await evict();
    }
    watching = false;
    await watch;
    assert.deepEqual(new Set(seen), new Set([0]), `seed ${seed}: the sum is always 0`);

    const all = await entries(call, "limit=3");
    const expected = { cash: 0, sales: 0, refunds: 0 };
    for (const one of orders) {
      const { amount_paid, amount_refunded, status } = found(await call("GET", `/v1/orders/${one.id}`));
      assert.ok([0, one.body.amount].includes(amount_paid) && amount_refunded <= amount_paid, `seed ${seed}`);
      const state = amount_paid === 0 ? "pending" : amount_refunded === 0 ? "paid" : amount_refunded < amount_paid ? "partially_refunded" : "refunded";
      assert.equal(status, state, `seed ${seed}`);
      const mine = await entries(call, `order_id=${one.id}`);
      assert.deepEqual(mine, all.filter(({ order_id }) => order_id === one.id), `seed ${seed}`);
      const of = (account) => mine.filter((entry) => entry.account === account).reduce((sum, { amount }) => sum + amount, 0);
      assert.deepEqual([of("cash"), of("sales"), of("refunds")].map((sum) => sum + 0), [amount_paid - amount_refunded, -amount_paid, amount_refunded].map((sum) => sum + 0), `seed ${seed}`);
      expected.cash += amount_paid - amount_refunded;
      expected.sales -= amount_paid;
      expected.refunds += amount_refunded;
    }
    const operations = Map.groupBy(all, ({ operation }) => operation);
    for (const pair of operations.values()) {
      assert.equal(pair.length, 2, `seed ${seed}: each operation has one pair of entries`);
      assert.equal(pair[0].amount + pair[1].amount, 0, `seed ${seed}`);
    }
    const { accounts, sum } = await balance(call);
    assert.equal(sum, 0);
    for (const [account, total] of Object.entries(expected)) {
      const shown = accounts.filter((one) => one.account === account).reduce((sum, { balance }) => sum + balance, 0);
      assert.equal(shown + 0, total + 0, `seed ${seed}: ${account}`);
    }
  });

  test("entries cannot be changed or deleted, and are always written in pairs", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { sql } = inside(worker, apiKey);
    await paid(call);
    const written = await sql("SELECT * FROM ledger");
    assert.equal(written.length, 1);
    const [{ id, operation }] = written;
    const row = (more) => ({ operation: "pay_x", order_id: "ord_x", amount: 1, currency: "USD", debit: "cash", credit: "sales", created_at: 0, ...more });
    const insert = (verb, row) => sql(`${verb} INTO ledger (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => "?")})`, ...Object.values(row));
    for (const statement of [
      "UPDATE ledger SET amount = 1",
      "UPDATE ledger SET operation = 'x'",
      "UPDATE OR REPLACE ledger SET created_at = 0",
      "DELETE FROM ledger",
      "DELETE FROM ledger WHERE id = 1",
    ]) {
      await assert.rejects(sql(statement), /append-only/, statement);
    }
    for (const verb of ["INSERT", "REPLACE", "INSERT OR REPLACE", "INSERT OR IGNORE"]) {
      await assert.rejects(insert(verb, row({ operation })), /append-only/, `${verb}: a second pair of an operation`);
      await assert.rejects(insert(verb, row({ id })), /append-only/, `${verb}: another pair in its place`);
    }
    for (const wrong of [{ amount: 0 }, { amount: -1 }, { amount: 100_000_000_000 }, { amount: 1.5 }, { amount: null }, { debit: null }, { credit: null }, { credit: "cash" }, { currency: null }, { operation: null }]) {
      await assert.rejects(insert("INSERT", row(wrong)), /constraint|datatype|cannot store/i, JSON.stringify(wrong));
    }
    assert.deepEqual(await sql("SELECT * FROM ledger"), written);
    assert.equal((await balance(call)).sum, 0);
  });

  test("an operation is stored completely or not at all", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { sql } = inside(worker, apiKey);
    const bought = await paid(call);
    made(await call("POST", "/v1/webhook_endpoints", { body: { url: "https://hooks.example/" } }));
    const tables = ["payments", "refunds", "ledger", "events", "deliveries", "executions"];
    const count = async () => Promise.all(tables.map(async (table) => (await sql(`SELECT COUNT(*) AS count FROM ${table}`))[0].count));
    const order = await ordered(call);
    for (const table of ["payments", "ledger", "events", "deliveries", "executions"]) {
      await sql(`CREATE TRIGGER broken BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'broken'); END`);
      const before = await count();
      const key = randomUUID();
      refused(await pay(call, order.id, { key }), 500, undefined, "api_error");
      if (table !== "payments") refused(await refund(call, { order_id: bought.id, amount: 1 }), 500, undefined, "api_error");
      assert.deepEqual(await count(), before, table);
      assert.equal(found(await call("GET", `/v1/orders/${order.id}`)).status, "pending");
      assert.deepEqual(found(await call("GET", `/v1/orders/${bought.id}`)), bought);
      await sql("DROP TRIGGER broken");
    }
    made(await pay(call, order.id));
  });

  test("entries are listed in pages of whole pairs", async () => {
    const call = merchant(worker);
    for (let count = 0; count < 5; count++) await paid(call, { amount: 100 + count });
    const all = await entries(call);
    assert.deepEqual(all.map(({ amount }) => amount), [100, -100, 101, -101, 102, -102, 103, -103, 104, -104]);
    assert.equal(new Set(all.map(({ id }) => id)).size, 10);
    for (const limit of [1, 2, 4, 5, 100]) assert.deepEqual(await entries(call, `limit=${limit}`), all);
    const first = await call("GET", "/v1/ledger/entries?limit=2");
    assert.deepEqual([first.json.data, typeof first.json.next_cursor], [all.slice(0, 4), "string"]);
    await paid(call, { amount: 105 });
    const second = await call("GET", `/v1/ledger/entries?limit=2&cursor=${first.json.next_cursor}`);
    assert.deepEqual(second.json.data, all.slice(4, 8), "new entries do not move the following pages");
    const last = await call("GET", `/v1/ledger/entries?limit=3&cursor=3`);
    assert.deepEqual([last.json.data.length, last.json.next_cursor], [6, null]);
    for (const [query, param] of [["limit=0", "limit"], ["limit=101", "limit"], ["limit=a", "limit"], ["limit=01", "limit"], ["cursor=", "cursor"], ["cursor=0", "cursor"], ["cursor=x", "cursor"], ["order_id=x", "order_id"], ["order=x", "order"]]) {
      refused(await call("GET", `/v1/ledger/entries?${query}`), 400, param);
    }
    assert.deepEqual(await entries(call, `order_id=ord_${"0".repeat(32)}`), []);
    for (const path of ["entries", "balance"]) refused(await call("POST", `/v1/ledger/${path}`), 405);
    refused(await call("GET", "/v1/ledger"), 404);
  });

  test("currencies do not mix, and the largest amounts add up exactly", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, apiKey);
    const { sql } = inside(worker, apiKey);
    await paid(call, { amount: 99_999_999_999, currency: "EUR" });
    await paid(call, { amount: 1, currency: "JPY" });
    const { accounts } = await balance(call);
    assert.deepEqual(accounts.filter(({ account }) => account === "cash"), [
      { account: "cash", currency: "EUR", balance: 99_999_999_999 },
      { account: "cash", currency: "JPY", balance: 1 },
    ]);
    // The sum is far beyond the integers that a double can represent exactly.
    const many = 200_000;
    await sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${many})
      INSERT INTO ledger (operation, order_id, amount, currency, debit, credit, created_at)
      SELECT 'test_' || i, 'ord_x', 99999999999, 'EUR', 'cash', 'sales', 0 FROM n`);
    const { text } = await call("GET", "/v1/ledger/balance");
    const total = 99_999_999_999n * BigInt(many + 1);
    assert.ok(total > 2n ** 53n);
    assert.ok(text.includes(`{"account":"cash","currency":"EUR","balance":${total}}`), text);
    assert.ok(text.includes(`{"account":"sales","currency":"EUR","balance":-${total}}`), text);
    assert.ok(text.includes('"sum":0'), text);
  });
});
