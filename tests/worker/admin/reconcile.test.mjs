// Reconciliation: compares the objects of the sandbox with the journal of their keys.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { GOOD_CARD, balance, entries, inside, merchant, ordered, paid, pay, refund } from "../fixtures/merchant.mjs";
import { Gateway, newKey, recordName, startGateway, startWorker } from "../fixtures/support.mjs";

const TOKEN = "admin-token-0123456789";
const headers = { Authorization: `Bearer ${TOKEN}` };
const vars = { ADMIN_TOKEN: TOKEN };
const noOrigin = { close: async () => {} };

/** Returns one page of the reconciliation. */
const page = async (call, query = "") => {
  const response = await call("GET", `/_oncekey/reconcile${query}`, { headers });
  assert.equal(response.status, 200, response.text);
  return response;
};
async function reconcile(call, limit = 100) {
  const found = { checked: 0, lacking: [] };
  for (let next = `?limit=${limit}`; next; ) {
    const { json, headers } = await page(call, next);
    found.checked += json.checked;
    found.lacking.push(...json.lacking);
    const link = headers.get("Link")?.match(/^<\/_oncekey\/reconcile(.*)>; rel="next"$/)[1];
    assert.equal(link && new URLSearchParams(link.slice(1)).get("cursor"), json.next_cursor ?? undefined);
    next = link;
  }
  return found;
}

