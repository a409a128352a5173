// The key calls of callers and operators: what each of them may read and change.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, gated, inTurn, newKey, recordName, scopeName, startGateway } from "../fixtures/support.mjs";

const TOKEN = "admin-token-0123456789";
const admin = (token = TOKEN) => [["Authorization", `Bearer ${token}`]];

describe("with an ADMIN_TOKEN", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { ADMIN_TOKEN: TOKEN } })));
  after(() => gateway.dispose());

  const settle = (key, body, { headers = admin(), ...more } = {}) =>
    gateway.call("POST", "/_oncekey/key/settle", { key, body, headers, ...more });
  const voidKey = (key, more) => gateway.call("POST", "/_oncekey/key/void", { key, ...more });
  const executed = {
    outcome: "executed",
    status: 201,
    headers: {
      "Content-Type": "text/plain",
      Location: "/orders/7",
      Link: ["<a>", "<b>"],
      "X-Request-Id": "req_found",
      "Set-Cookie": "x=1",
    },
    body: "ördered",
  };

  /** Creates a key whose outcome is unknown. */
  async function unknownKey(...then) {
    const path = gateway.route(inTurn(500, ...then, created));
    const key = newKey();
    assert.equal((await gateway.post(path, key)).state, "unknown");
    return { path, key };
  }

  test("a key that is settled as executed replays the operator's response", async () => {
    const { path, key } = await unknownKey();
    const result = await settle(key, executed);
    assert.deepEqual(
      [result.status, result.json.state, result.json.http_status, result.json.request_id, result.state],
      [200, "completed", 201, "req_found", "completed"],
    );
    const response = await gateway.post(path, key);
    assert.deepEqual([response.status, response.replayed, response.text], [201, true, "ördered"]);
    assert.deepEqual(
      [response.get("Location"), response.get("Link"), response.get("X-Request-Id"), response.get("Set-Cookie")],
      ["/orders/7", "<a>, <b>", "req_found", undefined],
    );
    assert.equal(gateway.hits(path), 1);
    assert.equal((await gateway.post(path, key, { a: 2 })).json.type, "idempotency_error");
  });

  test("a key that is settled as not executed is released, and a status alone is enough for a response", async () => {
    const { path, key } = await unknownKey();
    const result = await settle(key, { outcome: "not_executed" });
    assert.deepEqual([result.status, result.json.state], [200, "released"]);
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "2");
    const bare = await unknownKey();
    const response = await settle(bare.key, { outcome: "executed", status: 204 });
    const replay = await gateway.post(bare.path, bare.key);
    assert.deepEqual(
      [replay.status, replay.body.length, replay.get("X-Request-Id")],
      [204, 0, response.get("X-Request-Id")],
      "a settlement as executed needs only a status",
    );
    const other = await unknownKey();
    await settle(other.key, { outcome: "not_executed" });
    assert.equal((await voidKey(other.key)).json.state, "voided", "a key that was not executed can be voided");
  });

  test("only an unknown outcome can be settled", async () => {
    const keys = { completed: newKey(), released: newKey(), voided: newKey(), in_progress: newKey() };
    await gateway.post(gateway.route(), keys.completed);
    await gateway.post(gateway.route(inTurn(429)), keys.released);
    await voidKey(keys.voided);
    const slow = gated();
    const path = gateway.route(slow);
    const first = gateway.post(path, keys.in_progress);
    await slow.reached;
    for (const [state, key] of Object.entries(keys)) {
      for (const body of [{ outcome: "not_executed" }, executed]) {
        const response = await settle(key, body);
        assert.deepEqual([response.status, response.state, response.json.code], [409, state, "idempotency_not_unknown"]);
      }
      assert.equal((await gateway.status(key)).state, state);
    }
    slow.open();
    await first;
    const none = await settle(newKey(), executed);
    assert.deepEqual([none.status, none.json.code], [404, "idempotency_key_not_found"], "a key without a record cannot be settled");
    const { key } = await unknownKey();
    await settle(key, executed);
    assert.equal((await settle(key, { outcome: "not_executed" })).status, 409, "a key cannot be settled twice");
  });

  test("an invalid settlement is refused and changes nothing", async () => {
    const { key } = await unknownKey();
    const bad = [
      "",
      "[]",
      "{",
      "null",
      {},
      { outcome: "maybe" },
      { outcome: "executed" },
      { outcome: "executed", status: 500 },
      { outcome: "executed", status: 199 },
      { outcome: "executed", status: 65736 },
      { outcome: "executed", status: 307 },
      { outcome: "executed", status: 409 },
      { outcome: "executed", status: 429 },
      { outcome: "executed", status: "201" },
      { ...executed, headers: { a: 1 } },
      { ...executed, headers: { a: ["x", 1] } },
      { ...executed, body: { a: 1 } },
    ];
    for (const body of bad) {
      const response = await settle(key, body);
      assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], JSON.stringify(body));
    }
    assert.equal((await gateway.status(key)).state, "unknown");
  });

  test("a settlement with headers that HTTP does not allow does not break replays", async () => {
    const { path, key } = await unknownKey();
    const response = await settle(key, {
      ...executed,
      headers: { "a b": "x", "X-Bad": "a\r\nb: c", "X-Good": "1", "": "x" },
    });
    // The settlement may be refused, or kept without these headers, but a replay must not fail.
    if (response.status === 200) {
      const response = await gateway.post(path, key);
      assert.deepEqual(
        [response.status, response.text, response.get("X-Good"), response.get("b")],
        [201, "ördered", "1", undefined],
      );
    } else {
      assert.equal(response.status, 400);
      assert.equal((await gateway.post(path, key)).json.type, "idempotency_outcome_unknown");
    }
  });

  test("a settlement needs exactly the operator's token", async () => {
    const { key } = await unknownKey();
    const headers = [
      [],
      admin("wrong"),
      admin(`${TOKEN}x`),
      admin(TOKEN.slice(1)),
      admin(""),
      [["Authorization", TOKEN]],
      [["Authorization", `Basic ${TOKEN}`]],
    ];
    for (const one of headers) {
      const response = await settle(key, { outcome: "not_executed" }, { headers: one });
      assert.deepEqual([response.status, response.json.type], [401, "authentication_error"], JSON.stringify(one));
    }
    assert.equal((await gateway.status(key)).state, "unknown");
  });

  test("an operator selects the tenant by its credential or by the hash of its scope", async () => {
    const { key } = await unknownKey();
    const by = (pairs, more) => gateway.get("/_oncekey/key", { key, headers: [...admin(), ...pairs], ...more });
    assert.equal((await by([])).json.state, "unknown");
    assert.equal((await by([["X-Oncekey-Scope", scopeName()]], { as: null })).json.state, "unknown");
    assert.equal(
      (await by([["X-Oncekey-Scope", scopeName()]], { as: "another_tenant" })).json.state,
      "unknown",
      "the hash counts",
    );
    assert.equal((await by([["X-Oncekey-Scope", scopeName("another_tenant")]])).status, 404);
    assert.equal((await by([], { as: null })).status, 400, "the admin's own token is never a scope");
    assert.equal((await by([["X-Oncekey-Scope", "xyz"]])).status, 400);
    // The header has no effect for callers without the token.
    const stranger = await gateway.get("/_oncekey/key", {
      key,
      as: "stranger",
      headers: [["X-Oncekey-Scope", scopeName()]],
    });
    assert.equal(stranger.status, 404);
    const response = await settle(key, executed, { headers: [...admin(), ["X-Oncekey-Scope", scopeName()]], as: null });
    assert.equal(response.json.state, "completed");
  });

  test("a settlement is recorded although its reply is lost", async () => {
    const { key } = await unknownKey();
    await gateway.faults(key, { op: "settle", fault: "lose" });
    const response = await settle(key, { outcome: "not_executed" });
    assert.ok([200, 409].includes(response.status), "the second try finds that the key is already settled");
    assert.equal((await gateway.status(key)).state, "released");
  });

  test("a key that is voided before its request arrives is never executed", async () => {
    const path = gateway.route(inTurn(429, created));
    const [fresh, released] = [newKey(), newKey()];
    await gateway.post(path, released);
    for (const key of [fresh, released]) {
      assert.deepEqual([(await voidKey(key)).json.state, (await voidKey(key)).status], ["voided", 200]);
      for (const body of [{ a: 1 }, { a: 2 }]) {
        const late = await gateway.post(path, key, body);
        assert.deepEqual([late.status, late.json.type, late.state], [409, "idempotency_key_voided", "voided"]);
        const days = (Date.parse(late.get("Idempotency-Expires")) - Date.now()) / 86_400_000;
        assert.ok(days > 29.9 && days < 30.1);
      }
    }
    assert.equal(gateway.hits(path), 1);
    assert.equal(
      (await voidKey(fresh, { as: "stranger" })).json.state,
      "voided",
      "another tenant voids only a key of its own",
    );
  });

  test("a key whose attempt may have been executed cannot be voided", async () => {
    const slow = gated();
    const [done, busy] = [newKey(), newKey()];
    const path = gateway.route(inTurn(created, slow));
    await gateway.post(path, done);
    const first = gateway.post(path, busy);
    await slow.reached;
    const { key } = await unknownKey();
    for (const [one, state] of [
      [done, "completed"],
      [busy, "in_progress"],
      [key, "unknown"],
    ]) {
      const response = await voidKey(one);
      assert.deepEqual([response.status, response.json.state, response.state], [200, state, state]);
    }
    slow.open();
    assert.equal((await first).status, 201);
  });

  test("a key that is voided while its request is in progress is either voided or executed, never both", async () => {
    for (let round = 0; round < 8; round++) {
      const path = gateway.route();
      const key = newKey();
      const [result, response] = await Promise.all([voidKey(key), gateway.post(path, key)]);
      if (result.json.state === "voided") assert.deepEqual([response.status, gateway.hits(path)], [409, 0]);
      else assert.deepEqual([response.status, gateway.hits(path)], [201, 1]);
    }
  });

  test("a key call needs one valid key in the header, and its own method", async () => {
    assert.equal((await gateway.get("/_oncekey/key")).json.code, "idempotency_key_missing");
    assert.equal((await gateway.get("/_oncekey/key", { key: "a b" })).status, 400);
    assert.equal((await gateway.get(`/_oncekey/key?key=${newKey()}`)).status, 400);
    for (const [method, path] of [
      ["POST", "/_oncekey/key"],
      ["GET", "/_oncekey/key/void"],
      ["DELETE", "/_oncekey/health"],
    ]) {
      assert.equal((await gateway.call(method, path, { key: newKey() })).status, 405, `${method} ${path}`);
    }
    assert.equal((await gateway.get("/_oncekey/nothing")).status, 404);
    const head = await gateway.call("HEAD", "/_oncekey/health");
    assert.deepEqual([head.status, head.body.length], [200, 0]);
  });

  test("stored records contain neither key nor credential", async () => {
    const key = `visible-${newKey()}`;
    await gateway.post(gateway.route(), key);
    const [{ name, record }] = await gateway.sql(key, "SELECT name, record FROM records WHERE name = ?", {
      hex: recordName(key),
    });
    for (const secret of [key, "kuko_test_gateway"]) {
      assert.ok(!Buffer.from(record.hex, "hex").includes(secret) && !Buffer.from(name.hex, "hex").includes(secret));
    }
  });
});

test("without an ADMIN_TOKEN there are no admin calls", async () => {
  const gateway = await startGateway();
  try {
    const path = gateway.route(inTurn(500));
    const key = newKey();
    await gateway.post(path, key);
    for (const headers of [[], admin(""), admin("undefined"), admin("x")]) {
      const response = await gateway.call("POST", "/_oncekey/key/settle", {
        key,
        headers,
        body: { outcome: "not_executed" },
      });
      assert.equal(response.status, 404);
    }
    assert.equal((await gateway.get("/_oncekey/journal", { headers: admin("x") })).status, 404);
    assert.equal((await gateway.status(key)).state, "unknown");
  } finally {
    await gateway.dispose();
  }
});
