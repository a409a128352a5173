// Events that the sandbox sends: signed, delivered at least once and in order, for three days at most.
import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { executions, found, inside, made, merchant, order, ordered, paid, pay, refund, refused } from "../fixtures/merchant.mjs";
import { Origin, eventually, inTurn, sleep, startWorker } from "../fixtures/support.mjs";

const DAY = 86_400_000;
const secretOf = (byte, length = 24) => `whsec_${Buffer.alloc(length, byte).toString("base64")}`;
const ok = () => ({ status: 200, body: "" });
const fails = () => ({ status: 500, body: "no" });

/** Returns the signatures that a message must carry, one for each secret. */
function signatures({ headers, body }, ...secrets) {
  const signed = Buffer.concat([Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`), body]);
  const sign = (secret) => createHmac("sha256", Buffer.from(secret.slice(6), "base64")).update(signed).digest("base64");
  return secrets.map((secret) => `v1,${sign(secret)}`).join(" ");
}

describe("events", () => {
  let worker, origin;
  before(async () => {
    origin = await Origin.start();
    worker = await startWorker({ wrapper: "merchants.mjs", vars: { WEBHOOK_TARGETS: "local" } });
  });
  after(async () => {
    await worker.dispose();
    await origin.close();
  });

  const newMerchant = () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    return Object.assign(merchant(worker, apiKey), inside(worker, apiKey));
  };
  const listen = async (call, handler, more) => {
    const path = origin.route(handler);
    const endpoint = made(await call("POST", "/v1/webhook_endpoints", { body: { url: origin.url + path, ...more } }));
    return { ...endpoint, path };
  };
  const kinds = (path) => origin.at(path).map(({ body }) => JSON.parse(body).type);
  const events = async (call) => found(await call("GET", "/v1/events"));
  const event = async (call, id) => found(await call("GET", `/v1/events/${id}`));
  /** Makes all waiting deliveries due, and runs the alarm. */
  const hurry = async (call) => {
    await call.sql("UPDATE deliveries SET due_at = 1 WHERE due_at IS NOT NULL");
    await call.alarm();
  };

  test("each operation sends a signed event with the current object", async () => {
    const call = newMerchant();
    const { path, secret } = await listen(call, ok);
    const bought = await paid(call);
    const { id } = await ordered(call);
    await pay(call, id, { number: "4000000000000002" });
    const given = made(await refund(call, { order_id: bought.id, amount: 1000 }));
    const subscription = made(await call("POST", "/v1/subscriptions", { body: { plan: "Pro", customer: "c", amount: 1, currency: "USD" } }));
    const cancelled = found(await call("POST", `/v1/subscriptions/${subscription.id}/cancel`));
    const expected = ["order.created", "order.created", "payment.failed", "payment.succeeded", "refund.succeeded", "subscription.cancelled", "subscription.created"];
    await eventually(() => assert.deepEqual(kinds(path).sort(), expected));
    for (const message of origin.at(path)) {
      const { headers, body, method } = message;
      assert.deepEqual([method, headers["content-type"]], ["POST", "application/json"]);
      assert.equal(headers["webhook-signature"], signatures(message, secret));
      assert.ok(Math.abs(Number(headers["webhook-timestamp"]) * 1000 - Date.now()) < 60_000);
      const sent = JSON.parse(body);
      assert.deepEqual(Object.keys(sent), ["id", "type", "created_at", "data"]);
      assert.equal(sent.id, headers["webhook-id"]);
      const data = { "refund.succeeded": given, "subscription.created": subscription, "subscription.cancelled": cancelled }[sent.type];
      if (data) assert.deepEqual(sent.data, data);
    }
    const order = (type) => kinds(path).indexOf(type);
    assert.ok(order("payment.succeeded") < order("refund.succeeded") && order("subscription.created") < order("subscription.cancelled"));

    const listed = await eventually(async () => {
      const all = await events(call);
      assert.ok(all.every(({ delivery }) => delivery === "delivered"));
      return all;
    });
    assert.deepEqual(listed.map(({ type }) => type), ["subscription.cancelled", "subscription.created", "refund.succeeded", "payment.failed", "order.created", "payment.succeeded", "order.created"]);
    const shown = await event(call, listed[2].id);
    assert.deepEqual(shown.data, given);
    const [{ attempts, ...delivery }] = shown.deliveries;
    assert.deepEqual([delivery.state, delivery.next_attempt_at], ["delivered", null]);
    assert.deepEqual(attempts.map(({ status, error }) => [status, error]), [[200, null]]);
    assert.ok(attempts[0].duration_ms >= 0 && Date.parse(attempts[0].at));
  });

  test("a call that was refused, replayed or rolled back sends no event", async () => {
    const call = newMerchant();
    const body = order();
    const key = randomUUID();
    made(await call("POST", "/v1/orders", { body, key }));
    made(await call("POST", "/v1/orders", { body, key }));
    made(await call("POST", "/v1/orders", { body }));
    refused(await call("POST", "/v1/orders", { body: { ...body, amount: 1 } }), 400, "out_trade_no", "idempotency_error");
    refused(await refund(call, { out_trade_no: body.out_trade_no, amount: 1 }), 400, "out_trade_no");
    refused(await call("POST", "/v1/orders", { body: order(), fault: "error-before" }), 500, undefined, "api_error");
    const [only, ...others] = await events(call);
    assert.deepEqual([only.type, only.delivery, others], ["order.created", "none", []]);
    refused(await call("POST", "/v1/orders", { body: order(), fault: "error-after" }), 500, undefined, "api_error");
    assert.equal((await events(call)).length, 2, "an event is sent for an executed operation, even if its response was lost");
  });

  test("a failed delivery is repeated with the same bytes and id, and later events wait for it", async () => {
    const call = newMerchant();
    const { path, secret } = await listen(call, inTurn(fails, fails, () => ({ status: 302, headers: { Location: `${origin.url}/elsewhere` } }), ok));
    const other = origin.route(ok);
    await paid(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    await eventually(async () => assert.equal((await events(call))[1].delivery, "pending"));
    for (let tries = 2; tries <= 4; tries++) {
      await sleep(50);
      assert.deepEqual([...new Set(kinds(path))], ["order.created"], "the payment waits for its order");
      await hurry(call);
      await eventually(() => assert.ok(origin.hits(path) >= tries));
    }
    await eventually(() => assert.equal(kinds(path).at(-1), "payment.succeeded"));
    const [payment, created] = await eventually(async () => {
      const all = await events(call);
      assert.ok(all.every(({ delivery }) => delivery === "delivered"));
      return all;
    });
    const tries = origin.at(path).slice(0, -1);
    assert.equal(new Set(tries.map(({ body }) => body.toString())).size, 1);
    assert.deepEqual(new Set(tries.map(({ headers }) => headers["webhook-id"])), new Set([created.id]));
    for (const message of tries) assert.equal(message.headers["webhook-signature"], signatures(message, secret));
    const { deliveries } = await event(call, created.id);
    assert.deepEqual(deliveries[0].attempts.map(({ status }) => status), [200, 302, 500, 500], "the newest attempt comes first");
    assert.equal((await event(call, payment.id)).deliveries[0].attempts.length, 1);
    assert.equal(origin.at("/elsewhere").length + origin.hits(other), 0, "a redirect is not followed");
  });

  test("the waits grow and are random, and after three days the next event is sent", async () => {
    const call = newMerchant();
    const { path } = await listen(call, fails);
    await paid(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    const [payment, created] = await events(call);
    const limits = [5, 30, 120, 600, 1800, 3600, 14_400, 14_400].map((seconds) => seconds * 1000);
    const waits = [];
    for (const [count, limit] of limits.entries()) {
      const { deliveries } = await eventually(async () => {
        const shown = await event(call, created.id);
        assert.equal(shown.deliveries[0].attempts.length, count + 1);
        return shown;
      });
      const [{ attempts, next_attempt_at }] = deliveries;
      const wait = Date.parse(next_attempt_at) - Date.parse(attempts[0].at) - attempts[0].duration_ms;
      assert.ok(wait >= 0 && wait <= limit + 1000, `${wait} of ${limit}`);
      waits.push(wait / limit);
      await hurry(call);
    }
    assert.ok(new Set(waits.map((part) => part.toFixed(3))).size > 3, `${waits}`);
    assert.equal(kinds(path).filter((type) => type !== "order.created").length, 0);
    await call.sql(`UPDATE deliveries SET begun_at = begun_at - ${3 * DAY}`);
    await hurry(call);
    await eventually(async () => assert.equal((await event(call, created.id)).delivery, "dead"));
    await eventually(async () => assert.equal((await event(call, payment.id)).deliveries[0].attempts.length, 1, "each event is tried at least once"));
  });

  test("an event can be sent again on request, whether its delivery succeeded or was given up", async () => {
    const call = newMerchant();
    const { path } = await listen(call, inTurn(fails, ok));
    await ordered(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    const [{ id }] = await events(call);
    await call.sql("UPDATE deliveries SET state = 'dead', due_at = NULL");
    assert.equal((await event(call, id)).delivery, "dead");
    const key = randomUUID();
    for (let sent = 2; sent <= 3; sent++) {
      const shown = found(await call("POST", `/v1/events/${id}/resend`, { key: sent === 2 ? key : undefined }));
      assert.deepEqual([shown.id, shown.delivery], [id, "pending"]);
      await eventually(async () => assert.equal((await event(call, id)).delivery, "delivered"));
      assert.equal(origin.hits(path), sent);
    }
    assert.equal(await executions(call, key), 1);
    const [first, , third] = origin.at(path);
    assert.deepEqual([third.body, third.headers["webhook-id"]], [first.body, id]);
    const late = await listen(call, ok);
    assert.equal(origin.hits(late.path), 0, "a new endpoint gets only new events");
    found(await call("POST", `/v1/events/${id}/resend`));
    await eventually(() => assert.deepEqual(kinds(late.path), ["order.created"]));
    refused(await call("POST", `/v1/events/evt_${"0".repeat(32)}/resend`), 404);
  });

  test("an endpoint that hangs takes ten seconds for each try, and does not delay other endpoints", async () => {
    const call = newMerchant();
    const silent = await listen(call, () => {});
    const prompt = await listen(call, ok);
    await ordered(call);
    await eventually(() => assert.deepEqual([origin.hits(silent.path), origin.hits(prompt.path)], [1, 1]));
    for (let count = 2; count <= 4; count++) {
      await ordered(call);
      await eventually(() => assert.equal(origin.hits(prompt.path), count));
    }
    assert.equal(origin.hits(silent.path), 1, "each endpoint has one connection at a time");
    const [{ id }] = (await events(call)).slice(-1);
    await eventually(async () => {
      const { deliveries } = await event(call, id);
      const { attempts } = deliveries.find(({ endpoint_id }) => endpoint_id === silent.id);
      assert.deepEqual(attempts.map(({ status, error }) => [status, error]), [[null, "timed_out"]]);
      assert.ok(attempts[0].duration_ms >= 10_000 && attempts[0].duration_ms < 60_000, attempts[0].duration_ms);
    });
  });

  test("a missing response is a failure, and an endless body is not read", async () => {
    const call = newMerchant();
    const cutOff = await listen(call, (_, response) => void response.socket.destroy());
    const endless = await listen(call, (_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x".repeat(1 << 16)), 5);
      response.on("close", () => clearInterval(timer));
      response.on("error", () => {});
    });
    await ordered(call);
    const [{ id }] = await events(call);
    await eventually(async () => {
      const { deliveries } = await event(call, id);
      const of = ({ id }) => deliveries.find(({ endpoint_id }) => endpoint_id === id);
      assert.deepEqual([of(cutOff).state, of(cutOff).attempts.at(-1).error], ["pending", "no_response"]);
      assert.deepEqual([of(endless).state, of(endless).attempts.length], ["delivered", 1]);
    });
  });

  test("no event is lost when the object is evicted", async () => {
    const call = newMerchant();
    const { path } = await listen(call, async () => (await sleep(300), ok()));
    const ids = [];
    for (let count = 0; count < 6; count++) {
      ids.push((await ordered(call)).id);
      if (count % 2) await call.evict();
    }
    await eventually(async () => {
      if (!(await events(call)).every(({ delivery }) => delivery === "delivered")) await call.sql("UPDATE deliveries SET due_at = 1 WHERE due_at IS NOT NULL");
      const sentIds = new Set(origin.at(path).map(({ body }) => JSON.parse(body).data.id));
      assert.deepEqual([...sentIds].sort(), [...ids].sort());
    });
  });

  test("an event carries one signature for each secret, so that a secret can be changed without a gap", async () => {
    const call = newMerchant();
    const [old, next] = [secretOf(1), secretOf(2, 64)];
    const { path, id, secret } = await listen(call, ok, { secret: old });
    assert.equal(secret, old);
    const both = `${old} ${next}`;
    const change = (secret, more) => call("POST", `/v1/webhook_endpoints/${id}`, { body: { secret }, ...more });
    const key = randomUUID();
    const changed = found(await change(both, { key }));
    assert.deepEqual([changed.id, "secret" in changed], [id, false]);
    assert.equal(await executions(call, key), 1);
    await ordered(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    found(await change(next));
    await ordered(call);
    await eventually(() => assert.equal(origin.hits(path), 2));
    const [first, second] = origin.at(path);
    assert.equal(first.headers["webhook-signature"], signatures(first, old, next));
    assert.equal(second.headers["webhook-signature"], signatures(second, next));
    for (const wrong of [null, 1, "", "x", "whsec_", secretOf(1, 23), secretOf(1, 65), `${old}  ${next}`, `${old},${next}`, [old, old, old, old].join(" ")]) {
      refused(await change(wrong), 400, "secret");
    }
  });

  test("only the call that creates an endpoint returns its secret", async () => {
    const call = newMerchant();
    const url = `${origin.url}${origin.route(ok)}`;
    const key = randomUUID();
    const create = (more) => call("POST", "/v1/webhook_endpoints", { body: { url, ...more?.body }, key: more?.key });
    refused(await call("POST", "/v1/webhook_endpoints", { body: { url }, key, fault: "error-after" }), 500, undefined, "api_error");
    const endpoint = made(await create({ key }));
    assert.match(endpoint.id, /^whe_[0-9a-f]{32}$/);
    assert.match(endpoint.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.equal(await executions(call, key), 1, "the retry returned the same endpoint with its secret");
    const { secret, ...rest } = endpoint;
    assert.deepEqual(found(await call("GET", "/v1/webhook_endpoints")), [rest]);
    assert.doesNotMatch(JSON.stringify(worker.logs), /whsec_/);

    const others = [];
    for (let count = 2; count <= 5; count++) others.push(made(await create()).id);
    refused(await create(), 400);
    const deleteKey = randomUUID();
    const gone = found(await call("DELETE", `/v1/webhook_endpoints/${endpoint.id}`, { key: deleteKey }));
    assert.ok(Date.parse(gone.deleted_at));
    assert.deepEqual(found(await call("DELETE", `/v1/webhook_endpoints/${endpoint.id}`)), gone, "a second time changes nothing");
    assert.equal(await executions(call, deleteKey), 1);
    assert.deepEqual(found(await call("GET", "/v1/webhook_endpoints")).map(({ id }) => id), others);
    const stored = await call.sql("SELECT secrets FROM endpoints WHERE id = ?", endpoint.id);
    assert.deepEqual(stored, [{ secrets: "" }]);
    made(await create());
    refused(await call("DELETE", `/v1/webhook_endpoints/whe_${"0".repeat(32)}`), 404);
    refused(await call("POST", `/v1/webhook_endpoints/${endpoint.id}`, { body: { secret } }), 404);
  });

  test("a deleted endpoint gets no more events", async () => {
    const call = newMerchant();
    const { id, path } = await listen(call, fails);
    await ordered(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    found(await call("DELETE", `/v1/webhook_endpoints/${id}`));
    await eventually(async () => assert.equal((await events(call))[0].delivery, "cancelled"));
    const before = origin.hits(path);
    await ordered(call);
    found(await call("POST", `/v1/events/${(await events(call))[1].id}/resend`));
    await call.alarm();
    assert.equal(origin.hits(path), before);
    assert.deepEqual((await events(call)).map(({ delivery }) => delivery), ["none", "cancelled"]);
  });

  test("events are listed in pages, the newest first, and cannot be changed", async () => {
    const call = newMerchant();
    const ids = [];
    for (let count = 0; count < 5; count++) ids.unshift((await ordered(call)).id);
    const first = await call("GET", "/v1/events?limit=2");
    assert.deepEqual(found(first).map(({ data }) => data.id), ids.slice(0, 2));
    await ordered(call);
    const second = await call("GET", `/v1/events?limit=2&cursor=${first.json.next_cursor}`);
    assert.deepEqual(found(second).map(({ data }) => data.id), ids.slice(2, 4));
    const third = await call("GET", `/v1/events?limit=2&cursor=${second.json.next_cursor}`);
    assert.deepEqual([found(third).map(({ data }) => data.id), third.json.next_cursor], [ids.slice(4), null]);
    refused(await call("GET", "/v1/events?limit=0"), 400, "limit");
    refused(await call("GET", `/v1/events/evt_${"0".repeat(32)}`), 404);
    refused(await call("POST", "/v1/events"), 405);
    for (const statement of ["DELETE FROM events", "UPDATE events SET data = '{}'"]) {
      await assert.rejects(call.sql(statement), /append-only/, statement);
    }
  });

  test("merchants do not see each other's events", async () => {
    const [one, other] = [newMerchant(), newMerchant()];
    const { path, id } = await listen(one, ok);
    await ordered(other);
    await ordered(one);
    await eventually(() => assert.equal(origin.hits(path), 1));
    const [theirs] = await events(one);
    refused(await other("GET", `/v1/events/${theirs.id}`), 404);
    refused(await other("POST", `/v1/events/${theirs.id}/resend`), 404);
    refused(await other("DELETE", `/v1/webhook_endpoints/${id}`), 404);
    await sleep(300);
    assert.equal(origin.hits(path), 1);
  });
});

describe("where webhooks may go", () => {
  let state, worker, origin;
  before(async () => {
    origin = await Origin.start();
    state = mkdtempSync(join(tmpdir(), "oncekey-webhooks-"));
  });
  after(async () => {
    await worker?.dispose();
    await origin.close();
    rmSync(state, { recursive: true, force: true });
  });

  test("outside local development, only to public hosts with TLS, also for endpoints that were allowed before", async () => {
    const apiKey = `kuko_test_${randomUUID()}`;
    const path = origin.route(ok);
    worker = await startWorker({ state, vars: { WEBHOOK_TARGETS: "local" } });
    let call = merchant(worker, apiKey);
    made(await call("POST", "/v1/webhook_endpoints", { body: { url: origin.url + path } }));
    await ordered(call);
    await eventually(() => assert.equal(origin.hits(path), 1));
    await worker.dispose();

    for (const value of [undefined, "", "public"]) {
      worker = await startWorker({ state, vars: value === undefined ? {} : { WEBHOOK_TARGETS: value } });
      call = merchant(worker, apiKey);
      for (const url of [origin.url + path, "http://shop.example/", "https://127.0.0.1/", "https://localhost/", "https://[::1]/", "https://2130706433/", "https://0x7f.1/", "https://169.254.169.254/latest", "https://a.internal/", "https://user@shop.example/", "https://shop.example\\@127.0.0.1/", "ftp://shop.example/", "shop.example", "", 1, null]) {
        refused(await call("POST", "/v1/webhook_endpoints", { body: { url } }), 400, "url");
      }
      if (value === undefined) {
        const created = made(await call("POST", "/v1/webhook_endpoints", { body: { url: "https://hooks.shop.example/a?b" } }));
        found(await call("DELETE", `/v1/webhook_endpoints/${created.id}`));
        await ordered(call);
        await eventually(async () => {
          const [{ id }] = found(await call("GET", "/v1/events"));
          const { deliveries } = found(await call("GET", `/v1/events/${id}`));
          assert.deepEqual(deliveries[0].attempts.map(({ status, error }) => [status, error]), [[null, "target_refused"]]);
        });
      }
      await worker.dispose();
    }
    worker = undefined;
    assert.equal(origin.hits(path), 1);
  });
});
