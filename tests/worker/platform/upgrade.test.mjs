// Records that an earlier release has written, in a database of this build. tests/worker/fixtures/release-*.json has the
// rows of such records, and what each must still do. A release that writes another form adds a file, made with
// `UPDATE_FIXTURES=1 node --test tests/worker/platform/upgrade.test.mjs`. The file of a published release never changes.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { created, eventually, recordName, startGateway } from "../fixtures/support.mjs";

const folder = new URL("../fixtures/", import.meta.url).pathname;
const vars = {
  ...{ UNKNOWN_OUTCOME: "hold", MAX_REPLAY_BYTES: "2000", LEASE_SECONDS: "30" },
  ...{ FINGERPRINT_SECRET: "2026:fixture", RETENTION_SECONDS: "31536000", BUSINESS_KEYS: "POST:/business:/no" },
};
const key = (number) => `00000000-0000-4000-8000-00000000000${number}`;
const body = { amount: 2990, currency: "USD" };
const json = (status, text) => ({ status, headers: { "Content-Type": "application/json", "X-Request-Id": "req_fixture" }, body: text });

/** Each request, how the origin responded to it, and the state that this left. */
const WRITES = [
  { state: "completed", path: "/completed", key: key(1), reply: json(201, '{"id":"ord_1"}') },
  { state: "completed", path: "/refused", key: key(2), reply: json(402, '{"error":"declined"}') },
  { state: "completed", path: "/empty", key: key(3), reply: { status: 204 } },
  { state: "not replayable", path: "/large", key: key(4), reply: json(201, JSON.stringify("x".repeat(3000))) },
  { state: "unknown", path: "/unknown", key: key(5), reply: json(500, "{}") },
  { state: "released", path: "/released", key: key(6), reply: json(429, "{}") },
  { state: "voided", path: "/voided", key: key(7) },
  { state: "in_progress", path: "/in-progress", key: key(8), reply: json(201, '{"id":"late"}') },
  { state: "completed", path: "/business", key: key(9), body: { ...body, no: "NO_1" }, reply: json(201, '{"id":"ord_9"}') },
];
const COLUMNS = ["name", "due_at", "scope", "of", "open", "record"];

const send = (gateway, write, more = {}) => gateway.post(write.path, write.key, { ...(write.body ?? body), ...more });
const version = () => JSON.parse(readFileSync(join(folder, "../../../worker/npm/package.json"), "utf8")).version;

/** Runs a statement in the object that holds the records whose names begin with `name`. */
async function inShard(gateway, name, query, values = []) {
  const response = await gateway.worker.fetch("/__test/shard", { method: "POST", body: JSON.stringify({ name, do: "sql", query, values }) });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** Makes the file of this build. */
async function make(file) {
  const gateway = await startGateway({ faults: true, vars });
  for (const write of WRITES) {
    gateway.origin.route(() => write.reply, write.path);
    // A record stays in progress if its gateway cannot reach it again.
    if (write.state === "in_progress") {
      const lost = (op) => ({ op, fault: "refuse", times: 1000 });
      await gateway.faults(write.key, lost("complete"), lost("fail"), lost("renew"), lost("void"));
      // The response comes after several tries, which nobody needs to wait for.
      send(gateway, write).catch(() => {});
      await eventually(async () => assert.equal((await gateway.sql(write.key, "SELECT 1 FROM records")).length, 1));
    } else if (write.state === "voided") await gateway.call("POST", "/_oncekey/key/void", { key: write.key });
    else await send(gateway, write);
  }
  const rows = [];
  for (let shard = 0; shard < 256; shard++) {
    // An object without records has no table.
    rows.push(...(await inShard(gateway, shard.toString(16).padStart(2, "0"), `SELECT ${COLUMNS} FROM records`).catch(() => [])));
  }
  const [{ sql: table }] = await gateway.sql(key(1), "SELECT sql FROM sqlite_master WHERE name = 'records'");
  writeFileSync(file, `${JSON.stringify({ madeAt: Date.now(), table, rows }, null, 1)}\n`);
  await gateway.dispose();
}

const current = join(folder, `release-${version()}.json`);
if (process.env.UPDATE_FIXTURES === "1") test("a fixture is made", () => make(current));
else {
  for (const file of readdirSync(folder).filter((name) => /^release-.*\.json$/.test(name))) {
    const { madeAt, table, rows } = JSON.parse(readFileSync(join(folder, file), "utf8"));

    test(`this build reads the records in ${file}`, async () => {
      const gateway = await startGateway({ faults: true, vars });
      try {
        // An hour after the fixture was made, so that its lease has ended and nothing has expired.
        await gateway.clock(madeAt + 3_600_000 - Date.now());
        const places = COLUMNS.map(() => "?").join();
        for (const row of rows) {
          // The object has not been used, so it finds this table when it starts.
          await inShard(gateway, row.name.hex, table.replace(/^CREATE TABLE /, "$&IF NOT EXISTS "));
          await inShard(gateway, row.name.hex, `INSERT INTO records (${COLUMNS}) VALUES (${places})`, COLUMNS.map((one) => row[one]));
        }
        for (const write of WRITES) {
          assert.ok(rows.some((row) => row.name.hex === recordName(write.key)), `${file} has no record for ${write.path}`);
          gateway.origin.route(created, write.path);
          const again = await send(gateway, write);
          const hits = gateway.hits(write.path);
          switch (write.state) {
            case "completed":
              assert.deepEqual([again.status, again.text, again.replayed, hits], [write.reply.status, write.reply.body ?? "", true, 0], write.path);
              if (write.reply.headers) assert.equal(again.get("X-Request-Id"), "req_fixture");
              assert.equal((await send(gateway, write, { amount: 1 })).json.code, "idempotency_error", write.path);
              break;
            case "released":
              assert.deepEqual([again.status, again.replayed, hits], [201, false, 1], write.path);
              assert.equal(gateway.origin.last(write.path).headers["idempotency-attempt"], "2");
              break;
            default: {
              const code = { "not replayable": "not_replayable", voided: "key_voided" }[write.state] ?? "outcome_unknown";
              assert.deepEqual([again.status, again.json.code, hits], [409, `idempotency_${code}`, 0], write.path);
            }
          }
        }
        // The business key is permanent, under any key.
        const other = await gateway.post("/business", key("a"), { ...body, no: "NO_1" });
        assert.deepEqual([other.status, other.text, other.replayed, gateway.hits("/business")], [201, '{"id":"ord_9"}', true, 0]);
      } finally {
        await gateway.dispose();
      }
    });
  }
}
