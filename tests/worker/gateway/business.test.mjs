// Business keys: a member of the body is a second, permanent key beside the idempotency key.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { executions, made, merchant, order } from "../fixtures/merchant.mjs";
import { isError, isReplayOf, newBusinessKey, startBusinessKeys } from "../fixtures/business-keys.mjs";
import { created, cut, eventually, gated, inTurn, newKey, startWorker } from "../fixtures/support.mjs";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

describe("a business key", () => {
  let gateway;
  before(async () => (gateway = await startBusinessKeys({ vars: { LEASE_SECONDS: "60" } })));
  after(() => gateway.dispose());

  test("with the same content returns the same object under any idempotency key, and without one", async () => {
    const [path, no] = [gateway.route(), newBusinessKey()];
    const first = await gateway.order(path, no);
    assert.deepEqual([first.status, first.replayed, first.state], [201, false, "completed"]);
    for (const key of [newKey(), newKey(), null]) {
      const again = await gateway.order(path, no, { key });
      isReplayOf(again, first);
      assert.equal(again.state, "completed");
      assert.ok(Date.parse(again.get("Idempotency-Expires")) > Date.now());
      if (key) isReplayOf(await gateway.order(path, no, { key }), first, "the key has the response too");
    }
    const spelled = await gateway.call("POST", path, {
      key: newKey(),
      body: `{ "content": 1.0, "no": "${no}" }`,
      headers: [["Content-Type", "application/json"]],
    });
    isReplayOf(spelled, first, "another spelling of the same JSON is the same content");
    assert.equal(gateway.hits(path), 1);
  });

  test("fault 40: a business key with other content is refused by name, and the idempotency key stays free", async () => {
    const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
    const first = await gateway.order(path, no);
    const other = await gateway.order(path, no, { key, content: 2 });
    isError(other, 400, "idempotency_error", "released");
    assert.ok(other.json.message.includes(`no "${no}"`), other.json.message);
    assert.equal(other.json.param, "no");
    isError(await gateway.order(path, no, { key: null, content: 2 }), 400, "idempotency_error", "completed");
    // The idempotency key belongs to the request that it was first sent with.
    isError(await gateway.order(path, newBusinessKey(), { key, content: 2 }), 400, "idempotency_error", "released");
    assert.equal(gateway.hits(path), 1);
    isReplayOf(await gateway.order(path, no), first);
  });

  test("is used up only by a 2xx: a refused request leaves it free", async () => {
    for (const refusal of [400, 402, 404, 422, 303, 401, 429, 307]) {
      const path = gateway.route(inTurn(refusal, created));
      const [no, key] = [newBusinessKey(), newKey()];
      const refused = await gateway.order(path, no, { key });
      assert.equal(refused.status, refusal);
      const better = await gateway.order(path, no, { content: 2 });
      assert.deepEqual([better.status, better.replayed], [201, false], `after ${refusal}`);
      assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "1");
      isReplayOf(await gateway.order(path, no, { content: 2 }), better);
      if (![401, 429, 307].includes(refusal))
        assert.equal((await gateway.order(path, no, { key })).status, refusal, "the key keeps its own response");
      assert.equal(gateway.hits(path), 2);
    }
  });

  test("under two keys at once is executed once", async () => {
    for (const keys of [
      [newKey(), newKey()],
      [newKey(), null],
      [null, null],
    ]) {
      const handler = gated();
      const [path, no] = [gateway.route(handler), newBusinessKey()];
      const both = keys.map((key) => gateway.order(path, no, { key }));
      const loser = await Promise.race(both);
      assert.deepEqual([loser.status, loser.json.code, loser.get("Retry-After")], [409, "idempotency_in_progress", "1"]);
      handler.open();
      const winner = (await Promise.all(both)).find(({ status }) => status === 201);
      assert.equal(gateway.hits(path), 1);
      for (const key of keys) isReplayOf(await gateway.order(path, no, { key }), winner);
      assert.equal(gateway.hits(path), 1);
    }
    const [path, no] = [gateway.route(), newBusinessKey()];
    const many = await Promise.all(Array.from({ length: 50 }, () => gateway.order(path, no)));
    assert.equal(gateway.hits(path), 1);
    const first = many.find((response) => response.status === 201);
    for (const response of many) assert.ok(response.status === 409 || response.text === first.text);
  });

  test("belongs to one of two different requests that arrive at once", async () => {
    const [path, no] = [gateway.route(), newBusinessKey()];
    const all = await Promise.all(Array.from({ length: 20 }, (_, content) => gateway.order(path, no, { content })));
    assert.equal(all.filter(({ status }) => status === 201).length, 1);
    assert.ok(all.every((response) => response.status === 201 || response.json.code === "idempotency_error"));
    assert.equal(gateway.hits(path), 1);
  });

  test("does not change the idempotency key that the origin gets", async () => {
    const [path, key] = [gateway.route(), newKey()];
    await gateway.order(path, newBusinessKey(), { key });
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
    await gateway.order(path, newBusinessKey(), { key: null });
    const { headers, body } = gateway.origin.last(path);
    assert.deepEqual([headers["idempotency-key"], headers["idempotency-attempt"]], [undefined, "1"]);
    assert.equal(JSON.parse(body).content, 1);
  });

  test("is begun after the idempotency key, and completed before it", async () => {
    const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
    await gateway.order(path, no, { key });
    assert.deepEqual(await gateway.businessKeyCalls(path, no), ["begin", "complete"]);
    await gateway.order(path, no, { key });
    assert.deepEqual(await gateway.businessKeyCalls(path, no), ["begin", "complete"], "a replay by the idempotency key does not read the business key");
  });

  test("keeps its lease, as the idempotency key does, while the origin is slow", async (test) => {
    const gateway = await startBusinessKeys({ vars: { LEASE_SECONDS: "6" } });
    test.after(() => gateway.dispose());
    const handler = gated();
    const [path, no, key] = [gateway.route(handler), newBusinessKey(), newKey()];
    const first = gateway.order(path, no, { key });
    await handler.reached;
    const renewals = (calls) => calls.filter((op) => op === "renew").length;
    // A renewal is sent after half a lease, so three renewals outlast one lease.
    await eventually(async () => {
      assert.ok(renewals((await gateway.calls(key)).map(({ op }) => op)) >= 3);
      assert.ok(renewals(await gateway.businessKeyCalls(path, no)) >= 3);
    });
    isError(await gateway.order(path, no), 409, "idempotency_in_progress", "released");
    isError(await gateway.order(path, no, { key }), 409, "idempotency_in_progress", "in_progress");
    handler.open();
    assert.equal((await first).status, 201);
  });

  test("of another tenant or another route is another business key", async () => {
    const [path, no] = [gateway.route(), newBusinessKey()];
    const ids = new Set();
    for (const as of ["tenant_a", "tenant_b"]) {
      const first = await gateway.order(path, no, { as });
      isReplayOf(await gateway.order(path, no, { as }), first);
      ids.add(first.json.id);
    }
    ids.add((await gateway.order(gateway.route(), no)).json.id);
    assert.equal(ids.size, 3);
    assert.equal(gateway.hits(path), 2);
    // An idempotency key with the same text as a business key has its own record.
    assert.equal((await gateway.order(path, newBusinessKey(), { key: no, as: "tenant_a" })).status, 201);
  });

  test("may be any text or number", async () => {
    for (const no of ["訂單 1", "a/b?c#d", '"quoted"\\', "😀".repeat(127), "\u202eabc", " ", "7", "x".repeat(255), "%2e%2e"]) {
      const path = gateway.route();
      const first = await gateway.order(path, no);
      assert.equal(first.status, 201, no);
      isReplayOf(await gateway.order(path, no), first, no);
      const other = await gateway.order(path, no, { content: 2 });
      assert.equal(other.status, 400, no);
      assert.ok(other.json.message.includes(no), other.json.message);
    }
    const path = gateway.route();
    const first = await gateway.order(path, 7);
    isReplayOf(await gateway.order(path, 7), first);
    assert.equal((await gateway.order(path, "7")).json.code, "idempotency_error", "the text \"7\" and the number 7 are the same business key, and the content differs");
  });

  test("with an invalid value is ignored, and the origin gets the request", async () => {
    for (const no of [null, true, {}, [], "", "x".repeat(256), "a\nb", "\u0085", undefined]) {
      const path = gateway.route();
      for (const key of [newKey(), newKey(), null, null]) assert.equal((await gateway.order(path, no, { key })).status, 201);
      assert.equal(gateway.hits(path), 4, JSON.stringify(no));
    }
    // The origin also gets other types of bodies, and bodies whose root is not an object.
    const path = gateway.route();
    for (const [type, body] of [["text/plain", "no: 1"], ["application/x-www-form-urlencoded", "n=1"], ["application/json", '["no"]']]) {
      for (let round = 0; round < 2; round++) {
        const response = await gateway.call("POST", path, { body, headers: [["Content-Type", type]] });
        assert.equal(response.status, 201);
      }
    }
    assert.equal(gateway.hits(path), 6);
  });

  test("in a body that parsers could read in two ways is refused", async () => {
    const path = gateway.route();
    for (const body of ["{", "", '{"no":"1","no":"2"}', '{"no":"1"} x', '{"no":"\\ud800"}', "\ufeff{}"]) {
      for (const key of [newKey(), undefined]) {
        const response = await gateway.call("POST", path, { key, body, headers: [["Content-Type", "application/json"]] });
        assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], body);
      }
      const anonymous = await gateway.call("POST", path, { body, as: null, headers: [["Content-Type", "application/json"]] });
      assert.equal(anonymous.status, 201, "a request without a credential is forwarded");
    }
    assert.equal(gateway.hits(path), 6);
  });

  test("needs a credential", async () => {
    const [path, no] = [gateway.route(), newBusinessKey()];
    for (let round = 0; round < 2; round++)
      assert.equal((await gateway.order(path, no, { key: null, as: null })).status, 201);
    assert.equal(gateway.hits(path), 2, "a request without a credential is forwarded");
    const jwt = "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
    const refused = await gateway.order(path, no, { key: null, as: null, headers: [["Authorization", jwt]] });
    assert.deepEqual([refused.status, refused.json.code], [400, "invalid_request_error"]);
  });

  test("whose object is down: the request is not executed, and the idempotency key stays free", async () => {
    const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
    await gateway.businessKeyFaults(path, no, { op: "begin", fault: "refuse", times: 99 });
    const response = await gateway.order(path, no, { key });
    assert.deepEqual([response.status, response.json.code, response.state], [503, "api_connection_error", "released"]);
    await gateway.businessKeyFaults(path, no);
    assert.equal((await gateway.order(path, no, { key })).status, 201);
    assert.equal(gateway.hits(path), 1);
  });
});

