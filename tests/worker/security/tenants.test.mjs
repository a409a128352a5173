// Attacks on other tenants and on operators, by a tenant and by a caller without a credential. The attacker knows
// everything except the victim's credential, including its key and its business key.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { newBusinessKey } from "../fixtures/business-keys.mjs";
import { Issuer } from "../fixtures/issuer.mjs";
import { deliver, newId, WEBHOOK_SECRETS } from "../fixtures/sender.mjs";
import { created, head, inTurn, newKey, recordName, scopeName, sendRaw, startGateway, startWorker } from "../fixtures/support.mjs";

const ADMIN_TOKEN = "a-token-of-an-operator";
const admin = [["Authorization", `Bearer ${ADMIN_TOKEN}`]];
const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const victim = "victim-credential";

describe("a tenant that wants the response of another tenant", () => {
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

  /** Headers with which the attacker pretends to be the victim. */
  const PRETENCES = {
    "nothing at all": [],
    "another key": [["X-Api-Key", "mallory"]],
    "the name of the victim's scope": [["X-Api-Key", scopeName(victim)]],
    "the name of the victim's scope as an operator's header": [["X-Api-Key", "mallory"], ["X-Oncekey-Scope", scopeName(victim)]],
    "the hash of the victim's credential": [["X-Api-Key", sha256(victim)]],
    "the victim's credential in another source": [["Authorization", victim]],
    "the victim's credential as a bearer token": [["Authorization", `Bearer ${victim}`]],
    "the victim's credential as a tenant's name": [["X-Tenant", victim]],
    "the victim's credential as a cookie": [["Cookie", `sid=${victim}`]],
    "the victim's credential after the attacker's own": [["X-Api-Key", "mallory"], ["X-Api-Key", victim]],
    "the victim's credential before the attacker's own": [["X-Api-Key", victim], ["X-Api-Key", "mallory"]],
    "the victim's credential in other letters": [["X-Api-Key", victim.toUpperCase()]],
    "the victim's credential with an escape": [["X-Api-Key", victim.replace("v", "%76")]],
    "the victim's credential in quotes": [["X-Api-Key", `"${victim}"`]],
    "the victim's credential with a letter that looks alike": [["X-Api-Key", victim.replace("i", "\u00ef")]],
    "a part of the victim's credential": [["X-Api-Key", victim.slice(0, -1)]],
    "the victim's credential and more": [["X-Api-Key", `${victim}x`]],
    "the victim's credential in other headers": [["X-Api-Key", "mallory"], ["Authorization", victim], ["Cookie", `sid=${victim}`]],
    "an alias's tenant": [["X-Api-Key", "acme"]],
    "an alias's hash": [["X-Api-Key", sha256("alias-one")]],
    "the operator's token": admin,
    "a token that is nearly the operator's": [["Authorization", `Bearer ${ADMIN_TOKEN}x`], ["X-Oncekey-Scope", scopeName(victim)]],
  };

  for (const [what, headers] of Object.entries(PRETENCES)) {
    test(`gets nothing by sending ${what}`, async () => {
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
        // The attacker gets only its own response, by its own business key.
        if (at === 0) assert.ok(!response.replayed, response.text);
        assert.ok(!mine.some((text) => response.text.includes(text)), "the attacker does not get the victim's response");
        assert.ok([201, 400, 401].includes(response.status), `${response.status}: another tenant's key is no mismatch`);
        assert.notEqual(response.json.type, "idempotency_error", "the attacker does not learn that the business key exists");
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
      assert.deepEqual([again.replayed, again.text], [true, own.text], "the victim's key is unchanged");
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
    assert.equal((await deliver(gateway, "s0", { id: name })).status, 200, "it is a duplicate only for its own source");
  });

  test("an event is verified by its signature alone, whatever credential comes with it", async () => {
    gateway.origin.route(created, "/webhooks/s2");
    for (const headers of [[["X-Api-Key", victim]], admin, [["Idempotency-Key", newKey()]], [["svix-id", newId()]]]) {
      const forged = await deliver(gateway, "s2", { headers, signature: `v1,${Buffer.alloc(32).toString("base64")}` });
      assert.equal(forged.status, 401);
    }
    const before = gateway.hits("/webhooks/s2");
    const id = newId();
    // A key in the headers of an event does not replace the event's id.
    assert.equal((await deliver(gateway, "s2", { id, headers: [["Idempotency-Key", "one"]] })).status, 201);
    assert.equal((await deliver(gateway, "s2", { headers: [["Idempotency-Key", "one"]] })).status, 201);
    assert.equal(gateway.hits("/webhooks/s2"), before + 2);
    assert.equal(gateway.origin.last("/webhooks/s2").headers["idempotency-attempt"], "1");
  });

  test("a page that the victim visits cannot void or settle a key through the victim's browser", async () => {
    const { key, path } = { key: newKey(), path: gateway.route(inTurn(500, created)) };
    const cookie = [["Cookie", "sid=victim"]];
    await gateway.post(path, key, { a: 1 }, { as: null, headers: cookie });
    // A form or a plain fetch can send the cookie and a body, but not the two headers.
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
      assert.equal(preflight.get("Access-Control-Allow-Origin"), undefined, "the page may not send these headers");
    }
    assert.equal((await gateway.status(key, { as: null, headers: cookie })).state, "unknown");
  });

  test("the operator's token works only for the admin calls, in any spelling of its scheme", async () => {
    const path = gateway.route();
    for (const authorization of [`Bearer ${ADMIN_TOKEN}`, `bearer ${ADMIN_TOKEN}`, `BEARER  ${ADMIN_TOKEN}`]) {
      const headers = [["Authorization", authorization]];
      assert.equal((await gateway.get("/_oncekey/journal?limit=1", { as: null, headers })).status, 200, authorization);
      for (const response of [await gateway.post(path, newKey(), {}, { headers }), await gateway.get(path, { headers }), await gateway.call("POST", path, { headers })]) {
        assert.equal(response.status, 201);
        assert.equal(gateway.origin.last(path).headers.authorization, undefined, authorization);
      }
      assert.equal((await gateway.post(path, newKey(), {}, { as: null, headers })).status, 401, "the token is not a scope");
    }
  });

  test("the admin calls do not exist for other callers", async () => {
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

test("a user with a valid token of the same issuer gets nothing of another user", async () => {
  const issuer = await Issuer.start();
  const vars = { ...issuer.vars, SCOPE: "jwt:tenant+jwt:sub,header:X-Api-Key,cookie:sid", ADMIN_TOKEN };
  const gateway = await startGateway({ vars });
  try {
    const signing = issuer.key("ES256", "a");
    const foreign = issuer.key("ES256", "a", {}, { publish: false });
    const path = gateway.route();
    const key = newKey();
    const send = (headers) => gateway.post(path, key, { a: 1 }, { as: null, headers });
    const bearer = (...token) => [["Authorization", `Bearer ${issuer.token(...token)}`]];
    const victims = { tenant: "acme", sub: "victim" };
    const own = await send(bearer(signing, victims));
    assert.equal(own.status, 201);
    const attacks = {
      "another user": bearer(signing, { tenant: "acme", sub: "mallory" }),
      "the user of another tenant": bearer(signing, { tenant: "evil", sub: "victim" }),
      "claims that trade places": bearer(signing, { tenant: "victim", sub: "acme" }),
      "claims that are shifted": bearer(signing, { tenant: "acmevictim", sub: "x" }),
      "names that look alike": bearer(signing, { tenant: "acme", sub: "victim\u200b" }),
      "a second claim in other letters": bearer(signing, { tenant: "acme", sub: "mallory", Sub: "victim" }),
      "a claim that is a list": bearer(signing, { tenant: "acme", sub: ["victim"] }),
      "a key of its own": bearer(foreign, victims),
      "no signature": [["Authorization", `Bearer ${issuer.forged("none", victims)}`]],
      "its own token and the victim's claims": [["Authorization", `Bearer ${issuer.token(signing, { tenant: "acme", sub: "mallory" }).replace(/\.[^.]+/, issuer.token(signing, victims).match(/\.[^.]+/)[0])}`]],
      "two tokens": [...bearer(signing, { tenant: "acme", sub: "mallory" }), ...bearer(foreign, victims)],
      "the victim's name as an API key": [["X-Api-Key", "victim"]],
      "the victim's name as a cookie": [["Cookie", "sid=victim"]],
      "a token and an API key": [...bearer(signing, { tenant: "acme", sub: "mallory" }), ["X-Api-Key", "victim"]],
    };
    for (const [what, headers] of Object.entries(attacks)) {
      const response = await send(headers);
      assert.ok([201, 400, 401].includes(response.status), `${what}: ${response.status}`);
      assert.ok(!response.replayed && response.text !== own.text, what);
      const state = await gateway.get("/_oncekey/key", { as: null, key, headers });
      assert.ok(!state.text.includes(own.get("X-Request-Id")), what);
    }
    const again = await send(bearer(signing, { ...victims, jti: newKey() }));
    assert.deepEqual([again.replayed, again.text], [true, own.text]);
  } finally {
    await gateway.dispose();
    await issuer.close();
  }
});

test("a caller whom the origin names gets nothing of another one by what it sends beside its credential", async () => {
  const gateway = await startGateway({ vars: { SCOPE: "origin:/v1/me#/id" } });
  try {
    const accounts = { "Bearer v1": "victim", "Bearer m1": "mallory" };
    const me = ({ headers }) => {
      const id = accounts[headers.authorization];
      return { status: id ? 200 : 401, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id }) };
    };
    gateway.origin.route(me, "/v1/me");
    const path = gateway.route();
    const key = newKey();
    const send = (headers) => gateway.post(path, key, { a: 1 }, { as: null, headers });
    const own = await send([["Authorization", "Bearer v1"]]);
    assert.equal(own.status, 201);
    const mallory = ["Authorization", "Bearer m1"];
    for (const headers of [
      [mallory],
      [mallory, ["X-Api-Key", "v1"]],
      [mallory, ["Cookie", "Authorization=Bearer v1"]],
      [mallory, ["Authorization", "Bearer v1"]],
      [["Authorization", "Bearer v1, Bearer m1"]],
      [["Authorization", "Bearer v1\xff"]],
      [mallory, ["X-Original-Url", "/v1/victim"], ["X-Forwarded-User", "victim"]],
      [mallory, ["Connection", "Authorization"]],
    ]) {
      const more = [["Connection", "close"], ["Idempotency-Key", key], ["Content-Type", "application/json"], ["Content-Length", 7]];
      const response = await sendRaw(gateway.url, Buffer.concat([head("POST", path, [...headers, ...more]), Buffer.from('{"a":1}')]));
      assert.ok([201, 400, 401].includes(response.status), `${response.status} ${JSON.stringify(headers)}`);
      assert.ok(!response.text.includes(own.json.id), JSON.stringify(headers));
    }
    assert.equal((await send([["Authorization", "Bearer v1"]])).text, own.text);
  } finally {
    await gateway.dispose();
  }
});

test("two merchants of the sandbox share nothing", async () => {
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
      assert.equal(own.status, 201, "the same key and business key have separate records");
      assert.notEqual((await own.json()).data.id, order.data.id);
    }
    // A secret is shown only in the response that creates it.
    const listed = await (await call(one, "GET", "/v1/webhook_endpoints")).text();
    assert.ok(listed.includes("hooks.shop.example") && !listed.includes("whsec_"));
  } finally {
    await worker.dispose();
  }
});
