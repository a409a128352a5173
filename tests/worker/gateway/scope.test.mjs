// The scope of a key: tenants never share records, and no caller gets a scope by accident.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { newKey, startGateway } from "../fixtures/support.mjs";

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

  test("fault 23: two tenants with one key and one request get two responses", async () => {
    const path = gateway.route();
    const key = newKey();
    const responses = [];
    for (const as of ["tenant_a", "tenant_b", "tenant_A", "tenant_a "])
      responses.push(await gateway.post(path, key, { a: 1 }, { as }));
    assert.deepEqual(
      responses.map((response) => response.replayed),
      [false, false, false, true],
      "HTTP drops the space in which the last credential differs",
    );
    assert.equal(new Set(responses.map((response) => response.text)).size, 3);
    assert.equal(gateway.hits(path), 3);
    assert.equal(await gateway.status(key, { as: "tenant_c" }), undefined, "the key calls show the key to its own tenant only");
    const other = await gateway.post(path, key, { b: 2 }, { as: "tenant_d" });
    assert.equal(other.status, 201, "another tenant's other request does not count as a mismatch");
  });

  test("a request with credentials from two sources is refused with the reason", async () => {
    const path = gateway.route();
    const key = newKey();
    const both = (apiKey, token) => ({ as: apiKey, headers: [["Authorization", `Bearer ${token}`]] });
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).replayed, false);
    for (const more of [both("junk", "t1"), both("one", "t1")]) {
      const refused = await gateway.post(path, key, { a: 1 }, more);
      assert.deepEqual([refused.status, refused.json.type], [400, "invalid_request_error"]);
      for (const word of ["SCOPE", "X-Api-Key", "Authorization", "+"]) assert.ok(refused.json.message.includes(word), word);
      for (const [method, call] of [["GET", "key"], ["POST", "key/void"]])
        assert.equal((await gateway.call(method, `/_oncekey/${call}`, { key, ...more })).status, 400, call);
    }
    assert.equal((await gateway.post(path, key, { a: 1 }, both("", "t1"))).replayed, true, "an empty value does not count");
    const empty = { as: "one", headers: [["Authorization", "Bearer"]] };
    assert.equal((await gateway.post(path, key, { a: 1 }, empty)).status, 201, "a scheme without a value does not count");
    const swapped = { as: null, headers: [["Authorization", "one"]] };
    assert.equal((await gateway.post(path, key, { a: 1 }, swapped)).replayed, false, "another header is another caller");
    assert.equal(gateway.hits(path), 3);
  });

  test("a credential in another spelling is the same caller, or is refused", async () => {
    const path = gateway.route();
    const authorized = (...values) => ({ as: null, headers: values.map((value) => ["Authorization", value]) });
    const SPELLINGS = {
      "Bearer tok1": ["bearer tok1", "BEARER tok1", "Bearer  tok1", "Bearer\t tok1", "  Bearer tok1  ", "Token tok1", "ApiKey tok1", "MyCo tok1", "tok1"],
      "Basic dXNlcjpwYQ==": ["basic dXNlcjpwYQ==", "BASIC   dXNlcjpwYQ=="],
      "Token token=abc": ['Token token="abc"', "token  token = abc"],
    };
    for (const [usual, spellings] of Object.entries(SPELLINGS)) {
      const key = newKey();
      assert.equal((await gateway.post(path, key, { a: 1 }, authorized(usual))).replayed, false);
      for (const spelling of spellings)
        assert.equal((await gateway.post(path, key, { a: 1 }, authorized(spelling))).replayed, true, spelling);
    }
    assert.equal((await gateway.post(path, newKey(), { a: 1 }, authorized("Bearer Tok1"))).replayed, false);
    const before = gateway.hits(path);
    const refused = [
      authorized("Basic dXNlcjpwYQ"),
      authorized("Basic dXNlcjpwYR=="),
      authorized("Bearer tok1, Bearer junk"),
      authorized("Bearer tok1 junk"),
      authorized("Bearer:tok1"),
      authorized("bearer=tok1"),
      authorized('Bearer "tok1"'),
      authorized("Bearer tok1", "Bearer junk"),
      { as: "one", headers: [["X-Api-Key", "junk"]] },
      { as: "one", headers: [["X_Api_Key", "junk"]] },
      { as: null, headers: [["X_Api_Key", "one"]] },
    ];
    for (const more of refused) {
      const response = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([response.status, response.json?.type], [400, "invalid_request_error"], JSON.stringify(more));
      assert.ok(!response.text.includes("tok1"), "the error does not contain the credential");
    }
    assert.equal(gateway.hits(path), before);
  });

  test("fault 24: of requests without a credential, only a keyed write is refused", async () => {
    const path = gateway.route();
    for (const more of [{ as: null }, { as: "" }]) {
      const response = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([response.status, response.json.type], [401, "authentication_error"]);
      assert.match(response.json.message, /X-Api-Key.*Authorization/, "the error names the headers in SCOPE");
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.get(path, { as: null, key: newKey() })).status, 201);
    assert.equal((await gateway.post(path, undefined, { a: 1 }, { as: null })).status, 201);
    assert.equal((await gateway.get("/_oncekey/key", { as: null, key: newKey() })).status, 401);
  });

  test("a token that changes at each refresh is refused as a scope", async () => {
    const path = gateway.route();
    for (const more of [bearer(jwt), { as: jwt }, { as: null, headers: [["Authorization", `bearer  ${jwt}`]] }]) {
      const response = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([response.status, response.json.type], [400, "invalid_request_error"]);
      assert.match(response.json.message, /SCOPE=jwt:sub.*SCOPE_ALIASES/);
      assert.ok(!response.text.includes(jwt), "the error does not contain the credential");
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, undefined, { a: 1 }, bearer(jwt))).status, 201, "a request without a key is forwarded");
    assert.equal(
      (await gateway.post(path, newKey(), { a: 1 }, bearer("sk_live_eyJ.a.b"))).status,
      201,
      "the token only resembles a JWT",
    );
    assert.equal(
      (await gateway.post(path, newKey(), { a: 1 }, bearer(`${jwt}x`))).status,
      201,
      "the alias names the tenant",
    );
  });

  test("a credential that signs each request is refused as a scope, whatever its scheme", async () => {
    const path = gateway.route();
    const SIGNED = [
      "SharedKey account:c2lnbmF0dXJl",
      "SharedKeyLite account:c2lnbmF0dXJl",
      "MAC id=\"h\", ts=\"1\", nonce=\"n\", mac=\"m\"",
      "V2-HMAC-SHA256, Signature: abc",
      "Signature keyId=\"k\",algorithm=\"hs2019\",signature=\"abc\"",
      "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu/s3/aws4_request, SignedHeaders=host, Signature=fe5f",
      "AWS AKID:c2lnbmF0dXJl",
      "Digest username=\"a\", nonce=\"b\", response=\"c\"",
      "Hawk id=\"a\", ts=\"1\", nonce=\"b\", mac=\"c\"",
      "OAuth oauth_nonce=\"b\", oauth_signature=\"c\"",
      "DPoP opaque",
      "HMAC key:abc",
      "acs AKID:c2ln",
      "TC3-HMAC-SHA256 Credential=AKID/2026-01-01/cvm/tc3_request, Signature=x",
      "SCRAM-SHA-256 data=\"x\"",
      "Negotiate YII",
      "NTLM TlRM",
      "Bearer v4.public.abc",
      "v2.local.abc",
    ];
    for (const value of SIGNED) {
      const response = await gateway.post(path, newKey(), { a: 1 }, { as: null, headers: [["Authorization", value]] });
      assert.deepEqual([response.status, response.json.type], [400, "invalid_request_error"], value);
      assert.match(response.json.message, /SCOPE_ALIASES/, value);
    }
    assert.equal(gateway.hits(path), 0);
    for (const value of ["Bearer sk-proj-1", "ApiKey abc", "sso-key key:secret", "OAuth abc", "MyCo abc", "sk_live_1"]) {
      const response = await gateway.post(path, newKey(), { a: 1 }, { as: null, headers: [["Authorization", value]] });
      assert.equal(response.status, 201, value);
    }
  });

  test("a rotated credential that SCOPE_ALIASES names keeps its keys", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "old-key" })).replayed, false);
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "new-key" })).replayed, true);
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("mapped"))).replayed, true, "the alias works for each header");
    assert.equal(
      (await gateway.post(path, key, { a: 1 }, { as: "acme" })).replayed,
      false,
      "a tenant's name does not work as a credential",
    );
  });
});