describe("a crash between the two completions", () => {
  for (const policy of ["retry", "hold"]) {
    test(`with ${policy}, the key gets the business key's response`, async () => {
      const gateway = await startBusinessKeys({ vars: { UNKNOWN_OUTCOME: policy, LEASE_SECONDS: "6" } });
      try {
        const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
        await gateway.faults(
          key,
          { op: "complete", fault: "refuse", times: 99 },
          { op: "renew", fault: "refuse", times: 99 },
          { op: "fail", fault: "refuse", times: 99 },
        );
        const first = await gateway.order(path, no, { key });
        assert.deepEqual([first.status, first.get("Idempotency-Stored")], [201, undefined], "the business key stores the response");
        await gateway.faults(key);
        await eventually(async () => assert.equal((await gateway.status(key)).state, "unknown"));
        const again = await gateway.order(path, no, { key });
        isReplayOf(again, first);
        assert.equal(again.state, "completed");
        isReplayOf(await gateway.order(path, no, { key }), first);
        isReplayOf(await gateway.order(path, no), first);
        isError(await gateway.order(path, no, { content: 2 }), 400, "idempotency_error", "released");
        assert.equal(gateway.hits(path), 1);
      } finally {
        await gateway.dispose();
      }
    });
  }

  test("with hold, a key stays on hold if the record of its business key has no response either", async () => {
    const gateway = await startBusinessKeys({ vars: { LEASE_SECONDS: "6" } });
    try {
      const path = gateway.route(inTurn(500, created));
      const [no, key] = [newBusinessKey(), newKey()];
      assert.equal((await gateway.order(path, no, { key })).state, "unknown");
      isError(await gateway.order(path, no, { key }), 409, "idempotency_outcome_unknown", "unknown");
      const other = await gateway.order(path, no);
      isError(other, 409, "idempotency_outcome_unknown", "released");
      assert.ok(other.json.message.includes(no));
      isError(await gateway.order(path, no, { key: null }), 409, "idempotency_outcome_unknown", "unknown");
      isError(await gateway.order(path, no, { content: 2 }), 400, "idempotency_error", "released");
      assert.equal(gateway.hits(path), 1);
    } finally {
      await gateway.dispose();
    }
  });

  test("with retry, another key may execute an unknown business key again", async () => {
    const gateway = await startBusinessKeys({ vars: { UNKNOWN_OUTCOME: "retry" } });
    try {
      for (const ending of [500, cut]) {
        const path = gateway.route(inTurn(ending, created));
        const [no, key] = [newBusinessKey(), newKey()];
        assert.equal((await gateway.order(path, no, { key })).state, "unknown");
        const second = await gateway.order(path, no);
        assert.equal(second.status, 201);
        isReplayOf(await gateway.order(path, no, { key }), second);
        assert.equal(gateway.hits(path), 2);
      }
    } finally {
      await gateway.dispose();
    }
  });

  test("a response that the business key cannot store puts it on hold, and the idempotency key stores the response", async () => {
    const gateway = await startBusinessKeys({ vars: { UNKNOWN_OUTCOME: "retry", LEASE_SECONDS: "5" } });
    try {
      const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
      await gateway.businessKeyFaults(path, no, { op: "complete", fault: "refuse", times: 4 });
      const first = await gateway.order(path, no, { key });
      assert.deepEqual([first.status, first.state], [201, "completed"]);
      isReplayOf(await gateway.order(path, no, { key }), first);
      await eventually(async () => assert.ok((await gateway.businessKeyCalls(path, no)).includes("fail")));
      isError(await gateway.order(path, no), 409, "idempotency_outcome_unknown", "released");
      assert.equal(gateway.hits(path), 1, "a business key is on hold even with UNKNOWN_OUTCOME=retry");
    } finally {
      await gateway.dispose();
    }
  });
});

