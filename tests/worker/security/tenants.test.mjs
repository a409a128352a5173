// An attack by one tenant on another, by somebody without a credential on all, and on operators: each knows everything but
// the victim's credential, its key and its order's business key included.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { newBusinessKey } from "../fixtures/business-keys.mjs";
import { deliver, newId, WEBHOOK_SECRETS } from "../fixtures/sender.mjs";
import { created, inTurn, newKey, recordName, scopeName, startGateway, startWorker } from "../fixtures/support.mjs";

const ADMIN_TOKEN = "a-token-of-an-operator";
const admin = [["Authorization", `Bearer ${ADMIN_TOKEN}`]];
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const victim = "victim-credential";

describe("a tenant that is after another one's response", () => {
  let gateway;
  before(async () => {
    const vars = {
      ADMIN_TOKEN,
      WEBHOOK_SECRETS,
      SCOPE: "header:X-Api-Key,header:Authorization,header:X-Tenant,cookie:sid",
      SCOPE_ALIASES: `${sha256("alias-one")}:acme,${sha256("alias-two")}:acme`,
      BUSINESS_KEYS: "POST:/o/*:/no",
    };
    gateway = await startGateway({ vars });
  });
  after(() => gateway.dispose());

  /** Headers that claim to be the victim without its credential. */
  const PRETENCES = {
    "nothing at all": [],
    "another key": [["X-Api-Key", "mallory"]],
    "the name of its scope": [["X-Api-Key", scopeName(victim)]],
    "the name of its scope as an operator's header": [["X-Api-Key", "mallory"], ["X-Oncekey-Scope", scopeName(victim)]],
    "the hash of its credential": [["X-Api-Key", sha256(victim)]],
    "its credential in another source": [["Authorization", victim]],
    "its credential as a bearer token": [["Authorization", `Bearer ${victim}`]],
    "its credential as a tenant's name": [["X-Tenant", victim]],
    "its credential as a cookie": [["Cookie", `sid=${victim}`]],
    "its credential behind its own": [["X-Api-Key", "mallory"], ["X-Api-Key", victim]],
    "its credential before its own": [["X-Api-Key", victim], ["X-Api-Key", "mallory"]],
    "its credential in other letters": [["X-Api-Key", victim.toUpperCase()]],
    "its credential with an escape": [["X-Api-Key", victim.replace("v", "%76")]],
    "its credential in quotes": [["X-Api-Key", `"${victim}"`]],
    "its credential with a letter that looks alike": [["X-Api-Key", victim.replace("i", "\u00ef")]],
    "a part of its credential": [["X-Api-Key", victim.slice(0, -1)]],
    "its credential and more": [["X-Api-Key", `${victim}x`]],
    "its credential below its own": [["X-Api-Key", "mallory"], ["Authorization", victim], ["Cookie", `sid=${victim}`]],
    "an alias's tenant": [["X-Api-Key", "acme"]],
    "an alias's hash": [["X-Api-Key", sha256("alias-one")]],
    "the operator's token": admin,
    "a token that is nearly the operator's": [["Authorization", `Bearer ${ADMIN_TOKEN}x`], ["X-Oncekey-Scope", scopeName(victim)]],
  };

  for (const [what, headers] of Object.entries(PRETENCES)) {
    test(`${what} is not its credential`, async () => {
      const path = gateway.route();
      const [key, no] = [newKey(), newBusinessKey()];
      const body = { no, amount: 1 };
      const own = await gateway.post(path, key, body, { as: victim });
      assert.equal(own.status, 201);
      const ofAlias = await gateway.post(path, key, body, { as: "alias-one" });
      const mine = [own.text, ofAlias.text];
      const pretend = (method, target, more) => gateway.call(method, target, { as: null, headers, ...more });
      for (const [at, more] of [{ key, body }, { key: newKey(), body }, { body }].entries()) {
        const response = await pretend("POST", path, more);
        // From then on it gets its own response, by its own business key.
        if (at === 0) assert.ok(!response.replayed, response.text);
        assert.ok(!mine.some((text) => response.text.includes(text)), "nor its response");
        assert.ok([201, 400, 401].includes(response.status), `${response.status}: another tenant's key is no conflict`);
        assert.notEqual(response.json.type, "idempotency_error", "nor does it learn that the business key exists");
      }
      for (const [method, target] of [["GET", "/_oncekey/key"], ["POST", "/_oncekey/key/void"]]) {
        const response = await pretend(method, target, { key: key });
        assert.ok(!response.text.includes(own.get("X-Request-Id")), response.text);
      }
      for (const target of ["/_oncekey/key/settle"]) {
        if (headers === admin) continue;
        assert.equal((await pretend("POST", target, { key, body: { outcome: "not_executed" } })).status, 401);
      }
      const again = await gateway.post(path, key, body, { as: victim });
      assert.deepEqual([again.replayed, again.text], [true, own.text], "and the victim's key is what it was");
    });
  }

  test("a key, a business key and an event of the same name have separate records, and so has each tenant", async () => {
    const name = newId();
    const path = gateway.route(created);
    gateway.origin.route(created, "/webhooks/s0");
    gateway.origin.route(created, "/webhooks/s1");
    const responses = [
      await gateway.post(path, name, { a: 1 }),
      await gateway.call("POST", path, { body: { no: name } }),
      await gateway.post(path, name, { a: 1 }, { as: "s0" }),
      await gateway.post(path, name, { a: 1 }, { as: "source" }),
      await deliver(gateway, "s0", { id: name }),
      await deliver(gateway, "s1", { id: name }),
    ];
    assert.deepEqual(responses.map((response) => [response.status, response.replayed]), responses.map(() => [201, false]));
    assert.equal((await deliver(gateway, "s0", { id: name })).status, 200, "it is a duplicate of its own source's alone");
  });

  test("an event is verified by its signature alone, whatever credential comes with it", async () => {
    gateway.origin.route(created, "/webhooks/s2");
    for (const headers of [[["X-Api-Key", victim]], admin, [["Idempotency-Key", newKey()]], [["svix-id", newId()]]]) {
      const forged = await deliver(gateway, "s2", { headers, signature: `v1,${Buffer.alloc(32).toString("base64")}` });
      assert.equal(forged.status, 401);
    }
    const before = gateway.hits("/webhooks/s2");
    const id = newId();
    // A key that comes with an event does not stand in for the event's id.
    assert.equal((await deliver(gateway, "s2", { id, headers: [["Idempotency-Key", "one"]] })).status, 201);
    assert.equal((await deliver(gateway, "s2", { headers: [["Idempotency-Key", "one"]] })).status, 201);
    assert.equal(gateway.hits("/webhooks/s2"), before + 2);
    assert.equal(gateway.origin.last("/webhooks/s2").headers["idempotency-attempt"], "1");
  });

  test("a page that a victim visits cannot make its browser give up or settle a key", async () => {
    const { key, path } = { key: newKey(), path: gateway.route(inTurn(500, created)) };
    const cookie = [["Cookie", "sid=victim"]];
    await gateway.post(path, key, { a: 1 }, { as: null, headers: cookie });
    // What a form or a plain fetch can send: the cookie and a body, but neither header.
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]) {
      const headers = [...cookie, ["Content-Type", type], ["Origin", "https://evil.example"]];
      for (const call of ["void", "settle"]) {
        const response = await gateway.call("POST", `/_oncekey/key/${call}?key=${key}`, { as: null, headers, body: `Idempotency-Key=${key}&outcome=not_executed` });
        assert.ok([400, 401].includes(response.status), `${call}: ${response.status}`);
      }
      const preflight = await gateway.call("OPTIONS", "/_oncekey/key/void", {
        as: null,
        headers: [["Origin", "https://evil.example"], ["Access-Control-Request-Method", "POST"], ["Access-Control-Request-Headers", "idempotency-key,authorization"]],
      });
      assert.equal(preflight.get("Access-Control-Allow-Origin"), undefined, "and it may not send them");
    }
    assert.equal((await gateway.status(key, { as: null, headers: cookie })).state, "unknown");
  });

  test("the operator's token passes nowhere else, however it is announced", async () => {
    const path = gateway.route();
    for (const authorization of [`Bearer ${ADMIN_TOKEN}`, `bearer ${ADMIN_TOKEN}`, `BEARER  ${ADMIN_TOKEN}`]) {
      const headers = [["Authorization", authorization]];
      assert.equal((await gateway.get("/_oncekey/journal?limit=1", { as: null, headers })).status, 200, authorization);
      for (const response of [await gateway.post(path, newKey(), {}, { headers }), await gateway.get(path, { headers }), await gateway.call("POST", path, { headers })]) {
        assert.equal(response.status, 201);
        assert.equal(gateway.origin.last(path).headers.authorization, undefined, authorization);
      }
      assert.equal((await gateway.post(path, newKey(), {}, { as: null, headers })).status, 401, "nor is it a scope");
    }
  });

  test("what an operator may do is not revealed to anybody else", async () => {
    const key = newKey();
    await gateway.post(gateway.route(inTurn(500)), key);
    const calls = [["GET", "journal"], ["GET", "keys"], ["GET", `keys/${recordName(key)}`], ["GET", "reconcile"], ["POST", "key/settle"]];
    for (const [method, call] of calls) {
      for (const headers of [[], [["Authorization", "Bearer x"]], [["X-Api-Key", ADMIN_TOKEN]], [["Cookie", `token=${ADMIN_TOKEN}`]]]) {
        for (const query of ["", `?token=${ADMIN_TOKEN}`, `?authorization=Bearer%20${ADMIN_TOKEN}`]) {
          const response = await gateway.call(method, `/_oncekey/${call}${query}`, { as: null, key, headers, body: method === "POST" ? { outcome: "not_executed" } : undefined });
          assert.deepEqual([response.status, response.json.code], [401, "authentication_error"], `${call} ${query}`);
          assert.equal(response.get("Cache-Control"), "no-store");
        }
      }
    }
    assert.equal((await gateway.status(key)).state, "unknown");
  });
});

