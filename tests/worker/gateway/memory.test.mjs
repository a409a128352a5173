// Stored responses in an isolate's memory: the gateway replays them without a call to the object, exactly as the object
// would. If there is no copy that it can use, it asks the object.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { WEBHOOK_SECRETS, deliver, isDuplicate, newId } from "../fixtures/sender.mjs";
import { created, gated, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

const DAY = 86_400_000;
const TOKEN = "admin-token-0123456789";
const admin = [["Authorization", `Bearer ${TOKEN}`]];

/** Starts a gateway, with helpers that show which calls its objects get. */
async function start(vars = {}, more = {}) {
  const gateway = await startGateway({ faults: true, vars: { ADMIN_TOKEN: TOKEN, ...vars }, ...more });
  const calls = async () => (await gateway.allCalls()).length;
  /** Returns the result of `work`, and the calls to objects that it caused. */
  const during = async (work) => {
    const before = await calls();
    const response = await work();
    // Calls that follow a response arrive after it.
    await gateway.get("/_oncekey/health", { as: null });
    return { response, calls: (await gateway.allCalls()).slice(before).map(({ op }) => op).filter((op) => op !== "get_status") };
  };
  const held = async () => (await gateway.get("/_oncekey/health", { as: null, headers: admin })).json.isolate.held_bytes.memory;
  /** Completes a key. */
  const completed = async (handler = created) => {
    const [path, key] = [gateway.route(handler), newKey()];
    const first = await gateway.post(path, key);
    return { path, key, first };
  };
  return { gateway, during, held, completed };
}

/** Returns what a caller gets, without the headers of one delivery. */
const seen = ({ status, pairs, body }) => {
  const ofDelivery = ["date", "server-timing", "connection", "keep-alive"];
  const headers = pairs.filter(([name]) => !ofDelivery.includes(name.toLowerCase()));
  return { status, headers: headers.map((pair) => pair.join(": ")).sort(), body: body.toString("latin1") };
};

describe("a response in memory", () => {
  let gateway, during, held, completed;
  before(async () => ({ gateway, during, held, completed } = await start({ DIALECT: "ietf" })));
  after(() => gateway.dispose());

  test("is replayed without a call to the object", async () => {
    const { path, key, first } = await completed();
    for (let again = 0; again < 3; again++) {
      const { response, calls } = await during(() => gateway.post(path, key));
      assert.deepEqual([response.status, response.replayed, response.state, calls], [201, true, "completed", []]);
      assert.deepEqual(response.body, first.body);
      for (const name of ["X-Request-Id", "Idempotency-Expires", "Content-Type"]) assert.equal(response.get(name), first.get(name), name);
      assert.match(response.get("Server-Timing"), /^total;dur=\d+$/, "nobody waited for the object");
    }
    assert.equal(gateway.hits(path), 1);
  });

  test("does not need the object", async () => {
    const { path, key, first } = await completed();
    await gateway.faults(key, { op: "begin", fault: "refuse", times: 1000 });
    assert.equal((await gateway.post(path, key)).text, first.text);
  });

  test("refuses another request with the key, as the object does", async () => {
    const { path, key } = await completed();
    const { response, calls } = await during(() => gateway.post(path, key, { a: 2 }));
    assert.deepEqual([response.status, response.state, calls], [422, "completed", []]);
    assert.match(response.json.type, /idempotency_error$/);
    assert.equal(gateway.hits(path), 1);
  });

  test("is of one tenant", async () => {
    const { path, key, first } = await completed();
    const { response, calls } = await during(() => gateway.post(path, key, { a: 1 }, { as: "somebody_else" }));
    assert.deepEqual([response.status, response.replayed, calls], [201, false, ["begin", "complete"]]);
    assert.notEqual(response.text, first.text);
    assert.equal(gateway.hits(path), 2);
  });

  test("is also a refusal that is final, and no response that is not", async () => {
    const refused = await completed(() => ({ status: 402, body: "declined" }));
    assert.deepEqual((await during(() => gateway.post(refused.path, refused.key))).calls, []);
    for (const [status, again] of [
      [500, ["begin"]],
      [429, ["begin", "complete"]],
      [307, ["begin", "complete"]],
    ]) {
      const { path, key } = await completed(inTurn({ status, headers: { Location: "/x" } }, status));
      assert.deepEqual((await during(() => gateway.post(path, key))).calls, again, `${status}`);
    }
  });

  test("is small, whole and in UTF-8", async () => {
    for (const handler of [
      () => ({ status: 201, body: "x".repeat(70_000) }),
      (request, response) => void response.writeHead(201, { "X-Name": Buffer.from("M\xfcller", "latin1").toString("latin1") }).end("odd"),
    ]) {
      const before = await held();
      const { path, key, first } = await completed(handler);
      const { response, calls } = await during(() => gateway.post(path, key));
      assert.deepEqual([response.replayed, response.text, calls], [true, first.text, ["begin"]]);
      assert.equal(await held(), before);
    }
    const { path, key } = await completed(() => ({ status: 200, headers: { "Content-Type": "text/event-stream" }, body: "data: 1\n\n" }));
    assert.deepEqual((await during(() => gateway.post(path, key))).response.json.code, "idempotency_not_replayable");
  });

  test("cannot be voided or settled, so it stays right", async () => {
    const { path, key, first } = await completed();
    assert.equal((await gateway.call("POST", "/_oncekey/key/void", { key })).json.state, "completed");
    const settle = await gateway.call("POST", "/_oncekey/key/settle", { key, headers: admin, body: { outcome: "not_executed" } });
    assert.equal(settle.status, 409);
    assert.equal((await gateway.post(path, key)).text, first.text);
    assert.equal(gateway.hits(path), 1);
  });

  test("is what an operator settled, once the object has replayed it", async () => {
    const { path, key } = await completed(inTurn(500));
    assert.equal((await gateway.post(path, key)).json.code, "idempotency_outcome_unknown");
    const body = { outcome: "executed", status: 201, headers: { "Content-Type": "text/plain" }, body: "settled" };
    assert.equal((await gateway.call("POST", "/_oncekey/key/settle", { key, headers: admin, body })).status, 200);
    for (const expected of [["begin"], []]) {
      const { response, calls } = await during(() => gateway.post(path, key));
      assert.deepEqual([response.status, response.text, response.replayed, calls], [201, "settled", true, expected]);
    }
    assert.equal(gateway.hits(path), 1);
  });

  test("is there when the first caller has it, and not before", async () => {
    const slow = gated();
    const [path, key] = [gateway.route(slow), newKey()];
    const first = gateway.post(path, key);
    await slow.reached;
    assert.equal((await gateway.post(path, key)).json.code, "idempotency_in_progress");
    slow.open();
    assert.equal((await first).status, 201);
    assert.deepEqual((await during(() => gateway.post(path, key))).calls, []);
  });

  test("is kept even if the first reply of the object was lost", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.faults(key, { op: "complete", fault: "lose", times: 1 });
    const first = await gateway.post(path, key);
    assert.deepEqual([first.status, first.state], [201, "completed"]);
    const { response, calls } = await during(() => gateway.post(path, key));
    assert.deepEqual([response.text, calls], [first.text, []]);
  });

  // This test is the last one, because it sets the clock.
  test("does not count from its last minute on", async () => {
    const { path, key, first } = await completed();
    await gateway.clock(DAY - 90_000);
    assert.deepEqual((await during(() => gateway.post(path, key))).calls, []);
    await gateway.clock(DAY - 30_000);
    const { response, calls } = await during(() => gateway.post(path, key));
    assert.deepEqual([response.text, response.replayed, calls], [first.text, true, ["begin"]], "the object's record still counts");
    await gateway.clock(DAY + 5000);
    const fresh = await during(() => gateway.post(path, key));
    assert.deepEqual([fresh.response.replayed, fresh.calls, gateway.hits(path)], [false, ["begin", "complete"], 2], "the key is as new");
    // The new response has a copy of its own, which stays valid when the clock is set back.
    assert.deepEqual((await during(() => gateway.post(path, key))).response.text, fresh.response.text);
    await gateway.clock(0);
    assert.equal((await gateway.post(path, key)).text, fresh.response.text);
    assert.equal(gateway.hits(path), 2);
  });
});