describe("after the retention", () => {
  let gateway;
  // Each test has its own gateway, because it sets the clock.
  beforeEach(async () => (gateway = await startBusinessKeys()));
  afterEach(() => gateway.dispose());

  test("a business key keeps its content, status and object id, and its response expires", async () => {
    const [path, no, key] = [gateway.route(), newBusinessKey(), newKey()];
    const first = await gateway.order(path, no, { key });
    const [before] = await gateway.businessKeyRows(path, no);
    const isGone = async () => {
      for (const again of [newKey(), null]) {
        const response = await gateway.order(path, no, { key: again });
        isError(response, 409, "idempotency_not_replayable", again ? "released" : "completed");
        assert.deepEqual([response.json.http_status, response.json.resource_id], [201, first.json.id]);
        assert.ok(response.json.message.includes(no));
      }
      isError(await gateway.order(path, no, { content: 2 }), 400, "idempotency_error", "released");
    };
    await gateway.clock(DAY - 5000);
    isReplayOf(await gateway.order(path, no), first);
    await gateway.clock(DAY + 5000);
    await isGone();
    // The sweep comes up to an hour later.
    await gateway.clock(DAY + HOUR + 5000);
    await gateway.sweepBusinessKey(path, no);
    const [after] = await gateway.businessKeyRows(path, no);
    assert.ok(after.size < before.size);
    assert.equal(after.due_at, null, "the sweep never reads it again");
    await isGone();
    await gateway.clock(3650 * DAY);
    await isGone();
    isError(await gateway.order(path, no, { key }), 409, "idempotency_not_replayable", "released");
    assert.equal(gateway.hits(path), 1);
  });

  test("a business key under which nothing was executed is removed", async () => {
    const path = gateway.route(inTurn(400, created));
    const no = newBusinessKey();
    await gateway.order(path, no);
    await gateway.clock(DAY + HOUR + 5000);
    await gateway.sweepBusinessKey(path, no);
    assert.deepEqual(await gateway.businessKeyRows(path, no), []);
    assert.equal((await gateway.order(path, no, { content: 2 })).status, 201);
  });

  test("an unknown outcome of a business key never expires", async () => {
    const path = gateway.route(inTurn(500, created));
    const no = newBusinessKey();
    await gateway.order(path, no);
    await gateway.clock(365 * DAY);
    await gateway.sweepBusinessKey(path, no);
    isError(await gateway.order(path, no), 409, "idempotency_outcome_unknown", "released");
    assert.equal(gateway.hits(path), 1);
  });
});