test("two merchants of the sandbox meet in nothing", async () => {
  const worker = await startWorker();
  try {
    const call = (as, method, path, { key, body } = {}) =>
      worker.fetch(path, {
        method,
        headers: { "X-Api-Key": as, "Content-Type": "application/json", ...(key && { "Idempotency-Key": key }) },
        body: body && JSON.stringify(body),
      });
    const [one, others] = ["kuko_test_one", ["kuko_test_two", "sandbox_one", "kuko_test_One", "kuko_test_one~"]];
    const key = newKey();
    const body = { out_trade_no: "SAME", amount: 5, currency: "USD", subject: "mine" };
    const order = await (await call(one, "POST", "/v1/orders", { key, body })).json();
    const endpoint = { url: "https://hooks.shop.example/", secret: `whsec_${"a2tr".repeat(8)}` };
    const made = await (await call(one, "POST", "/v1/webhook_endpoints", { body: endpoint })).json();
    for (const other of others) {
      for (const path of [`/v1/orders/${order.data.id}`, "/v1/orders?out_trade_no=SAME", `/v1/webhook_endpoints`, "/v1/events", "/v1/ledger/entries"]) {
        const text = await (await call(other, "GET", path)).text();
        assert.ok(!text.includes(order.data.id) && !text.includes("hooks.shop.example"), `${other} ${path}`);
      }
      const count = await (await call(other, "GET", `/v1/sandbox/executions/${key}`)).json();
      assert.equal(count.data.count, 0, other);
      assert.equal((await call(other, "DELETE", `/v1/webhook_endpoints/${made.data.id}`)).status, 404);
      assert.equal((await call(other, "POST", "/v1/payments", { body: { order_id: order.data.id, card: { number: "4242424242424242" } } })).status, 400);
      const own = await call(other, "POST", "/v1/orders", { key, body: { ...body, subject: other } });
      assert.equal(own.status, 201, "the same key and business key are its own");
      assert.notEqual((await own.json()).data.id, order.data.id);
    }
    // A secret is shown to whoever has just made it, and to nobody after.
    const listed = await (await call(one, "GET", "/v1/webhook_endpoints")).text();
    assert.ok(listed.includes("hooks.shop.example") && !listed.includes("whsec_"));
  } finally {
    await worker.dispose();
  }
});
