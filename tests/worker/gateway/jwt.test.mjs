// SCOPE=jwt:CLAIM: a claim of a JWT identifies the caller, however often the token is refreshed.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Issuer, seconds } from "../fixtures/issuer.mjs";
import { eventually, gated, newKey, startGateway } from "../fixtures/support.mjs";

const bearer = (token) => ({ as: null, headers: [["Authorization", `Bearer ${token}`]] });

async function start(vars = {}, options = {}) {
  const issuer = await Issuer.start();
  const gateway = await startGateway({ vars: { ...issuer.vars, ...vars }, ...options });
  const dispose = async () => (await gateway.dispose(), await issuer.close());
  return { issuer, gateway, dispose };
}

describe("a JWT that identifies the caller", () => {
  let issuer, gateway, dispose;
  const keys = {};
  before(async () => {
    ({ issuer, gateway, dispose } = await start({ JWT_AUDIENCE: "https://api.example,https://app.example" }));
    for (const alg of ["RS256", "PS256", "ES256", "EdDSA"]) keys[alg] = issuer.key(alg, `key-${alg}`);
  });
  after(() => dispose());

  const post = (path, key, token, body = { a: 1 }) => gateway.post(path, key, body, bearer(token));
  const isRefused = (response, message, status = 401) => {
    const type = status === 401 ? "authentication_error" : "invalid_request_error";
    assert.deepEqual([response.status, response.json?.type], [status, type], response.text);
    assert.match(response.json.message, message);
    assert.equal(response.get("Idempotency-State"), "absent");
  };

  test("fault 23: two tokens of one user are one caller, whatever signs them, and two users never share a response", async () => {
    const path = gateway.route();
    const key = newKey();
    const responses = [];
    for (const [at, of] of Object.values(keys).entries())
      responses.push(await post(path, key, issuer.token(of, { sub: "ann", exp: seconds() + 300 + at, jti: newKey() })));
    assert.deepEqual(responses.map(({ status, replayed }) => [status, replayed]), [[201, false], [201, true], [201, true], [201, true]]);
    assert.equal(gateway.hits(path), 1);
    for (const sub of ["bob", "Ann", "ann ", "an", 7, "7"]) {
      const other = await post(path, key, issuer.token(keys.ES256, { sub }));
      assert.deepEqual([other.status, other.replayed], [201, false], JSON.stringify(sub));
      assert.notEqual(other.text, responses[0].text);
    }
    assert.equal(gateway.hits(path), 7);
    const state = (sub) => gateway.status(key, bearer(issuer.token(keys.RS256, { sub })));
    assert.equal((await state("ann")).state, "completed");
    assert.equal(await state("eve"), undefined);
  });

  test("requests that arrive together with two tokens of one user are executed once", async () => {
    const handler = gated();
    const path = gateway.route(handler);
    const key = newKey();
    const first = post(path, key, issuer.token(keys.ES256, { sub: "two", jti: "1" }));
    await handler.reached;
    const second = await post(path, key, issuer.token(keys.EdDSA, { sub: "two", jti: "2" }));
    assert.equal(second.json.code, "idempotency_in_progress");
    handler.open();
    assert.equal((await first).status, 201);
    assert.equal(gateway.hits(path), 1);
  });

  test("a token with the wrong issuer, audience, time or type is refused before anything is executed", async () => {
    const path = gateway.route();
    const good = { sub: "u" };
    for (const claims of [
      { aud: ["x", "https://app.example"] },
      { exp: seconds() - 5 },
      { nbf: seconds() + 30 },
      { exp: seconds() + 600.5 },
    ])
      assert.equal((await post(path, newKey(), issuer.token(keys.ES256, { ...good, ...claims }))).status, 201, JSON.stringify(claims));
    const before = gateway.hits(path);
    for (const [claims, message] of [
      [{ iss: "https://id.example" }, /issuer/],
      [{ iss: undefined }, /issuer/],
      [{ aud: "https://api.example/" }, /audience/],
      [{ aud: undefined }, /audience/],
      [{ aud: ["x"] }, /audience/],
      [{ exp: seconds() - 90 }, /has expired. Get a new token/],
      [{ exp: undefined }, /time of expiry/],
      [{ exp: "9999999999" }, /exactly one way/],
      [{ nbf: seconds() + 900 }, /not valid yet/],
    ])
      isRefused(await post(path, newKey(), issuer.token(keys.ES256, { ...good, ...claims })), message);
    isRefused(await post(path, newKey(), issuer.token(keys.ES256, good, { typ: "logout+jwt" })), /type/);
    isRefused(await post(path, newKey(), issuer.token(keys.ES256, good, { crit: ["b64"], b64: true })), /exactly one way/);
    assert.equal(gateway.hits(path), before);
  });

  test("a token that the issuer did not sign is refused", async () => {
    const path = gateway.route();
    const claims = { sub: "u" };
    const good = issuer.token(keys.RS256, claims);
    const [header, payload, signature] = good.split(".");
    const other = Buffer.from(JSON.stringify(issuer.claims({ sub: "admin" }))).toString("base64url");
    const pem = keys.RS256.publicKey.export({ type: "spki", format: "pem" });
    const jwk = JSON.stringify(keys.RS256.jwk);
    const own = { ...issuer.key("RS256", "key-RS256", {}, { publish: false }) };
    const kid = { kid: "key-RS256" };
    const cases = {
      "another payload": [`${header}.${other}.${signature}`, /signature/],
      "no signature": [`${header}.${payload}.`, /signature/],
      "another signature": [`${header}.${payload}.${issuer.token(keys.RS256, { sub: "v" }).split(".")[2]}`, /signature/],
      "another key with the same id": [issuer.token(own, claims), /signature/],
      "a key in the header": [issuer.token(own, claims, { jwk: own.jwk, jku: "https://evil.example" }), /signature/],
      "alg none": [issuer.forged("none", claims, undefined, kid), /RS256/],
      "alg NONE": [issuer.forged("NONE", claims, undefined, kid), /RS256/],
      "the public key as the secret of HS256": [issuer.forged("HS256", claims, pem, kid), /RS256/],
      "the JWK as the secret of HS256": [issuer.forged("HS256", claims, jwk, kid), /RS256/],
      "RS256 for a key of PS256": [issuer.token({ ...keys.PS256, alg: "RS256" }, claims), /no key/],
      "RS256 for a key of ES256": [issuer.token(keys.RS256, claims, { kid: "key-ES256" }), /no key/],
      "ES256 for a key of RS256": [issuer.token(keys.ES256, claims, kid), /no key/],
      "two members of one name": [issuer.token(keys.RS256, `{"sub":"u","sub":"v"}`), /exactly one way/],
      "another alg in the header": [issuer.token(keys.RS256, claims, `{"alg":"RS256","alg":"none","kid":"key-RS256"}`), /exactly one way/],
      "base64 with padding": [`${header}.${payload}.${signature}=`, /exactly one way/],
      "no JWT": ["opaque", /exactly one way/],
    };
    for (const [name, [token, message]] of Object.entries(cases)) {
      const response = await post(path, newKey(), token);
      isRefused(response, message);
      if (token) assert.ok(!response.text.includes(token), `${name}: the error does not contain the token`);
    }
    for (const value of [`Basic ${good}`, good, `Bearer ${good}, Bearer ${good}`])
      isRefused(await gateway.post(path, newKey(), { a: 1 }, { as: null, headers: [["Authorization", value]] }), /exactly one way/);
    assert.equal(gateway.hits(path), 0);
    assert.equal((await post(path, newKey(), good)).status, 201);
  });

  test("a token without the claim is refused with the name of the claim", async () => {
    const path = gateway.route();
    for (const sub of [undefined, "", " ", null, true, 1.5, ["u"], { id: "u" }])
      isRefused(await post(path, newKey(), issuer.token(keys.ES256, { sub })), /claim sub/, 400);
    assert.equal(gateway.hits(path), 0);
  });

  test("a request without a key passes unchecked, and one without a token gets 401", async () => {
    const path = gateway.route();
    for (const token of [issuer.token(keys.ES256, { sub: "u", exp: 1 }), "x"]) {
      assert.equal((await post(path, undefined, token)).status, 201);
      assert.equal((await gateway.get(path, bearer(token))).status, 201);
    }
    assert.equal(gateway.origin.last(path).headers.authorization, "Bearer x");
    for (const more of [{ as: null }, { as: "k" }, bearer("")]) {
      const refused = await gateway.post(path, newKey(), { a: 1 }, more);
      isRefused(refused, /Send the header Authorization with a JWT/);
    }
  });
});