test("the id of the new object is read from the body or from Location", async () => {
  const gateway = await startBusinessKeys({ vars: { RETENTION_SECONDS: "1" } });
  const json = { "Content-Type": "application/json" };
  try {
    for (const [headers, body, id] of [
      [json, { data: { id: "ord_1" }, id: "x" }, "ord_1"],
      [json, { data: { id: "" }, id: 42 }, "42"],
      [{ ...json, Location: "https://api.example/v1/orders/o%2F7?x=/9" }, { ok: true }, "o%2F7"],
      [{ Location: "/orders/8/" }, "created", "8"],
      [{ Location: "https://api.example" }, "created", undefined],
      [json, "{", undefined],
    ]) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const path = gateway.route(() => ({ status: 201, headers, body: text }));
      const no = newBusinessKey();
      assert.equal((await gateway.order(path, no)).status, 201);
      await new Promise((resolve) => setTimeout(resolve, 1100));
      const response = await gateway.order(path, no);
      assert.deepEqual([response.status, response.json.resource_id], [409, id], text);
    }
  } finally {
    await gateway.dispose();
  }
});

test("in the ietf dialect, other content under a business key returns 422", async () => {
  const gateway = await startBusinessKeys({ vars: { DIALECT: "ietf" } });
  try {
    const [path, no] = [gateway.route(), newBusinessKey()];
    await gateway.order(path, no);
    const other = await gateway.order(path, no, { content: 2 });
    assert.deepEqual([other.status, other.json.code, other.json.param], [422, "idempotency_error", "no"]);
    assert.ok(other.json.detail.includes(no));
  } finally {
    await gateway.dispose();
  }
});

