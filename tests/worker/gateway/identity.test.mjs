// Questions to the origin: who a caller is (SCOPE=origin:…), and whether it may read a replay (REPLAY_AUTHORIZATION).
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, cut, eventually, gated, newKey, noMemory, startGateway } from "../fixtures/support.mjs";

const json = { "Content-Type": "application/json" };
const bearer = (token, more = []) => ({ as: null, headers: [["Authorization", `Bearer ${token}`], ...more] });

/** An origin that knows tokens, and says at /v1/me whose they are. */
class Accounts {
  tokens = new Map();
  respond = ({ headers }) => {
    const credential = headers.authorization ?? headers["x-api-key"] ?? headers["x-session"] ?? headers.cookie;
    const id = this.tokens.get(credential?.replace("Bearer ", ""));
    if (id === undefined) return { status: 401, headers: { ...json, "WWW-Authenticate": 'Bearer error="invalid_token"' }, body: '{"error":"revoked"}' };
    return { status: 200, headers: json, body: JSON.stringify({ account: { id, org: "o1" } }) };
  };

  async start(vars, options = {}) {
    const gateway = await startGateway({ vars: { SCOPE: "origin:/v1/me#/account/id", ...vars }, ...options });
    gateway.origin.route((...call) => this.respond(...call), "/v1/me");
    return gateway;
  }
}

