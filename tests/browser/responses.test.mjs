// What a response means for the key: succeeded, refused, not executed, or unknown.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, error, inTurn, json, open, paid, startBrowser } from "./support.mjs";

const portal = () => ({ status: 200, headers: { "Content-Type": "text/html" }, body: "<h1>Welcome to the hotel</h1>" });

describe("responses", () => {
  let browser, site, context, shop;
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
    shop = await open(context, site.url + site.page({ client: { retry: { limit: 1, delays: [20] } } }));
  });
  after(async () => {
    await browser.close();
    await site.close();
  });

  const body = { json: { amount: 2990, nonce: "one" } };
  const other = { json: { amount: 1, nonce: "one" } };
  const state = async (intent = "order:1") => (await shop.call("status", intent)).state;

  test("fault 57: a refusal is returned, and the next call has a new key", async () => {
    const path = site.route(inTurn(() => error(402, "card_error"), paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.status, JSON.parse(end.text).type, await state()], [402, "card_error", "refused"]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 2]);
    const [{ key }] = await shop.events("keyrotated");
    assert.equal(key, site.keys(path)[1]);
  });

  for (const status of [401, 403, 429]) {
    test(`${status} is returned as not executed, and the next call has the same key`, async () => {
      const path = site.route(inTurn(...Array(status === 429 ? 2 : 1).fill(() => error(status, "authentication_error")), paid));
      assert.equal((await shop.send("order:1", path, body)).status, status);
      assert.deepEqual([await state(), await shop.call("pending")], ["prepared", []]);
      assert.equal((await shop.send("order:1", path, body)).status, 201);
      assert.equal(site.keys(path).length, 1);
    });
  }

  test("once an outcome is unknown, a 401 does not settle it", async () => {
    const path = site.route(inTurn(500, () => error(401, "authentication_error"), paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.status, await state()], ["OutcomeUnknownError", 401, "unknown"]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal(site.keys(path).length, 1);
  });

  test("fault 69: a captive portal's page is not a success", async () => {
    const path = site.route(inTurn(portal, portal, paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.unknownReason, end.status], ["OutcomeUnknownError", "not_the_api", 200]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal(site.keys(path).length, 1);
  });

  test("fault 69: a page to which the portal redirected is not a success either", async () => {
    const login = site.route(portal);
    const path = site.route(inTurn(() => ({ status: 302, headers: { Location: login } }), paid));
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual([site.hits(login), site.keys(path).length], [1, 1]);
  });

  test("fault 69: the caller can check a response itself", async () => {
    const path = site.route(inTurn(() => json(200, { welcome: true }), paid));
    const status = await shop.page.evaluate(async (path) => {
      const validate = async (response) => "id" in (await response.json());
      const response = await window.shop.client.fetch("order:1", path, { body: "1" }, { validate });
      return [response.status, typeof (await response.json()).id];
    }, path);
    assert.deepEqual(status, [201, "string"]);
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
  });

  test("the code of an error decides what it means", async () => {
    const nested = (status, type) => json(status, { error: { type } });
    for (const [what, responses, expected] of [
      ["a 409 of the API's own is a refusal", [() => error(409, "invalid_request_error")], ["refused", 409, 1]],
      ["the same with the error in a member", [() => nested(409, "invalid_request_error")], ["refused", 409, 1]],
      ["an empty success is a success", [204], ["succeeded", 204, 1]],
      ["a 409 without a code is retried", [409, paid], ["succeeded", 201, 2]],
      ["a 500 for an invalid request is not retried", [() => error(500, "invalid_request_error")], ["unknown", "OutcomeUnknownError", 1]],
      ["a 400 with the code of a server error is retried", [() => error(400, "api_error"), paid], ["succeeded", 201, 2]],
      ["a key that is in use is retried", [() => nested(409, "idempotency_key_in_use"), paid], ["succeeded", 201, 2]],
      ["an outcome that the server does not know", [() => error(409, "idempotency_outcome_unknown")], ["unknown", "OutcomeUnknownError", 1]],
      ["a response that the server cannot send again", [() => error(409, "idempotency_not_replayable")], ["unknown", "OutcomeUnknownError", 1]],
    ]) {
      const path = site.route(inTurn(...responses));
      const end = await shop.send(what, path, body);
      assert.deepEqual([await state(what), end.error ?? end.status, site.hits(path)], expected, what);
      assert.equal(site.keys(path).length, 1);
    }
  });

  test("a key that belongs to another request is not used again", async () => {
    const path = site.route(inTurn(() => error(400, "idempotency_error"), paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.status, end.key], ["KeyReusedError", 400, site.keys(path)[0]]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal(site.keys(path).length, 2);
  });

  test("once an outcome is unknown, an error about another request settles nothing", async () => {
    const path = site.route(inTurn(500, () => error(400, "idempotency_error"), paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.unknownReason], ["OutcomeUnknownError", "mismatch"]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal(site.keys(path).length, 1);
  });

  test("a voided key causes a KeyVoidedError", async () => {
    const path = site.route(inTurn(() => error(409, "idempotency_key_voided"), paid));
    assert.equal((await shop.send("order:1", path, body)).error, "KeyVoidedError");
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal(site.keys(path).length, 2);
  });

  test("a new key that counts as expired is replaced by a key without a time", async () => {
    const path = site.route(inTurn(() => error(400, "idempotency_key_expired"), paid));
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    const [first, second] = site.keys(path);
    assert.deepEqual([first[14], second[14]], ["7", "4"]);
    assert.equal((await shop.events("keyrotated"))[0].key, second);
  });

  test("after a success, the same payload gets its response again, and another payload is not sent", async () => {
    const path = site.route(inTurn(paid, () => json(201, {}, { "Idempotent-Replayed": "true" })));
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.equal((await shop.send("order:1", path, body)).replayed, true);
    assert.equal((await shop.events("replayed")).length, 1);
    const end = await shop.send("order:1", path, other);
    assert.deepEqual([end.error, end.outcome, end.httpStatus, end.key], ["PayloadChangedError", "succeeded", 201, site.keys(path)[0]]);
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
    await shop.call("forget", "order:1");
    assert.equal((await shop.send("order:1", path, other)).status, 201);
    assert.equal(site.keys(path).length, 2);
  });

  test("fault 55: a payload that was changed while the outcome is unknown is sent once the old request has its response", async () => {
    const path = site.route(inTurn(500, 500, () => error(402, "card_error", { "Idempotent-Replayed": "true" }), paid));
    assert.equal((await shop.send("order:1", path, body)).error, "OutcomeUnknownError");
    assert.equal((await shop.send("order:1", path, other)).status, 201);
    const amounts = site.at(path).map(({ body }) => JSON.parse(String(body)).amount);
    assert.deepEqual(amounts, [2990, 2990, 2990, 1]);
    const keys = site.at(path).map(({ headers }) => headers["idempotency-key"]);
    assert.deepEqual(keys, [...Array(3).fill(site.keys(path)[0]), site.keys(path)[1]]);
  });

  test("fault 55: a changed payload is not sent when the old request has succeeded", async () => {
    const path = site.route(inTurn(500, 500, paid));
    assert.equal((await shop.send("order:1", path, body)).error, "OutcomeUnknownError");
    const end = await shop.send("order:1", path, other);
    assert.deepEqual([end.error, end.outcome], ["PayloadChangedError", "succeeded"]);
    assert.deepEqual([site.hits(path), site.keys(path).length], [3, 1]);
  });

  test("fault 56: a field that changes with each try can be excluded from the comparison", async () => {
    const path = site.route(inTurn(500, 500, paid));
    const ignore = { ignore: ["/nonce"] };
    assert.equal((await shop.send("order:1", path, body, ignore)).error, "OutcomeUnknownError");
    assert.equal((await shop.send("order:1", path, { json: { amount: 2990, nonce: "two" } }, ignore)).status, 201);
    assert.equal(site.keys(path).length, 1);
  });

  test("fault 59: each intent has its own key, and the same body for another URL is another payload", async () => {
    const [path, elsewhere] = [site.route(500), site.route()];
    for (const intent of ["order:1", "order:2"]) await shop.send(intent, path, body);
    assert.equal(site.keys(path).length, 2);
    const end = await shop.send("order:3", elsewhere, body);
    assert.equal((await shop.send("order:3", path, body)).error, "PayloadChangedError");
    assert.deepEqual([end.status, site.hits(elsewhere), site.keys(path).length], [201, 1, 2]);
  });

  test("the caller's own key is sent unchanged", async () => {
    const path = site.route(inTurn(500, paid));
    const own = { ...body, headers: { "Idempotency-Key": "order-1042" } };
    assert.equal((await shop.send("order:1", path, own)).status, 201);
    assert.deepEqual([site.hits(path), site.keys(path)], [2, ["order-1042"]]);
  });

  test("fault 63: a request that cannot be sent safely is refused before it is sent", async () => {
    const path = site.route();
    assert.match((await shop.send("order:1", path, { method: "GET" })).message, /is a write/);
    assert.match((await shop.send("order:1", path, { mode: "no-cors", body: "1" })).message, /no-cors/);
    assert.deepEqual([site.hits(path), await state()], [0, "idle"]);
  });
});