describe("after a load with faults", () => {
  let gateway;
  const apiKey = "kuko_test_reconcile";
  let call;
  before(async () => {
    const worker = await startWorker({ wrapper: "faulty.mjs", vars: { ...vars, LEASE_SECONDS: "6" } });
    gateway = new Gateway(worker, noOrigin);
    call = merchant(worker, apiKey);
  });
  after(() => gateway.dispose());

  /** Sends a request until it has a response, as a client does. The first try has the fault. */
  async function insist(path, body, fault, key = newKey()) {
    for (let attempt = 0; attempt < 200; attempt++) {
      const response = await call("POST", path, { body, key, fault: attempt === 0 ? fault : undefined });
      const again = response.status >= 500 || response.json.type === "idempotency_in_progress";
      if (!again) return { response, key };
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error("no response after 200 tries");
  }

  test("every payment and every refund has its ledger entries, its event and its key", async () => {
    const origin = [undefined, "error-before", "error-after", "delay-after=300", "error-after"];
    const store = [
      [],
      [{ op: "begin", fault: "lose" }],
      [{ op: "complete", fault: "lose" }],
      [{ op: "complete", fault: "evict" }],
      [{ op: "fail", fault: "lose" }, { op: "complete", fault: "twice" }],
      [{ op: "complete", fault: "delay", ms: 400 }],
    ];
    const cards = [GOOD_CARD, GOOD_CARD, GOOD_CARD, "4000000000000002", "4000000000005001"];
    let operations = 0;
    const buy = async (number) => {
      const order = await ordered(call);
      const key = newKey();
      const rules = store[number % store.length];
      const name = recordName(key, apiKey);
      const response = await gateway.call("POST", "/__test/rules", { body: { name, rules }, as: null });
      assert.equal(response.status, 200);
      const body = { order_id: order.id, card: { number: cards[number % cards.length] } };
      // Half of the callers send each request twice at the same time.
      const both = [insist("/v1/payments", body, origin[number % origin.length], key)];
      if (number % 2) both.push(insist("/v1/payments", body, undefined, key));
      const [{ response: result }, other] = await Promise.all(both);
      assert.ok([201, 402].includes(result.status), result.text);
      if (other) assert.equal(other.response.text, result.text, "one response");
      operations += 1;
      if (result.status === 201 && number % 3 === 0) {
        const wanted = { out_refund_no: `R_${number}_${newKey()}`, order_id: order.id, amount: 100 };
        const { response } = await insist("/v1/refunds", wanted, origin[(number + 1) % origin.length]);
        assert.equal(response.status, 201, response.text);
        operations += 1;
      }
    };
    for (let first = 0; first < 30; first += 6)
      await Promise.all(Array.from({ length: 6 }, (_, at) => buy(first + at)));
    for (const limit of [7, 500])
      assert.deepEqual(await reconcile(call, limit), { checked: operations, lacking: [] });
    assert.equal((await balance(call)).sum, 0);
    assert.equal((await entries(call)).reduce((sum, entry) => sum + entry.amount, 0), 0);
    const other = merchant(gateway.worker, "kuko_test_nobody");
    assert.deepEqual(await reconcile(other), { checked: 0, lacking: [] }, "a merchant sees only its own operations");
  });

  test("a payment whose caller never retried is listed until an operator settles its key", async () => {
    const order = await ordered(call);
    const key = newKey();
    const lost = await pay(call, order.id, { key, fault: "error-after" });
    assert.equal(lost.status, 500);
    const { lacking } = await reconcile(call);
    assert.deepEqual(
      lacking.map(({ id, ...rest }) => rest),
      [
        {
          operation: "payment.create",
          lacks: ["key"],
          key: recordName(key, apiKey),
          key_state: "unknown",
          request_id: lost.headers.get("X-Request-Id"),
        },
      ],
    );
    // The list contains what an operator needs to settle the key without knowing it.
    const life = await call("GET", `/_oncekey/keys/${lacking[0].key}`, { headers });
    assert.equal(life.json.journal[0].request_id, lacking[0].request_id);
    const settled = await call("POST", "/_oncekey/key/settle", {
      headers: { ...headers, "X-Oncekey-Name": lacking[0].key },
      body: { outcome: "executed", status: 201, body: "{}" },
    });
    assert.equal(settled.status, 200, settled.text);
    assert.deepEqual((await reconcile(call)).lacking, []);
  });

  test("a payment without a key is listed, because it is not known whether its caller got the response", async () => {
    const order = await ordered(call);
    const made = await pay(call, order.id);
    assert.equal(made.status, 201);
    const { lacking } = await reconcile(call);
    assert.deepEqual(lacking, [
      {
        id: made.json.data.id,
        operation: "payment.create",
        lacks: ["key"],
        key: null,
        key_state: null,
        request_id: made.json.request_id,
      },
    ]);
  });

  test("an invalid query is refused", async () => {
    for (const query of ["?limit=0", "?limit=501", "?cursor=x", "?from=1"])
      assert.equal((await call("GET", `/_oncekey/reconcile${query}`, { headers })).status, 400, query);
    for (const who of [null, "nobody_in_particular"]) {
      const response = await merchant(gateway.worker, who)("GET", "/_oncekey/reconcile", { headers });
      assert.equal(response.status, 400, response.text);
    }
    assert.equal((await call("POST", "/_oncekey/reconcile", { headers })).status, 405);
  });
});

describe("what is missing in a merchant's database", () => {
  let worker, call, sql;
  const apiKey = "kuko_test_damaged";
  before(async () => {
    worker = await startWorker({ wrapper: "merchants.mjs", vars });
    call = merchant(worker, apiKey);
    ({ sql } = inside(worker, apiKey));
  });
  after(() => worker.dispose());

  /** Creates a payment under a key, and returns its id. */
  async function payment() {
    const order = await ordered(call);
    return (await pay(call, order.id, { key: newKey() })).json.data.id;
  }

  test("each part that a payment or a refund lacks is named", async () => {
    const whole = await payment();
    const damaged = {};
    for (const part of ["entries", "amount", "event", "execution", "twice"]) damaged[part] = await payment();
    const order = await ordered(call);
    await pay(call, order.id, { key: newKey() });
    const back = (await refund(call, { order_id: order.id, amount: 1 }, { key: newKey() })).json.data.id;
    for (const table of ["ledger", "events", "executions"])
      for (const { name } of await sql("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?", table))
        await sql(`DROP TRIGGER ${name}`);
    await sql("DROP INDEX executions_of_numberless");
    await sql("DELETE FROM ledger WHERE operation = ?", damaged.entries);
    await sql("UPDATE ledger SET amount = amount + 1 WHERE operation = ?", damaged.amount);
    await sql("DELETE FROM events WHERE data ->> 'id' = ?", damaged.event);
    await sql("DELETE FROM executions WHERE object_id = ?", damaged.execution);
    await sql(
      `INSERT INTO executions (idempotency_key, operation, object_id, request_id, executed_at)
      SELECT idempotency_key, operation, object_id, request_id, executed_at FROM executions WHERE object_id = ?`,
      damaged.twice,
    );
    await sql("DELETE FROM ledger WHERE operation = ?", back);
    const { checked, lacking } = await reconcile(call);
    assert.equal(checked, 8);
    const lacks = Object.fromEntries(lacking.map(({ id, lacks }) => [id, lacks]));
    assert.deepEqual(lacks, {
      [damaged.entries]: ["entries"],
      [damaged.amount]: ["entries"],
      [damaged.event]: ["event"],
      [damaged.execution]: ["execution", "key"],
      [damaged.twice]: ["execution"],
      [back]: ["entries"],
    });
    assert.ok(!(whole in lacks));
  });
});

test("a refund without a key is found in the journal by its business key", async () => {
  const worker = await startWorker({ vars });
  try {
    const call = merchant(worker, "kuko_test_numbers");
    const order = await paid(call);
    const made = await refund(call, { order_id: order.id, amount: 10 });
    assert.equal(made.status, 201, made.text);
    const { checked, lacking } = await reconcile(call);
    assert.equal(checked, 2);
    assert.deepEqual(lacking.map((one) => one.operation), ["payment.create"], "the payment has no key and no business key");
  } finally {
    await worker.dispose();
  }
});

test("with an upstream there is no reconciliation", async () => {
  const gateway = await startGateway({ vars });
  try {
    const response = await gateway.get("/_oncekey/reconcile", { headers: [["Authorization", `Bearer ${TOKEN}`]] });
    assert.equal(response.status, 404);
  } finally {
    await gateway.dispose();
  }
});