describe("a caller whom the origin names", () => {
  const accounts = new Accounts();
  let gateway;
  before(async () => (gateway = await accounts.start()));
  after(() => gateway.dispose());
  const asked = () => gateway.hits("/v1/me");
  const fresh = (id) => {
    const token = newKey();
    accounts.tokens.set(token, id);
    return token;
  };

  test("fault 23: two opaque tokens of one account are one caller, and two accounts never share a response", async () => {
    const path = gateway.route();
    const key = newKey();
    const responses = [];
    for (const token of [fresh("ann"), fresh("ann"), fresh("ann")])
      responses.push(await gateway.post(path, key, { a: 1 }, bearer(token)));
    responses.push(await gateway.post(path, key, { a: 1 }, { as: fresh("ann") }));
    assert.deepEqual(responses.map(({ status, replayed }) => [status, replayed]), [[201, false], [201, true], [201, true], [201, true]]);
    assert.equal(new Set(responses.map(({ text }) => text)).size, 1);
    for (const id of ["bob", "Ann", 7, "7"]) {
      const other = await gateway.post(path, key, { a: 1 }, bearer(fresh(id)));
      assert.deepEqual([other.status, other.replayed], [201, false], JSON.stringify(id));
    }
    assert.equal(gateway.hits(path), 5);
    assert.equal(await gateway.status(key, bearer(fresh("eve"))), undefined);
    assert.equal((await gateway.status(key, bearer(fresh("ann")))).state, "completed");
  });

  test("the origin gets the credential and nothing else of the request, once for each credential", async () => {
    const path = gateway.route();
    const token = fresh("cid");
    const before = asked();
    const more = [["Cookie", "theme=dark"], ["X-Other", "1"], ["Content-Type", "text/plain"], ["Accept", "text/csv"]];
    for (const key of [newKey(), newKey(), newKey()])
      assert.equal((await gateway.post(`${path}?q=1`, key, "secret", bearer(token, more))).status, 201);
    assert.equal(asked(), before + 1);
    const question = gateway.origin.last("/v1/me");
    assert.deepEqual([question.method, question.target, question.body.length], ["GET", "/v1/me", 0]);
    const { authorization, cookie, accept } = question.headers;
    assert.deepEqual([authorization, cookie, accept], [`Bearer ${token}`, "theme=dark", "application/json"]);
    for (const name of ["x-other", "content-type", "idempotency-key", "x-forwarded-host"]) assert.equal(question.headers[name], undefined, name);
    assert.equal((await gateway.post(path, undefined, { a: 1 }, bearer("x"))).status, 201, "without a key nobody is asked");
    assert.equal(asked(), before + 1);
  });

  test("a credential that the origin refuses gets the origin's answer, and nothing is executed or kept", async () => {
    const path = gateway.route();
    const key = newKey();
    const token = newKey();
    for (const status of [401, 403]) {
      const { respond } = accounts;
      if (status === 403) accounts.respond = () => ({ status: 403, headers: json, body: '{"error":"blocked"}' });
      const refused = await gateway.post(path, key, { a: 1 }, bearer(token));
      accounts.respond = respond;
      assert.deepEqual([refused.status, refused.json.error], [status, status === 401 ? "revoked" : "blocked"]);
      assert.equal(refused.get("Idempotency-State"), "absent");
      if (status === 401) assert.match(refused.get("WWW-Authenticate"), /invalid_token/);
    }
    assert.equal((await gateway.get("/_oncekey/key", { key, ...bearer(token) })).status, 401);
    assert.equal(gateway.hits(path), 0);
    accounts.tokens.set(token, "dan");
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer(token))).status, 201, "the refusal was not kept");
    for (const more of [{ as: null }, bearer("")]) {
      const refused = await gateway.post(path, newKey(), { a: 1 }, more);
      assert.deepEqual([refused.status, refused.json.type], [401, "authentication_error"]);
    }
  });

  test("an answer that names nobody is a 503, and nothing is executed or kept", async () => {
    const path = gateway.route();
    const key = newKey();
    const token = fresh("fay");
    const { respond } = accounts;
    for (const unclear of [
      () => ({ status: 500, headers: json, body: '{"account":{"id":"fay"}}' }),
      () => ({ status: 404, body: "" }),
      () => ({ status: 302, headers: { Location: "/v1/me?again" } }),
      () => ({ status: 200, headers: json, body: '{"account":{}}' }),
      () => ({ status: 200, headers: json, body: '{"account":{"id":null}}' }),
      () => ({ status: 200, headers: json, body: '{"account":{"id":"fay"' }),
      () => ({ status: 200, headers: json, body: '{"account":{"id":"fay","id":"bob"}}' }),
      () => ({ status: 200, headers: { "Content-Type": "text/html" }, body: '{"account":{"id":"fay"}}' }),
      () => ({ status: 200, headers: json, body: JSON.stringify({ account: { id: "fay" }, pad: "x".repeat(70_000) }) }),
      cut,
      gated(),
    ]) {
      accounts.respond = unclear;
      const response = await gateway.post(path, key, { a: 1 }, bearer(token));
      assert.deepEqual([response.status, response.json.code], [503, "api_connection_error"], response.text);
      assert.deepEqual([response.get("Retry-After"), response.get("X-Should-Retry"), response.get("Idempotency-State")], ["1", "true", "absent"]);
      unclear.open?.();
    }
    accounts.respond = respond;
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer(token))).status, 201);
  });

  test("requests that arrive together with two tokens of one account are executed once", async () => {
    const handler = gated();
    const path = gateway.route(handler);
    const key = newKey();
    const first = gateway.post(path, key, { a: 1 }, bearer(fresh("two")));
    await handler.reached;
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer(fresh("two")))).json.code, "idempotency_in_progress");
    handler.open();
    assert.equal((await first).status, 201);
    assert.equal(gateway.hits(path), 1);
  });
});

test("the origin's word on a caller counts for SCOPE_CACHE_SECONDS", async () => {
  const accounts = new Accounts();
  const gateway = await accounts.start({ SCOPE_CACHE_SECONDS: "5" }, { faults: true });
  try {
    const path = gateway.route();
    const key = newKey();
    accounts.tokens.set("t1", "ann");
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).status, 201);
    accounts.tokens.clear();
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).replayed, true, "nobody is asked yet");
    await gateway.clock(6000);
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).status, 401);
    accounts.tokens.set("t1", "bob");
    assert.equal((await gateway.post(path, key, { a: 1 }, bearer("t1"))).replayed, false, "the token belongs to another account now");
  } finally {
    await gateway.dispose();
  }
});