test("the memory is bounded in bytes, the oldest copy leaves first, and the object then replays the same", async () => {
  const BOUND = 3000;
  const { gateway, during, held, completed } = await start({ REPLAY_MEMORY_BYTES: String(BOUND) });
  try {
    const { path, key } = await completed(() => ({
      status: 201,
      headers: { "Content-Type": "text/plain", Link: ["<a>; rel=next", "<b>"], ETag: '"x"', Date: "Mon, 01 Jan 2024 00:00:00 GMT", "X-Request-Id": "req_o" },
      body: "\u0000 bytes ü",
    }));
    const fromMemory = await during(() => gateway.post(path, key));
    assert.deepEqual(fromMemory.calls, []);
    for (let more = 0; more < 12; more++) {
      await completed(() => ({ status: 201, body: "x".repeat(300) }));
      const bytes = await held();
      assert.ok(bytes > 0 && bytes <= BOUND, `${bytes} bytes`);
    }
    const fromObject = await during(() => gateway.post(path, key));
    assert.deepEqual(fromObject.calls, ["begin"]);
    assert.deepEqual(seen(fromMemory.response), seen(fromObject.response));
    assert.deepEqual((await during(() => gateway.post(path, key))).calls, [], "what is wanted again is kept again");
    const large = await completed(() => ({ status: 201, body: "x".repeat(BOUND) }));
    assert.deepEqual((await during(() => gateway.post(large.path, large.key))).calls, ["begin"]);
  } finally {
    await gateway.dispose();
  }
});

