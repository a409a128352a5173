// The sandbox on workerd: merchants, orders, input and faults.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { request as send } from "node:http";
import { after, before, describe, test } from "node:test";
import { executions, made, merchant, order, refused } from "../fixtures/merchant.mjs";
import { eventually, startWorker } from "../fixtures/support.mjs";

describe("the sandbox", () => {
  let worker;
  // The gateway has no business keys here, so that the sandbox's own are tested.
  before(async () => (worker = await startWorker({ vars: { BUSINESS_KEYS: "none" } })));
  after(() => worker.dispose());

  test("an order is returned as it was sent, with an id, a state and a time", async () => {
    const call = merchant(worker);
    const body = order({ subject: "Ｐｒｏ 年度訂閲 👩‍👩‍👧 \u202eabc \ufeff\u2028" });
    const response = await call("POST", "/v1/orders", { body });
    const { id, object, status, amount_paid, amount_refunded, created_at, ...content } = made(response);
    assert.deepEqual(content, body);
    assert.match(id, /^ord_[0-9a-f]{32}$/);
    assert.deepEqual([object, status, amount_paid, amount_refunded], ["order", "pending", 0, 0]);
    assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
    assert.deepEqual(Object.keys(response.json), ["data", "request_id"]);
    assert.equal(response.json.request_id, response.headers.get("X-Request-Id"));

    for (const path of [`/v1/orders/${id}`, `/v1/orders?out_trade_no=${body.out_trade_no}`]) {
      const found = await call("GET", path);
      assert.equal(found.status, 200);
      assert.deepEqual(found.json.data, response.json.data);
      assert.equal((await call("HEAD", path)).status, 200);
    }
  });

  test("each field accepts values at its bounds", async () => {
    const call = merchant(worker);
    for (const fields of [
      { amount: 1 },
      { amount: 99_999_999_999 },
      { out_trade_no: "1" },
      { out_trade_no: "aZ09-_.~".repeat(8) },
      { currency: "JPY" },
      { subject: "訂" },
      { subject: "😀".repeat(256) },
    ]) {
      const body = order(fields);
      const { out_trade_no, amount, currency, subject } = made(await call("POST", "/v1/orders", { body }));
      assert.deepEqual({ out_trade_no, amount, currency, subject }, body);
    }
  });

  test("a value beyond the bounds of its field is refused by name", async () => {
    const call = merchant(worker);
    const text = [null, true, 1, 1.5, [], {}, ""];
    const wrong = {
      out_trade_no: [...text, "a".repeat(65), "a b", "a/b", "é", "a\n", "\u0000"],
      amount: [null, true, "2990", "", [], {}, 0, -1, -5, 1.5, 100_000_000_000, 9007199254740993, 1e21],
      currency: [...text, "usd", "US", "USDT", "US1", "ＵＳＤ"],
      subject: [...text, "😀".repeat(257), "a\nb", "a\u0000", "\u007f", "\u0085"],
    };
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) {
        refused(await call("POST", "/v1/orders", { body: order({ [field]: value }) }), 400, field);
      }
      const { [field]: _, ...rest } = order();
      refused(await call("POST", "/v1/orders", { body: rest }), 400, field);
    }
  });

  test("an amount must be written as an integer", async () => {
    const call = merchant(worker);
    const spelled = (amount) => JSON.stringify(order({ amount: 0 })).replace('"amount":0', `"amount":${amount}`);
    for (const amount of ["2990.0", "2990.0000000000000001", "1e3", "1E0", "-0", "18446744073709551617", "99999999999.5"]) {
      refused(await call("POST", "/v1/orders", { body: spelled(amount) }), 400, "amount");
    }
    for (const amount of ["01", "+1", "0x10", "1_000", "NaN", "1.", ""]) {
      refused(await call("POST", "/v1/orders", { body: spelled(amount) }), 400);
    }
  });

  test("an unknown or repeated member is refused by name", async () => {
    const call = merchant(worker);
    refused(await call("POST", "/v1/orders", { body: order({ ammount: 5 }) }), 400, "ammount");
    refused(await call("POST", "/v1/orders", { body: order({ [`a\n${"b".repeat(999)}`]: 5 }) }), 400, `a${"b".repeat(63)}`);
    const twice = JSON.stringify(order()).replace("{", '{"amount":1,');
    refused(await call("POST", "/v1/orders", { body: twice }), 400, "amount");
    const escaped = JSON.stringify(order()).replace("{", '{"\\u0061mount":1,');
    refused(await call("POST", "/v1/orders", { body: escaped }), 400, "amount");
  });

  test("a body other than a JSON object in UTF-8 is refused", async () => {
    const call = merchant(worker);
    const whole = JSON.stringify(order());
    const bytes = new TextEncoder().encode(whole);
    for (const body of [
      "",
      "null",
      "[]",
      '"text"',
      "1",
      "{",
      `${whole} x`,
      `\ufeff${whole}`,
      whole.slice(0, -1),
      whole.replace("Pro", "\\ud83d"),
      "[".repeat(60_000),
      '{"a":'.repeat(10_000),
      bytes.map((byte) => (byte > 127 ? 0xff : byte)),
      new Uint8Array(1000),
    ]) {
      refused(await call("POST", "/v1/orders", { body }), 400);
    }
    refused(await call("POST", "/v1/orders", {}), 400, "Content-Type");
    for (const type of [null, "text/plain", "multipart/form-data", "application/jsonp"]) {
      refused(await call("POST", "/v1/orders", { body: whole, type }), 400, "Content-Type");
    }
    for (const type of ["Application/JSON; charset=utf-8", "text/x+json"]) {
      made(await call("POST", "/v1/orders", { body: whole, type }));
    }
    refused(await call("POST", "/v1/orders", { body: `${whole}${" ".repeat(64 * 1024)}` }), 413);
  });

  test("a form creates the same order as JSON, and its amount must be digits only", async () => {
    const call = merchant(worker);
    const type = "application/x-www-form-urlencoded";
    const form = (fields) => ({ body: new URLSearchParams(fields).toString(), type });
    const body = order({ subject: "Pro & 年度=訂閲 50%" });
    const first = made(await call("POST", "/v1/orders", form(body)));
    assert.deepEqual(made(await call("POST", "/v1/orders", { body })), first, "the same order");
    assert.deepEqual([first.amount, first.subject], [body.amount, body.subject]);
    for (const amount of ["", "0", "02990", "+5", "-5", "1.0", "1e3", " 1", "100000000000", "１"]) {
      refused(await call("POST", "/v1/orders", form(order({ amount }))), 400, "amount");
    }
    const text = form(order()).body;
    refused(await call("POST", "/v1/orders", { body: `${text}&amount=1`, type }), 400, "amount");
    refused(await call("POST", "/v1/orders", { body: `${text}%ff`, type }), 400, "subject");
    refused(await call("POST", "/v1/orders", { body: "", type }), 400, "out_trade_no");
    refused(await call("POST", "/v1/orders", form({ ...order(), ammount: 1 })), 400, "ammount");
    assert.equal((await call("POST", "/v1/orders", { body: JSON.stringify(order()), type })).status, 400);
  });

  test("an order's business key is permanent, with and without an idempotency key", async () => {
    const call = merchant(worker);
    const body = order();
    const key = randomUUID();
    const first = made(await call("POST", "/v1/orders", { body, key }));
    for (const again of [{ body }, { body, key }, { body, key: randomUUID() }, { body }]) {
      assert.deepEqual(made(await call("POST", "/v1/orders", again)), first);
    }
    for (const other of [{ amount: 2991 }, { currency: "EUR" }, { subject: "Pro" }]) {
      for (const key of [undefined, randomUUID()]) {
        const response = await call("POST", "/v1/orders", { body: { ...body, ...other }, key });
        refused(response, 400, "out_trade_no", "idempotency_error");
        assert.ok(response.json.message.includes(body.out_trade_no));
      }
    }
    assert.deepEqual((await call("GET", `/v1/orders/${first.id}`)).json.data, first);
  });

  test("a refused request does not use up its keys", async () => {
    const call = merchant(worker);
    const body = order();
    const key = randomUUID();
    refused(await call("POST", "/v1/orders", { body: { ...body, amount: -5 }, key }), 400, "amount");
    assert.equal(await executions(call, key), 0);
    refused(await call("GET", `/v1/orders?out_trade_no=${body.out_trade_no}`), 404);
    made(await call("POST", "/v1/orders", { body, key: randomUUID() }));
  });

  test("fifty requests at once with one business key create one order", async () => {
    const call = merchant(worker);
    const body = order();
    const keys = Array.from({ length: 50 }, (_, place) => (place % 5 ? randomUUID() : undefined));
    const responses = await Promise.all(keys.map((key) => call("POST", "/v1/orders", { body, key })));
    const ids = new Set(responses.map((response) => made(response).id));
    assert.equal(ids.size, 1);
    const counts = await Promise.all(keys.filter(Boolean).map((key) => executions(call, key)));
    assert.ok(counts.reduce((sum, count) => sum + count, 0) <= 1, `${counts}`);

    const contested = Array.from({ length: 50 }, (_, place) => ({ ...order(), out_trade_no: `${body.out_trade_no}-2`, amount: place + 1 }));
    const outcome = await Promise.all(contested.map((body) => call("POST", "/v1/orders", { body })));
    const won = outcome.filter((response) => response.status === 201);
    assert.equal(won.length, 1, "of fifty different requests, one gets the business key");
    for (const response of outcome) if (response !== won[0]) refused(response, 400, "out_trade_no", "idempotency_error");
  });

  test("the count of executions contains each execution under a key", async () => {
    const call = merchant(worker);
    for (const key of [randomUUID(), "a/b/../c%2F?#&+=~ü".replace("ü", "u"), "!".repeat(255), "%41"]) {
      assert.equal(await executions(call, key), 0);
      made(await call("POST", "/v1/orders", { body: order(), key }));
      assert.equal(await executions(call, key), 1, key);
    }
    const body = order();
    made(await call("POST", "/v1/orders", { body }));
    const late = randomUUID();
    made(await call("POST", "/v1/orders", { body, key: late }));
    assert.equal(await executions(call, late), 0, "the request found the order and created none");
    for (const path of ["", "%20", "%00", "%e2%82%ac", "%ff", "a".repeat(256)]) {
      refused(await call("GET", `/v1/sandbox/executions/${path}`), 400, "idempotency_key");
    }
  });

  test("Sandbox-Fault causes the requested fault", async () => {
    const call = merchant(worker);
    const timed = async (fault, body) => {
      const begun = performance.now();
      const response = await call("POST", "/v1/orders", { body, fault });
      return [response, performance.now() - begun];
    };
    const exists = async ({ out_trade_no }) => (await call("GET", `/v1/orders?out_trade_no=${out_trade_no}`)).status === 200;

    let body = order();
    refused(await call("POST", "/v1/orders", { body, fault: "error-before" }), 500, undefined, "api_error");
    assert.equal(await exists(body), false);

    body = order();
    refused(await call("POST", "/v1/orders", { body, fault: "error-after" }), 500, undefined, "api_error");
    assert.equal(await exists(body), true);
    made(await call("POST", "/v1/orders", { body }));

    body = order();
    const slow = timed("delay=4000", body);
    assert.equal(await exists(body), false, "delay waits before the execution");
    const [response, time] = await slow;
    made(response);
    assert.ok(time >= 3990, `${time}`);

    body = order();
    let isDone = false;
    const done = timed("delay-after=4000", body).finally(() => (isDone = true));
    await eventually(async () => assert.equal(await exists(body), true, "delay-after waits after the execution"));
    assert.equal(isDone, false);
    assert.ok((await done)[1] >= 3990);

    body = order();
    const [both, sum] = await timed(" delay=200 , delay-after=200,error-after", body);
    refused(both, 500, undefined, "api_error");
    assert.ok(sum >= 390, `${sum}`);
    assert.equal(await exists(body), true);

    refused(await call("GET", "/v1/orders/none", { fault: "error-before" }), 500, undefined, "api_error");
  });

  test("an unknown fault is refused, and nothing is executed", async () => {
    const call = merchant(worker);
    for (const fault of ["later", "delay", "delay=", "delay=-1", "delay=1.5", "delay=60001", "error-before,", "delay=1,delay=2", "error-after=1"]) {
      const body = order();
      refused(await call("POST", "/v1/orders", { body, fault }), 400, "Sandbox-Fault");
      refused(await call("GET", `/v1/orders?out_trade_no=${body.out_trade_no}`), 404);
    }
  });

  test("merchants with the same order number share nothing", async () => {
    const [one, other] = [merchant(worker), merchant(worker, `sandbox_${randomUUID()}`)];
    const body = order();
    const key = randomUUID();
    const first = made(await one("POST", "/v1/orders", { body, key }));
    refused(await other("GET", `/v1/orders/${first.id}`), 404);
    refused(await other("GET", `/v1/orders?out_trade_no=${body.out_trade_no}`), 404);
    assert.equal(await executions(other, key), 0);
    assert.notEqual(made(await other("POST", "/v1/orders", { body: { ...body, amount: 1 }, key })).id, first.id);
  });

  test("a request without a sandbox key is refused", async () => {
    const keys = [null, "", "kuko_test_", "sandbox_", "kuko_live_a", "Kuko_test_a", "test", "kuko_test_a b", `sandbox_${"a".repeat(201)}`];
    for (const apiKey of keys) {
      const call = merchant(worker, apiKey);
      refused(await call("GET", "/v1/orders?out_trade_no=a"), 401, "X-Api-Key", "authentication_error");
    }
  });

  test("unknown paths return 404, and wrong methods 405", async () => {
    const call = merchant(worker);
    for (const [method, path] of [
      ["GET", "/v1"],
      ["GET", "/v1/order"],
      ["GET", "/v1/orders/"],
      ["GET", "/v1/orders/ord_x"],
      ["GET", `/v1/orders/ord_${"0".repeat(32)}`],
      ["GET", `/v1/orders/ord_${"0".repeat(32)}/x`],
      ["GET", "/v1/orders?out_trade_no=never"],
      ["POST", "/v1/not_a_call"],
      ["GET", "/V1/orders"],
    ]) {
      const response = await call(method, path);
      refused(response, 404);
      assert.equal(response.json.code, "resource_missing");
    }
    for (const [method, path, allow] of [
      ["DELETE", "/v1/orders", "GET, HEAD, POST"],
      ["PUT", "/v1/orders/ord_x", "GET, HEAD"],
      ["POST", "/v1/sandbox/executions/a", "GET, HEAD"],
    ]) {
      const response = await call(method, path);
      refused(response, 405);
      assert.equal(response.headers.get("Allow"), allow);
    }
    for (const [query, param] of [
      ["", "out_trade_no"],
      ["?", "out_trade_no"],
      ["?out_trade_no=", "out_trade_no"],
      ["?out_trade_no=%00", "out_trade_no"],
      ["?out_trade_no=%ff%f", "out_trade_no"],
      ["?out_trade_no=a&out_trade_no=a", "out_trade_no"],
      ["?out_trade_no=a&limit=1", "limit"],
    ]) {
      refused(await call("GET", `/v1/orders${query}`), 400, param);
    }
  });

  test("a request with two API keys is refused", async () => {
    const status = await new Promise((resolve, reject) => {
      const headers = ["X-Api-Key", "sandbox_a", "X-Api-Key", "sandbox_b", "Host", "localhost"];
      send(`${worker.url}/v1/orders?out_trade_no=a`, { headers }, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    assert.ok([400, 401].includes(status), `${status}`);
  });
});