describe("SCOPE by cookie, with ANONYMOUS=allow", () => {
  let gateway;
  before(
    async () => (gateway = await startGateway({ vars: { SCOPE: "cookie:sid, header:X-Tenant", ANONYMOUS: "allow" } })),
  );
  after(() => gateway.dispose());

  test("the named cookie is the scope, at any position of the header", async () => {
    const path = gateway.route();
    const key = newKey();
    const post = async (...headers) => (await gateway.post(path, key, { a: 1 }, { headers })).replayed;
    assert.equal(await post(["Cookie", "a=1; sid=one"]), false);
    assert.equal(await post(["Cookie", "sid=one;b=2"]), true);
    assert.equal(await post(["Cookie", "sid=two"]), false);
    assert.equal(await post(["Cookie", "xsid=one"]), false, "no session: anonymous");
    assert.equal(await post(), true, "all callers without a credential have one scope");
    assert.equal(await post(["Cookie", "sid="]), true, "an empty cookie does not count");
    assert.equal(await post(["X-Tenant", "one"]), false);
    assert.equal(await post(["Cookie", 'sid="%6fne"']), true, "quotes and escapes are not part of the value");
    const refused = [
      [["X-Tenant", "one"], ["Cookie", "sid=one"]],
      [["Cookie", "sid=one; sid=two"]],
      [["Cookie", "sid=one"], ["Cookie", "sid=two"]],
      [["X-Tenant", "one"], ["X_Tenant", "two"]],
    ];
    for (const headers of refused) {
      const response = await gateway.post(path, key, { a: 1 }, { as: null, headers });
      assert.equal(response.status, 400, JSON.stringify(headers));
    }
    assert.equal(gateway.hits(path), 4);
  });
});

