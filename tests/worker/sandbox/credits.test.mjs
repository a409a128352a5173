// Webhooks in the sandbox: each event gives a customer credits, once.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { exchange } from "../fixtures/client.mjs";
import { WEBHOOK_SECRETS, deliver, event, isDuplicate, newId, newSecret } from "../fixtures/sender.mjs";
import { startWorker } from "../fixtures/support.mjs";

describe("into the sandbox", () => {
  let worker;
  before(async () => (worker = await startWorker({ vars: { WEBHOOK_SECRETS }, wrapper: "merchants.mjs" })));
  after(() => worker.dispose());

  const effects = async (id, as = "kuko_test_anybody") => {
    const headers = as ? [["X-Api-Key", as]] : [];
    const response = await exchange(worker.url, { path: `/v1/sandbox/effects/${id}`, headers });
    if (response.status !== 200) return response;
    assert.deepEqual(Object.keys(response.json.data), ["count"], "the response contains only the count");
    return response.json.data.count;
  };
  /** Adds credits to a customer, and returns the new balance. */
  const balance = async (source, customer, credits, more) => {
    const response = await deliver(worker, source, { body: event({ customer, credits }), ...more });
    assert.equal(response.status, 200, response.text);
    return response.json.data.balance;
  };

  test("an event takes effect once, however often it is delivered", async () => {
    const [id, customer] = [newId(), `cus_${randomUUID()}`];
    assert.equal(await effects(id), 0);
    const body = event({ customer, credits: 100, more: { of: ["the", "sender"] } });
    const responses = await Promise.all(Array.from({ length: 10 }, () => deliver(worker, "s0", { id, body })));
    for (const { status } of responses) assert.ok([200, 409].includes(status), `${status}`);
    assert.equal(responses.filter((response) => response.json.data?.balance === 100).length, 1);
    isDuplicate(await deliver(worker, "s0", { id, body }));
    isDuplicate(await deliver(worker, "s0", { id, body: event({ customer, credits: 5000 }) }));
    assert.equal(await effects(id), 1);
    assert.equal(await balance("s0", customer, 1), 101);
    assert.equal(await balance("s1", customer, 1), 1, "each source has its own customers");
  });

  test("fault 38: an event whose response was lost is forwarded again and takes effect once", async () => {
    for (const fault of ["error-after", "error-before"]) {
      const [id, customer] = [newId(), `cus_${randomUUID()}`];
      const body = event({ customer, credits: 7 });
      const first = await deliver(worker, "s0", { id, body, headers: [["Sandbox-Fault", fault]] });
      assert.deepEqual([first.status, first.state], [500, "unknown"]);
      assert.equal(await effects(id), fault === "error-after" ? 1 : 0);
      const second = await deliver(worker, "s0", { id, body });
      assert.deepEqual([second.status, second.replayed, second.json.data.balance], [200, false, 7]);
      isDuplicate(await deliver(worker, "s0", { id, body }));
      assert.equal(await effects(id), 1);
    }
  });

  test("fault 38: an event and its effect are stored in one transaction", async () => {
    const name = createHash("sha256").update("oncekey sandbox senders 1\0").digest("hex");
    const sql = async (query) => {
      const body = JSON.stringify({ name, query, values: [] });
      const response = await worker.fetch("/__test/sql", { method: "POST", body });
      assert.equal(response.status, 200, await response.clone().text());
      return response.json();
    };
    const [id, customer] = [newId(), `cus_${randomUUID()}`];
    const body = event({ customer, credits: 3 });
    assert.equal(await effects(id), 0);
    await sql("CREATE TRIGGER broken BEFORE INSERT ON credits BEGIN SELECT RAISE(ABORT, 'broken'); END");
    const first = await deliver(worker, "s0", { id, body });
    assert.deepEqual([first.status, first.state, await effects(id)], [500, "unknown", 0]);
    assert.deepEqual(await sql(`SELECT * FROM effects WHERE event = '${id}'`), []);
    await sql("DROP TRIGGER broken");
    assert.equal((await deliver(worker, "s0", { id, body })).json.data.balance, 3);
    assert.equal(await effects(id), 1);
    for (const change of ["DELETE FROM effects", "UPDATE effects SET event = 'x'"]) {
      await assert.rejects(sql(change), /append-only/);
    }
  });

  test("an invalid event is refused without an effect, and may be sent again with a correct body", async () => {
    const wrong = [
      "",
      "x",
      "[]",
      "{}",
      '{"type":1}',
      event({ credits: 100 }),
      event({ customer: "cus_1", credits: "100" }),
      event({ customer: "cus_1", credits: 0 }),
      event({ customer: "cus_1", credits: 1.5 }),
      event({ customer: "", credits: 1 }),
    ];
    for (const body of wrong) {
      const id = newId();
      const response = await deliver(worker, "s0", { id, body });
      assert.deepEqual([response.status, response.json.type, response.state], [400, "invalid_request_error", "released"], body);
      assert.equal(await effects(id), 0);
      assert.equal((await deliver(worker, "s0", { id })).status, 200);
      assert.equal(await effects(id), 1);
    }
  });

  test("an event without credits is recorded, and has no effect", async () => {
    for (const body of ['{"type":"a"}', '{"type":"a","data":null}', '{"type":"a","data":{"customer":"cus_1"}}']) {
      const id = newId();
      const { data } = (await deliver(worker, "s0", { id, body })).json;
      assert.deepEqual(data, { id, object: "effect" });
      assert.equal(await effects(id), 1);
    }
  });

  test("effects are read with a sandbox key, and do not count as executions of a merchant", async () => {
    const id = newId();
    await deliver(worker, "s0", { id, headers: [["X-Api-Key", "kuko_test_anybody"]] });
    assert.equal((await effects(id, null)).status, 401);
    assert.equal((await effects(id, "kuko_live_a")).status, 401);
    assert.equal((await effects("%00")).status, 400);
    assert.equal(await effects(id, "sandbox_somebody_else"), 1);
    const path = `/v1/sandbox/executions/${id}`;
    const own = await exchange(worker.url, { path, headers: [["X-Api-Key", "kuko_test_anybody"]] });
    assert.equal(own.json.data.count, 0);
  });

  test("an event without a valid signature is refused, with and without a merchant's key", async () => {
    for (const headers of [[], [["X-Api-Key", "kuko_test_anybody"]]]) {
      const id = newId();
      const response = await deliver(worker, "s0", { id, secret: newSecret(), headers });
      assert.equal(response.status, 401);
      assert.equal(await effects(id), 0);
    }
  });
});