test("joined claims and headers are one caller only together, and never meet a scope of headers", async () => {
  const { issuer, gateway, dispose } = await start({ SCOPE: "jwt:https://x.example/tenant+jwt:sub+header:X-App,header:X-Api-Key" });
  try {
    const es256 = issuer.key("ES256", "a");
    const path = gateway.route();
    const key = newKey();
    const as = (tenant, sub, app) => {
      const token = issuer.token(es256, { "https://x.example/tenant": tenant, sub, jti: newKey() });
      return gateway.post(path, key, { a: 1 }, { as: null, headers: [["Authorization", `Bearer ${token}`], ["X-App", app]] });
    };
    assert.equal((await as("t", "u", "a")).replayed, false);
    assert.equal((await as("t", "u", "a")).replayed, true);
    for (const other of [["u", "t", "a"], ["t", "u", "b"], ["t2", "u", "a"], ["t", "u2", "a"]])
      assert.equal((await as(...other)).replayed, false, other.join());
    assert.equal((await as("t", undefined, "a")).status, 400);
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "u" })).replayed, false, "the other alternative");
    const vary = (await as("t", "u", "a")).get("Vary");
    for (const name of ["Authorization", "X-App"]) assert.match(vary, new RegExp(name, "i"));
  } finally {
    await dispose();
  }
});