test("joined sources say which headers carry the credential", async () => {
  const accounts = new Accounts();
  const gateway = await accounts.start({ SCOPE: "header:X-Session+origin:/v1/me#/account/org+origin:/v1/me#/account/id", SCOPE_CACHE_SECONDS: "0" });
  try {
    const path = gateway.route();
    const key = newKey();
    for (const token of ["t1", "t2"]) accounts.tokens.set(token, "ann");
    const post = (session) => gateway.post(path, key, { a: 1 }, { as: null, headers: [["X-Session", session], ["Cookie", "a=b"]] });
    const first = await post("t1");
    assert.equal(first.status, 201);
    assert.match(first.get("Vary"), /X-Session/i);
    assert.equal((await post("t2")).replayed, true);
    assert.equal(gateway.hits("/v1/me"), 2);
    assert.equal(gateway.origin.last("/v1/me").headers.cookie, undefined);
    assert.equal((await gateway.post(path, key, { a: 1 }, { as: "t1" })).status, 401);
  } finally {
    await gateway.dispose();
  }
});

describe("REPLAY_AUTHORIZATION", () => {
  for (const [where, vars, options] of [
    ["the isolate's memory", {}, {}],
    ["the object", noMemory, {}],
    ["KV", noMemory, { faults: true }],
  ]) {
    test(`a revoked credential reads no replay from ${where}`, async () => {
      const accounts = new Accounts();
      const gateway = await accounts.start({ SCOPE: "header:X-Api-Key", REPLAY_AUTHORIZATION: "origin:/v1/me", ...vars }, options);
      try {
        const path = gateway.route();
        const key = newKey();
        accounts.tokens.set(apiKey, 1);
        const post = () => gateway.post(path, key, { a: 1 });
        const first = await post();
        assert.equal(first.status, 201);
        assert.equal(gateway.hits("/v1/me"), 0, "the origin has seen the credential of an execution");
        if (options.faults) {
          await eventually(async () => assert.ok(await gateway.copy(key)));
          await gateway.faults(null, { op: "begin", fault: "refuse", times: 1000 });
        }
        const replay = await post();
        assert.deepEqual([replay.status, replay.replayed, replay.text], [201, true, first.text]);
        assert.equal(gateway.hits("/v1/me"), 1);
        accounts.tokens.clear();
        const refused = await post();
        assert.deepEqual([refused.status, refused.json.error], [401, "revoked"]);
        assert.equal(refused.get("Idempotency-State"), "absent", "a client must not take this for the key's response");
        assert.equal(refused.get("Idempotent-Replayed"), undefined);
        for (const [method, call] of [["GET", "key"], ["POST", "key/void"]])
          assert.equal((await gateway.call(method, `/_oncekey/${call}`, { key })).status, 401, call);
        accounts.respond = () => ({ status: 500 });
        const unclear = await post();
        assert.deepEqual([unclear.status, unclear.json.code, unclear.get("X-Should-Retry")], [503, "api_connection_error", "true"]);
        assert.match(unclear.json.message, /stored response was not returned/);
        accounts.respond = () => ({ status: 204, body: "" });
        assert.equal((await post()).replayed, true);
        assert.equal(gateway.hits(path), 1);
      } finally {
        await gateway.dispose();
      }
    });
  }

  test("a response that was not kept tells a revoked credential nothing", async () => {
    const accounts = new Accounts();
    const gateway = await accounts.start({ SCOPE: "header:X-Api-Key", REPLAY_AUTHORIZATION: "origin:/v1/me", MAX_REPLAY_BYTES: "0" });
    try {
      const path = gateway.route(() => ({ ...created(), body: '{"id":"ord_s3cr3t"}' }));
      const key = newKey();
      const post = () => gateway.post(path, key, { a: 1 }, { as: "ann" });
      assert.equal((await post()).status, 201);
      const refused = await post();
      assert.equal(refused.status, 401);
      assert.doesNotMatch(refused.text, /s3cr3t/);
      accounts.tokens.set("ann", 1);
      assert.equal((await post()).json.code, "idempotency_not_replayable");
    } finally {
      await gateway.dispose();
    }
  });

  test("a caller without a credential has nothing that could be revoked", async () => {
    const accounts = new Accounts();
    const gateway = await accounts.start({ SCOPE: "header:X-Api-Key", ANONYMOUS: "allow", REPLAY_AUTHORIZATION: "origin:/v1/me" });
    try {
      const path = gateway.route();
      const key = newKey();
      const post = () => gateway.post(path, key, { a: 1 }, { as: null });
      assert.deepEqual([(await post()).replayed, (await post()).replayed], [false, true]);
      assert.equal(gateway.hits("/v1/me"), 0);
    } finally {
      await gateway.dispose();
    }
  });
});
