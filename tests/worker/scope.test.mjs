// Whose key it is: tenants never meet, and nobody is somebody by accident.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { newKey, startGateway } from "./support.mjs";

const sha256 = (text) => createHash("sha256").update(text).digest("hex");
const jwt = `eyJhbGciOiJIUzI1NiJ9.${Buffer.from('{"sub":"1"}').toString("base64url")}.c2lnbmF0dXJl`;
const bearer = (token) => ({ as: null, headers: [["Authorization", `Bearer ${token}`]] });

describe("the scope", () => {
  let gateway;
  before(async () => {
    const SCOPE_ALIASES = [
      ["old-key", "acme"],
      ["new-key", "acme"],
      ["Bearer mapped", "acme"],
      [`Bearer ${jwt}x`, "jwt-tenant"],
    ];
    gateway = await startGateway({
      vars: { SCOPE_ALIASES: SCOPE_ALIASES.map(([value, tenant]) => `${sha256(value)}:${tenant}`).join(",") },
    });
  });
  after(() => gateway.dispose());

  test("fault 23: two tenants with one key and one request get two answers", async () => {
    const path = gateway.route();
    const key = newKey();
    const answers = [];
    for (const as of ["tenant_a", "tenant_b", "tenant_A", "tenant_a "])
      answers.push(await gateway.post(path, key, { a: 1 }, { as }));
    assert.deepEqual(
      answers.map((answer) => answer.replayed),
      [false, false, false, true],
      "the last differs in a space that HTTP drops",
    );
    assert.equal(new Set(answers.map((answer) => answer.text)).size, 3);
    assert.equal(gateway.hits(path), 3);
    assert.equal(await gateway.status(key, { as: "tenant_c" }), undefined, "and the key calls tell nobody else");
    const other = await gateway.post(path, key, { b: 2 }, { as: "tenant_d" });
    assert.equal(other.status, 201, "another tenant's other request is no mismatch");
  });

  test("the first source that is there decides, and only it", async () => {
    const path = gateway.route();
    const key = newKey();
    const both = (apiKey, token) => ({ as: apiKey, headers: [["Authorization", `Bearer ${token}`]] });
    assert.equal((await gateway.post(path, key, { a: 1 }, both("one", "t1"))).replayed, false);
    assert.equal(
      (await gateway.post(path, key, { a: 1 }, both("one", "t2"))).replayed,
      true,
      "Authorization does not count beside X-Api-Key",
    );
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).replayed, false);
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).replayed, true);
    const swapped = { as: null, headers: [["Authorization", "one"]] };
    assert.equal(
      (await gateway.post(path, key, { a: 1 }, swapped)).replayed,
      false,
      "a value in another header is another caller",
    );
  });

  test("fault 24: a keyed write without a credential is refused, and nothing else is", async () => {
    const path = gateway.route();
    for (const more of [{ as: null }, { as: "" }]) {
      const answer = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([answer.status, answer.json.type], [401, "authentication_error"]);
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.get(path, { as: null, key: newKey() })).status, 201);
    assert.equal((await gateway.post(path, undefined, { a: 1 }, { as: null })).status, 201);
    assert.equal((await gateway.get("/_oncekey/key", { as: null, key: newKey() })).status, 401);
  });

  test("a token that changes at each refresh is refused as a scope", async () => {
    const path = gateway.route();
    for (const more of [bearer(jwt), { as: jwt }, { as: null, headers: [["Authorization", `bearer  ${jwt}`]] }]) {
      const answer = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([answer.status, answer.json.type], [400, "invalid_request_error"]);
      assert.match(answer.json.message, /SCOPE_ALIASES/);
      assert.ok(!answer.text.includes(jwt), "a credential is not shown");
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, undefined, { a: 1 }, bearer(jwt))).status, 201, "without a key it passes");
    assert.equal(
      (await gateway.post(path, newKey(), { a: 1 }, bearer("sk_live_eyJ.a.b"))).status,
      201,
      "that only looks like one from afar",
    );
    assert.equal(
      (await gateway.post(path, newKey(), { a: 1 }, bearer(`${jwt}x`))).status,
      201,
      "an alias says whose it is",
    );
  });

  test("a rotated credential that SCOPE_ALIASES names keeps its keys", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "old-key" })).replayed, false);
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "new-key" })).replayed, true);
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("mapped"))).replayed, true, "from whichever header");
    assert.equal(
      (await gateway.post(path, key, { a: 1 }, { as: "acme" })).replayed,
      false,
      "a tenant's name is no credential",
    );
  });
});

describe("SCOPE by cookie, with ANONYMOUS=allow", () => {
  let gateway;
  before(
    async () => (gateway = await startGateway({ vars: { SCOPE: "cookie:sid, header:X-Tenant", ANONYMOUS: "allow" } })),
  );
  after(() => gateway.dispose());

  test("the named cookie says who it is, wherever it stands", async () => {
    const path = gateway.route();
    const key = newKey();
    const post = async (...headers) => (await gateway.post(path, key, { a: 1 }, { headers })).replayed;
    assert.equal(await post(["Cookie", "a=1; sid=one"]), false);
    assert.equal(await post(["Cookie", "sid=one;b=2"]), true);
    assert.equal(await post(["Cookie", "sid=two"]), false);
    assert.equal(await post(["Cookie", "xsid=one"]), false, "no session: anonymous");
    assert.equal(await post(), true, "one scope for all who say nothing");
    assert.equal(await post(["Cookie", "sid="]), true, "an empty one says nothing");
    assert.equal(await post(["X-Tenant", "one"]), false);
    assert.equal(await post(["X-Tenant", "one"], ["Cookie", "sid=one"]), true, "the cookie comes first");
    assert.equal(gateway.hits(path), 4);
  });
});