test("keys rotate: a new key is fetched at once or after a minute, and a withdrawn one stops counting", async () => {
  const { issuer, gateway, dispose } = await start({}, { faults: true });
  try {
    const path = gateway.route();
    const post = (token) => gateway.post(path, newKey(), { a: 1 }, bearer(token));
    const old = issuer.key("RS256", "old");
    const responses = await Promise.all([1, 2, 3, 4, 5].map((at) => post(issuer.token(old, { sub: `u${at}` }))));
    assert.deepEqual(responses.map(({ status }) => status), [201, 201, 201, 201, 201]);
    assert.equal(issuer.fetches, 1, "the first requests wait for one fetch");

    const fresh = issuer.key("ES256", "new");
    for (let at = 0; at < 5; at++) assert.equal((await post(issuer.token(fresh, { sub: "u" }))).status, 401);
    assert.equal(issuer.fetches, 1, "unknown keys are fetched at most once a minute");
    await gateway.clock(61_000);
    assert.equal((await post(issuer.token(fresh, { sub: "u" }))).status, 201);
    assert.equal((await post(issuer.token(old, { sub: "u" }))).status, 201);
    assert.equal(issuer.fetches, 2);

    issuer.keys = issuer.keys.filter(({ kid }) => kid === "new");
    await gateway.clock(61_000 + 601_000);
    const exp = seconds() + 9000;
    assert.equal((await post(issuer.token(old, { sub: "u", exp }))).status, 401, "the keys are fetched again after ten minutes");
    assert.equal(issuer.fetches, 3);
  } finally {
    await dispose();
  }
});

test("while the keys cannot be fetched, a request gets 503 before anything is executed, and known keys still count", async () => {
  const { issuer, gateway, dispose } = await start({}, { faults: true });
  try {
    const path = gateway.route();
    const es256 = issuer.key("ES256", "a");
    const key = newKey();
    const post = (more) => gateway.post(path, key, { a: 1 }, bearer(issuer.token(es256, { sub: "u", ...more })));
    const { respond } = issuer;
    for (const [at, down] of [
      () => ({ status: 500 }),
      () => ({ status: 302, headers: { Location: "/jwks.json?again" } }),
      () => ({ body: "no JSON" }),
      () => ({ body: '{"keys":[]}' }),
      () => ({ body: JSON.stringify({ keys: issuer.keys, pad: "x".repeat(70_000) }) }),
      (_, response) => void response.socket.destroy(),
    ].entries()) {
      issuer.respond = down;
      await gateway.clock(at * 2000);
      const response = await post();
      assert.deepEqual([response.status, response.json.code], [503, "api_connection_error"], response.text);
      assert.deepEqual([response.get("Retry-After"), response.get("X-Should-Retry"), response.get("Idempotency-State")], ["1", "true", "absent"]);
      assert.match(response.json.message, /was not executed/);
    }
    assert.equal(gateway.hits(path), 0);
    issuer.respond = respond;
    await gateway.clock(20_000);
    await eventually(async () => assert.equal((await post()).status, 201));
    issuer.respond = () => ({ status: 500 });
    await gateway.clock(20_000 + 3_600_000);
    assert.equal((await post({ exp: seconds() + 90_000 })).replayed, true, "keys in memory count for a day");
    assert.equal(gateway.hits(path), 1);
  } finally {
    await dispose();
  }
});