test("a business key whose secret is no longer listed cannot be compared, and its response is not revealed", async () => {
  const state = await mkdtemp(join(tmpdir(), "oncekey-"));
  const no = newBusinessKey();
  const run = async (secret, check) => {
    const vars = { FINGERPRINT_SECRET: secret, RESOLVE: "POST:/o/*:/found?no={/no}#/id" };
    const gateway = await startBusinessKeys({ state, vars });
    try {
      await check(gateway);
    } finally {
      await gateway.dispose();
    }
  };
  try {
    let path;
    await run("k1:a", async (gateway) => {
      path = gateway.route();
      assert.equal((await gateway.order(path, no)).status, 201);
    });
    await run("k2:b", async (gateway) => {
      const response = await gateway.order(path, no);
      isError(response, 409, "idempotency_not_replayable", "released");
      assert.deepEqual([response.json.http_status, response.json.resource_id], [undefined, undefined]);
      assert.equal(gateway.origin.seen.length, 0, "it is not looked up either, because it may belong to another request");
    });
  } finally {
    await rm(state, { recursive: true, force: true });
  }
});

describe("the sandbox's business keys", () => {
  let worker;
  // Each test has its own gateway, because it sets the clock.
  beforeEach(async () => (worker = await startWorker({ wrapper: "faulty.mjs" })));
  afterEach(() => worker.dispose());

  test("an order under another idempotency key gets the first response again", async () => {
    const call = merchant(worker);
    const body = order();
    const [first, key] = [await call("POST", "/v1/orders", { body, key: newKey() }), newKey()];
    for (const again of [await call("POST", "/v1/orders", { body, key }), await call("POST", "/v1/orders", { body })]) {
      assert.deepEqual(
        [again.status, again.text, again.headers.get("Idempotent-Replayed"), again.headers.get("X-Request-Id")],
        [201, first.text, "true", first.headers.get("X-Request-Id")],
      );
    }
    assert.equal(await executions(call, key), 0);
    const other = await call("POST", "/v1/orders", { body: { ...body, amount: 1 }, key: newKey() });
    assert.deepEqual([other.status, other.json.code, other.json.param], [400, "idempotency_error", "out_trade_no"]);
  });

  test("a refusal does not use up an order's business key, and the same order is returned however late", async () => {
    const call = merchant(worker);
    const body = order();
    assert.equal((await call("POST", "/v1/orders", { body: { ...body, amount: -1 }, key: newKey() })).status, 400);
    const { id } = made(await call("POST", "/v1/orders", { body, key: newKey() }));
    await worker.fetch("/__test/clock", { method: "POST", body: JSON.stringify({ offset: 400 * DAY }) });
    for (const key of [newKey(), undefined]) {
      const late = await call("POST", "/v1/orders", { body, key });
      assert.deepEqual([late.status, late.json.data.id, late.headers.get("Idempotent-Replayed")], [200, id, "true"]);
    }
    const other = await call("POST", "/v1/orders", { body: { ...body, amount: 1 }, key: newKey() });
    assert.equal(other.json.code, "idempotency_error");
  });
});