describe("SCOPE of joined sources", () => {
  let gateway;
  before(async () => {
    const vars = { SCOPE: "header:X-Api-Key+header:Authorization", ANONYMOUS: "allow", ADMIN_TOKEN: "an-operators" };
    gateway = await startGateway({ vars });
  });
  after(() => gateway.dispose());

  test("two users of one app key share no records, and a request needs both credentials", async () => {
    const path = gateway.route();
    const key = newKey();
    const by = (as, authorization) => gateway.post(path, key, { a: 1 }, { as, headers: [["Authorization", authorization]] });
    assert.equal((await by("app", "Bearer one")).replayed, false);
    assert.equal((await by("app", "bearer  one")).replayed, true);
    assert.equal((await by("app", "Bearer two")).replayed, false);
    assert.equal((await by("other", "Bearer one")).replayed, false);
    for (const more of [{ as: "app" }, bearer("one"), { as: "app", headers: [["Authorization", ""]] }]) {
      const response = await gateway.post(path, key, { a: 1 }, more);
      assert.deepEqual([response.status, response.json.type], [401, "authentication_error"], "ANONYMOUS=allow applies only to requests without any credential");
      assert.match(response.json.message, /Authorization together with the header X-Api-Key/);
    }
    assert.equal((await by("app", "Bearer  an-operators")).status, 401, "an operator's token does not work as a credential");
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: null })).replayed, false);
    assert.equal(gateway.hits(path), 4);
  });
});