test("with REPLAY_MEMORY_BYTES=0 nothing is kept in memory", async () => {
  const { gateway, during, held, completed } = await start({ REPLAY_MEMORY_BYTES: "0" });
  try {
    const { path, key, first } = await completed();
    for (let again = 0; again < 2; again++) {
      const { response, calls } = await during(() => gateway.post(path, key));
      assert.deepEqual([response.text, response.replayed, calls], [first.text, true, ["begin"]]);
    }
    assert.equal(await held(), 0);
  } finally {
    await gateway.dispose();
  }
});

test("a new isolate asks the object once for each key", async () => {
  const state = mkdtempSync(join(tmpdir(), "oncekey-test-"));
  const [key, body] = [newKey(), { a: 1 }];
  let text, one, other;
  try {
    one = await start({}, { state });
    const path = one.gateway.origin.route(created, "/o/memory");
    text = (await one.gateway.post(path, key, body)).text;
    await one.gateway.dispose();
    other = await start({}, { state });
    other.gateway.origin.route(created, "/o/memory");
    for (const expected of [["begin"], []]) {
      const { response, calls } = await other.during(() => other.gateway.post(path, key, body));
      assert.deepEqual([response.text, response.replayed, calls], [text, true, expected]);
    }
    assert.equal(other.gateway.hits(path), 0);
  } finally {
    await other?.gateway.dispose();
    rmSync(state, { recursive: true });
  }
});

test("a retention of a minute or less has no copy", async () => {
  const { gateway, during, completed } = await start({ RETENTION_SECONDS: "60" });
  try {
    const { path, key } = await completed();
    assert.deepEqual((await during(() => gateway.post(path, key))).calls, ["begin"]);
  } finally {
    await gateway.dispose();
  }
});

describe("of business keys and events", () => {
  let gateway, during;
  before(async () => ({ gateway, during } = await start({ BUSINESS_KEYS: "POST:/v1/orders:/no", WEBHOOK_SECRETS })));
  after(() => gateway.dispose());

  test("a business key's response is in memory like a key's", async () => {
    const path = gateway.origin.route(created, "/v1/orders");
    const no = newKey();
    const first = await gateway.post(path, undefined, { no, amount: 1 });
    const again = await during(() => gateway.post(path, undefined, { no, amount: 1 }));
    assert.deepEqual([again.response.text, again.response.replayed, again.calls], [first.text, true, []]);
    const other = await during(() => gateway.post(path, undefined, { no, amount: 2 }));
    assert.deepEqual([other.response.status, other.calls], [400, []]);
    assert.ok(other.response.json.message.includes(no), other.response.json.message);
    // Under a key, the key's record decides first. It takes the response over, and has its own copy from then on.
    const key = newKey();
    const taken = await during(() => gateway.post(path, key, { no, amount: 1 }));
    assert.deepEqual([taken.response.text, taken.response.replayed, taken.calls], [first.text, true, ["begin", "begin", "complete"]]);
    assert.deepEqual((await during(() => gateway.post(path, key, { no, amount: 1 }))).calls, []);
    assert.equal(gateway.hits(path), 1);
  });

  test("an event is always asked of the object", async () => {
    gateway.origin.route(inTurn(200), "/webhooks/s0");
    const id = newId();
    await deliver(gateway, "s0", { id });
    for (let again = 0; again < 2; again++) {
      const { response, calls } = await during(() => deliver(gateway, "s0", { id }));
      isDuplicate(response);
      assert.deepEqual(calls, ["begin"]);
    }
  });
});
