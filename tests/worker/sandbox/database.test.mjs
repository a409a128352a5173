// The database of a merchant: it outlives the Worker, and its permanent rows cannot be changed.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { executions, made, merchant, order, refused } from "../fixtures/merchant.mjs";
import { startWorker } from "../fixtures/support.mjs";

describe("a merchant's database", () => {
  let state, worker, call;
  const apiKey = `sandbox_${randomUUID()}`;
  const start = async () => {
    worker = await startWorker({ state });
    call = merchant(worker, apiKey);
  };
  /** Stops the Worker, changes the database file, and starts the Worker again. */
  const meanwhile = async (work) => {
    await worker.dispose();
    worker = undefined;
    const files = readdirSync(state, { recursive: true }).filter((name) => name.endsWith(".sqlite"));
    const databases = files.map((name) => new DatabaseSync(join(state, name)));
    const has = "SELECT 1 FROM sqlite_schema WHERE name = 'orders'";
    const mine = databases.filter((database) => database.prepare(has).get());
    try {
      assert.equal(mine.length, 1);
      work(mine[0]);
    } finally {
      for (const database of databases) database.close();
    }
    await start();
  };
  before(() => {
    state = mkdtempSync(join(tmpdir(), "oncekey-sandbox-"));
    return start();
  });
  after(async () => {
    await worker?.dispose();
    rmSync(state, { recursive: true, force: true });
  });

  test("outlives the Worker", async () => {
    const [body, key] = [order(), randomUUID()];
    const first = made(await call("POST", "/v1/orders", { body, key }));
    await meanwhile(() => {});
    assert.deepEqual((await call("GET", `/v1/orders/${first.id}`)).json.data, first);
    assert.deepEqual(made(await call("POST", "/v1/orders", { body })), first);
    assert.equal(await executions(call, key), 1);
  });

  test("contains no credential, and refuses changes of permanent rows", async () => {
    const { id } = made(await call("POST", "/v1/orders", { body: order(), key: randomUUID() }));
    const card = { number: "4242424242424242" };
    made(await call("POST", "/v1/payments", { body: { order_id: id, card }, key: randomUUID() }));
    assert.ok(!readdirSync(state, { recursive: true }).some((name) => name.includes(apiKey)));
    await meanwhile((database) => {
      for (const statement of [
        "DELETE FROM orders",
        "UPDATE orders SET amount = 1",
        "UPDATE orders SET out_trade_no = 'x'",
        "DELETE FROM executions",
        "UPDATE executions SET idempotency_key = NULL",
        "DELETE FROM ledger",
        "UPDATE ledger SET amount = amount + 1",
        "DELETE FROM events",
        "UPDATE events SET data = '{}'",
      ]) {
        assert.throws(() => database.exec(statement), /permanent|append-only/, statement);
      }
      for (const table of ["orders", "executions", "payments", "ledger", "events"]) {
        assert.ok(!JSON.stringify(database.prepare(`SELECT * FROM ${table}`).all()).includes(apiKey));
      }
    });
  });

  test("stores each operation in one transaction", async () => {
    const [body, key] = [order(), randomUUID()];
    await meanwhile((database) =>
      database.exec("CREATE TRIGGER broken BEFORE INSERT ON executions BEGIN SELECT RAISE(ABORT, 'broken'); END"),
    );
    const response = await call("POST", "/v1/orders", { body });
    refused(response, 500, undefined, "api_error");
    assert.ok(!response.text.includes("broken"), "no details");
    refused(await call("GET", `/v1/orders?out_trade_no=${body.out_trade_no}`), 404);
    await meanwhile((database) => database.exec("DROP TRIGGER broken"));
    refused(await call("GET", `/v1/orders?out_trade_no=${body.out_trade_no}`), 404);
    made(await call("POST", "/v1/orders", { body, key }));
    assert.equal(await executions(call, key), 1);
  });

  test("of the first version, with only orders, is migrated with its data", async () => {
    const first = made(await call("POST", "/v1/orders", { body: order() }));
    const later = ["payments", "refunds", "subscriptions", "ledger", "events", "endpoints", "deliveries", "attempts", "effects", "credits"];
    await meanwhile((database) => {
      for (const table of later) database.exec(`DROP TABLE IF EXISTS ${table}`);
      database.exec("DROP INDEX executions_of_numberless; UPDATE schema_version SET version = 1");
    });
    assert.deepEqual((await call("GET", `/v1/orders/${first.id}`)).json.data, first);
    made(await call("POST", "/v1/payments", { body: { order_id: first.id, card: { number: "4242424242424242" } } }));
  });

  test("with a newer version is not changed by older code", async () => {
    const body = order();
    let version;
    await meanwhile((database) => {
      version = database.prepare("SELECT version FROM schema_version").get().version;
      database.exec("UPDATE schema_version SET version = 1000");
    });
    const response = await call("POST", "/v1/orders", { body });
    refused(response, 503, undefined, "api_connection_error");
    assert.ok(Number(response.headers.get("Retry-After")) >= 1);
    await meanwhile((database) => database.exec(`UPDATE schema_version SET version = ${version}`));
    made(await call("POST", "/v1/orders", { body }));
  });
});
