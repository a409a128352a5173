// The journal, which has one row for each change of a key, and the operators' views of keys.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { created, cut, eventually, gated, inTurn, newKey, noMemory, recordName, scopeName, startGateway } from "../fixtures/support.mjs";

const TOKEN = "admin-token-0123456789";
const admin = [["Authorization", `Bearer ${TOKEN}`]];
const DAY = 86_400_000;
const EARLIER_TABLES = readFileSync(new URL("../fixtures/earlier-tables.sql", import.meta.url), "utf8");

/** Returns functions that query a gateway as its operator. */
const operator = (gateway) => {
  const ask = (path, more) => gateway.get(`/_oncekey/${path}`, { headers: admin, as: null, ...more });
  const rows = (response) => {
    assert.equal(response.status, 200, response.text);
    assert.equal(response.get("Content-Type"), "application/x-ndjson");
    return response.text.split("\n").filter(Boolean).map(JSON.parse);
  };
  return {
    ask,
    rows,
    journal: async (query = "") => rows(await ask(`journal${query}`)),
    /** The rows about a key. */
    about: async (key, more = "") => rows(await ask(`journal?key=${recordName(key)}${more}`)),
    settle: (headers, body) =>
      gateway.call("POST", "/_oncekey/key/settle", { headers: [...admin, ...headers], body, as: null }),
  };
};

/** Returns the main fields of a row as text. */
const short = ({ operation, kind, attempt, http_status, cause, state }) =>
  [operation, kind, attempt, http_status, cause, state].map((one) => one ?? "-").join(" ");

describe("the journal", () => {
  let gateway, about, journal, ask, rows, settle;
  before(async () => {
    gateway = await startGateway({
      faults: true,
      vars: { ...noMemory, ADMIN_TOKEN: TOKEN, UNKNOWN_OUTCOME: "retry", LEASE_SECONDS: "6" },
    });
    ({ about, journal, ask, rows, settle } = operator(gateway));
  });
  after(() => gateway.dispose());

  test("a page of more than 64 KB from one shard arrives whole", async () => {
    const path = gateway.route();
    const inOneShard = () => {
      for (;;) {
        const key = newKey();
        if (recordName(key).startsWith("a1")) return key;
      }
    };
    const keys = Array.from({ length: 200 }, inOneShard);
    for (let at = 0; at < keys.length; at += 20) {
      await Promise.all(keys.slice(at, at + 20).map((key) => gateway.post(path, key)));
    }
    const page = await ask("journal?limit=5000");
    assert.ok(page.text.length > 65536, `${page.text.length} bytes`);
    const found = new Set(rows(page).map(({ key }) => key));
    assert.deepEqual(keys.filter((key) => !found.has(recordName(key))), []);
  });

  test("a completion is one row, and replays and status calls add none", async () => {
    const path = gateway.route();
    const key = newKey();
    const begun = Date.now();
    const first = await gateway.post(path, key);
    for (let again = 0; again < 5; again++) {
      assert.ok((await gateway.post(path, key)).replayed);
      assert.equal((await gateway.post(path, key, { other: 1 })).json.type, "idempotency_error");
      assert.equal((await gateway.status(key)).state, "completed");
    }
    const [row, ...more] = await about(key);
    assert.deepEqual(more, []);
    const { id, at, created_at, ...rest } = row;
    assert.deepEqual(rest, {
      key: recordName(key),
      of: "key",
      scope: scopeName(),
      operation: "complete",
      kind: "completed",
      attempt: 1,
      request_id: first.get("X-Request-Id"),
      http_status: 201,
      cause: null,
      state: "completed",
    });
    assert.match(id, new RegExp(`^${parseInt(recordName(key).slice(0, 2), 16)}-\\d+-\\d+$`));
    assert.equal(at, (await gateway.status(key)).completed_at, "the row is written with the record");
    assert.ok(Date.parse(created_at) >= begun - 1000 && Date.parse(created_at) <= Date.parse(at));
  });

  test("each end of an attempt and each decision is a row with its cause", async () => {
    const path = gateway.route(inTurn(429, 503, cut, 401, created));
    const key = newKey();
    for (let again = 0; again < 5; again++) await gateway.post(path, key);
    assert.deepEqual((await about(key)).map(short), [
      "complete released 1 429 status released",
      "complete unknown 2 503 status unknown",
      "fail unknown 3 - connection_lost unknown",
      "complete unknown 4 401 earlier_attempt unknown",
      "complete completed 5 201 - completed",
    ]);
    const elsewhere = newKey();
    await gateway.post(gateway.route(inTurn({ status: 307, headers: { Location: "/x" } })), elsewhere);
    assert.deepEqual((await about(elsewhere)).map(short), ["complete elsewhere 1 307 - -"]);
    const given = newKey();
    for (let again = 0; again < 3; again++)
      await gateway.call("POST", "/_oncekey/key/void", { key: given });
    const [row, ...more] = await about(given);
    assert.deepEqual([short(row), more], ["void voided 0 - - voided", []]);
    assert.match(row.request_id, /^req_/);
  });

  test("a settlement is a row, whether it names the key or only the key's hash", async () => {
    const settlements = [
      [{ outcome: "not_executed" }, "settle settled 1 - settled released"],
      [{ outcome: "executed", status: 201, body: "found" }, "settle settled 1 201 - completed"],
    ];
    for (const [body, row] of settlements) {
      for (const by of ["key", "hash"]) {
        const key = newKey();
        await gateway.post(gateway.route(inTurn(500)), key);
        const named =
          by === "key"
            ? [["Idempotency-Key", key], ["X-Oncekey-Scope", scopeName()]]
            : [["X-Oncekey-Name", recordName(key)]];
        const response = await settle(named, body);
        assert.equal(response.status, 200, response.text);
        const found = await about(key);
        assert.deepEqual(found.map(short), ["complete unknown 1 500 status unknown", row]);
        assert.equal(found[1].request_id, response.json.request_id ?? response.get("X-Request-Id"));
        assert.equal(found[1].scope, by === "key" ? scopeName() : found[1].scope);
        assert.equal((await settle(named, body)).status, 409, "the key is already settled");
        assert.equal((await about(key)).length, 2);
      }
    }
    const { key } = { key: newKey() };
    await gateway.post(gateway.route(inTurn(500)), key);
    for (const headers of [
      [["X-Oncekey-Name", key]],
      [["X-Oncekey-Name", recordName(key)], ["Idempotency-Key", key]],
      [["X-Oncekey-Name", ""]],
    ])
      assert.equal((await settle(headers, { outcome: "not_executed" })).status, 400);
    const other = await settle([["X-Oncekey-Name", recordName(newKey())]], { outcome: "not_executed" });
    assert.equal(other.status, 404);
    // The header has no effect for callers without the token.
    const stranger = await gateway.call("POST", "/_oncekey/key/settle", {
      headers: [["X-Oncekey-Name", recordName(key)]],
      body: { outcome: "not_executed" },
    });
    assert.equal(stranger.status, 401);
    assert.equal((await gateway.status(key)).state, "unknown");
  });

  test("an overtaken attempt has a row, and so has its late response", async () => {
    const loseLease = async (path, key, slow) => {
      await gateway.faults(key, { op: "renew", fault: "refuse", times: 1000 });
      const response = gateway.post(path, key);
      await slow.reached;
      await eventually(async () => assert.equal((await gateway.status(key)).state, "unknown"));
      return { response };
    };
    for (const [late, kinds] of [
      [created, ["begin overtook 2 - lease_died in_progress", "complete late_success 1 201 - completed", "complete late_ignored 2 201 - completed"]],
      [inTurn(422), ["begin overtook 2 - lease_died in_progress", "complete late_ignored 1 422 - in_progress", "complete completed 2 201 - completed"]],
    ]) {
      const [slow, other] = [gated(late), gated()];
      const path = gateway.route(inTurn(slow, other));
      const key = newKey();
      const { response } = await loseLease(path, key, slow);
      const second = gateway.post(path, key);
      await other.reached;
      // The reply is lost, so the call is made twice. It still adds only one row.
      await gateway.faults(key, { op: "complete", fault: "lose" });
      slow.open();
      await response;
      other.open();
      await second;
      const found = await about(key);
      assert.deepEqual(found.map(short), kinds);
      assert.equal(new Set(found.map((row) => row.created_at)).size, 1, "one life");
    }
  });

  test("a call that arrives twice, late or at an evicted object adds no second row", async () => {
    for (const fault of ["lose", "twice", "evict"]) {
      const key = newKey();
      const path = gateway.route();
      await gateway.faults(key, { op: "begin", fault }, { op: "complete", fault });
      assert.equal((await gateway.post(path, key)).status, 201);
      assert.deepEqual((await about(key)).map((row) => row.kind), ["completed"], fault);
    }
  });

  test("rows cannot be changed, replaced or deleted", async () => {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    const name = { hex: recordName(key) };
    for (const query of [
      "UPDATE journal SET http_status = 500 WHERE name = ?",
      "DELETE FROM journal WHERE name = ?",
      "INSERT OR REPLACE INTO journal SELECT * FROM journal WHERE name = ?",
    ])
      await assert.rejects(gateway.sql(key, query, name), /append-only/, query);
    assert.equal((await about(key)).length, 1);
  });

  test("a response is stored although the database refuses its row", async () => {
    const key = newKey();
    const path = gateway.route();
    await gateway.post(gateway.route(), key + "-");
    await gateway.get("/_oncekey/key", { key });
    await gateway.sql(key, "CREATE TRIGGER refuses BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'no'); END");
    try {
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.state], [201, "completed"]);
      assert.ok((await gateway.post(path, key)).replayed);
      assert.match(gateway.worker.logs.map(({ message }) => message).join("\n"), /journal not written/);
    } finally {
      await gateway.sql(key, "DROP TRIGGER refuses");
    }
    assert.deepEqual(await about(key), []);
  });

  test("the journal contains no key, credential or body", async () => {
    const key = `visible-${newKey()}`;
    await gateway.post(gateway.route(inTurn({ status: 200, body: "the-response-body" })), key, { card: "4242-in-the-body" });
    const [row] = await gateway.sql(key, "SELECT * FROM journal WHERE name = ?", { hex: recordName(key) });
    const shown = [row, await about(key), (await ask(`keys/${recordName(key)}`)).json, (await ask("keys")).json];
    for (const secret of [key, "kuko_test_gateway", "the-response-body", "4242-in-the-body"])
      assert.ok(!JSON.stringify(shown).includes(secret), secret);
  });

  test("the journal can be read page by page, by time, by key and by request", async () => {
    const from = new Date().toISOString();
    const path = gateway.route();
    const keys = Array.from({ length: 40 }, newKey);
    const responses = await Promise.all(keys.map((key) => gateway.post(path, key)));
    const to = String(Date.now() + 1);
    const window = `from=${encodeURIComponent(from)}&to=${to}`;
    const all = await journal(`?${window}`);
    assert.deepEqual(all.map((row) => row.key).sort(), keys.map((key) => recordName(key)).sort());
    // Each page links to the next with the same query.
    const pages = [];
    for (let next = `journal?limit=7&${window}`; next; ) {
      const response = await ask(next);
      pages.push(rows(response));
      next = response.get("Link")?.match(/^<\/_oncekey\/(.*)>; rel="next"$/)[1];
      assert.ok(pages.length < 20);
    }
    assert.ok(pages.slice(0, -1).every((page) => page.length === 7), "only the last one is shorter");
    assert.deepEqual(pages.flat(), all);
    assert.equal(new Set(all.map((row) => row.id)).size, 40);
    const requestId = responses[3].get("X-Request-Id");
    assert.deepEqual((await journal(`?request_id=${requestId}`)).map((row) => row.key), [recordName(keys[3])]);
    assert.deepEqual(await about(keys[3], `&request_id=${responses[4].get("X-Request-Id")}`), []);
    // `from` is inclusive, and `to` is exclusive.
    const [row] = await about(keys[0]);
    assert.equal((await about(keys[0], `&from=${row.at}`)).length, 1);
    assert.equal((await about(keys[0], `&to=${row.at}`)).length, 0);
    assert.equal((await about(keys[0], `&from=${encodeURIComponent("2026-01-01T00:00:00+09:00")}`)).length, 1);
    assert.equal((await about(keys[0], `&from=${encodeURIComponent("2024-02-29t00:00:00.123456-00:30")}`)).length, 1);
    // The rows of one key also have pages.
    const busy = newKey();
    const failing = gateway.route(inTurn(500));
    for (let again = 0; again < 5; again++) await gateway.post(failing, busy);
    const first = await ask(`journal?key=${recordName(busy)}&limit=3`);
    const rest = await ask(first.get("Link").match(/<\/_oncekey\/(.*)>/)[1]);
    assert.deepEqual([...rows(first), ...rows(rest)].map((row) => row.attempt), [1, 2, 3, 4, 5]);
  });

  test("an invalid query is refused", async () => {
    for (const query of [
      `key=${newKey()}`,
      "key=zz",
      "from=yesterday",
      "from=2026-01-01",
      "from=2026-02-30",
      ...["2026-02-30T00:00:00Z", "2026-02-29T00:00:00Z", "2026-04-31T12:00:00Z", "2026-00-10T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T23:60:00Z", "2026-01-01T23:59:60Z", "2026-01-01T00:00:00%2B24:00", "2026-01-01T00:00:00%2B00:60", "2026-01-01T00:00:00.Z", "2026-01-01T00:00Z", "2026-1-1T00:00:00Z"].flatMap((time) => [`from=${time}`, `to=${time}`]),
      "from=2026-01-01T00:00:00",
      "to=-5",
      "limit=0",
      "limit=5001",
      "limit=x",
      "cursor=1-2",
      "cursor=256-1-1",
      "unknown=1",
      "from=1&from=2",
      "request_id=%ff",
    ]) {
      const response = await ask(`journal?${query}`);
      assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], query);
      assert.ok(response.json.message.includes(query.startsWith("from=1&") ? "from" : query.split("=")[0]) || query === "unknown=1");
    }
    assert.equal((await gateway.call("POST", "/_oncekey/journal", { headers: admin })).status, 405);
    assert.equal((await gateway.call("DELETE", "/_oncekey/keys", { headers: admin })).status, 405);
    assert.equal((await ask("keys?state=lost")).status, 400);
    assert.equal((await ask("keys?limit=201")).status, 400);
    assert.equal((await ask("keys/nothing")).status, 404);
  });

  test("only an operator can read the journal", async () => {
    for (const path of ["journal", "keys", `keys/${recordName("x")}`, "reconcile"]) {
      for (const headers of [[], [["Authorization", "Bearer wrong"]], [["Authorization", TOKEN]]]) {
        const response = await gateway.get(`/_oncekey/${path}`, { headers });
        assert.deepEqual([response.status, response.json.type], [401, "authentication_error"], path);
      }
    }
  });

  test("keys are listed, the newest first, and by state", async () => {
    const keys = { completed: newKey(), released: newKey(), unknown: newKey(), voided: newKey(), in_progress: newKey() };
    const slow = gated();
    await gateway.post(gateway.route(), keys.completed);
    await gateway.post(gateway.route(inTurn(429)), keys.released);
    await gateway.post(gateway.route(inTurn(503)), keys.unknown);
    await gateway.call("POST", "/_oncekey/key/void", { key: keys.voided });
    const first = gateway.post(gateway.route(slow), keys.in_progress);
    await slow.reached;
    const { data, has_more } = (await ask("keys?limit=5")).json;
    assert.deepEqual(
      data.map((key) => key.key),
      Object.values(keys).map((key) => recordName(key)).reverse(),
    );
    assert.equal(has_more, true);
    const { created_at, changed_at, completed_at, expires_at, request_id, ...done } = data.at(-1);
    assert.deepEqual(done, {
      key: recordName(keys.completed),
      of: "key",
      scope: scopeName(),
      state: "completed",
      cause: null,
      attempts: 1,
      http_status: 201,
      lease_until: null,
      replays: null,
    });
    assert.equal(changed_at, completed_at);
    assert.match(request_id, /^req_/);
    assert.ok(created_at <= changed_at && changed_at < expires_at);
    const why = (name) => {
      const { state, cause, http_status } = data.find((key) => key.key === recordName(keys[name]));
      return [state, cause, http_status];
    };
    assert.deepEqual(why("released"), ["released", "status", 429]);
    assert.deepEqual(why("unknown"), ["unknown", "status", 503]);
    assert.deepEqual(why("in_progress"), ["in_progress", null, null]);
    const lease = Date.parse(data[0].lease_until) - Date.now();
    assert.ok(lease <= 6000, "six seconds");
    for (const [state, key] of Object.entries(keys)) {
      const listed = (await ask(`keys?state=${state}&limit=200`)).json.data;
      assert.ok(listed.some((one) => one.key === recordName(key)), state);
      assert.ok(listed.every((one) => one.state === state));
    }
    slow.open();
    await first;
    assert.ok(!(await ask("keys?state=in_progress")).json.data.some((one) => one.key === recordName(keys.in_progress)));
    const life = (await ask(`keys/${recordName(keys.unknown)}`)).json;
    assert.deepEqual([life.key.state, life.journal.map((row) => row.kind)], ["unknown", ["unknown"]]);
    const none = await ask(`keys/${recordName(newKey())}`);
    assert.deepEqual([none.status, none.json.code], [404, "idempotency_key_not_found"]);
  });

  test("a key shows how often its response was replayed", async () => {
    const path = gateway.route();
    const key = newKey();
    await gateway.post(path, key);
    const of = async () => (await ask(`keys/${recordName(key)}`)).json;
    const { journal } = await of();
    for (let i = 0; i < 3; i++) assert.equal((await gateway.post(path, key)).replayed, true);
    assert.equal((await gateway.post(path, key, { another: "request" })).status, 400);
    const { key: { replays }, ...rest } = await of();
    assert.equal(replays.count, 3, "a refusal does not count as a replay");
    assert.ok(Date.parse(replays.since) <= Date.parse(replays.last_at));
    assert.deepEqual(rest.journal, journal, "a replay leaves no row");
  });

  test("a key whose attempt has died is listed as unknown", async () => {
    const slow = gated();
    const key = newKey();
    await gateway.faults(key, { op: "renew", fault: "refuse", times: 1000 });
    const first = gateway.post(gateway.route(slow), key);
    await slow.reached;
    await eventually(async () => {
      const { data } = (await ask("keys?state=unknown")).json;
      assert.equal(data.find((one) => one.key === recordName(key))?.cause, "lease_died");
    });
    slow.open();
    await first;
  });

  /** The form of the tables, and the indexes. */
  const schema = async (key) => {
    const rows = await gateway.sql(key, "SELECT name, sql FROM sqlite_schema WHERE name IN ('records', 'journal') OR type = 'index' AND sql IS NOT NULL ORDER BY name");
    return rows.map(({ name, sql }) => (name === "records" ? `records ${/PRIMARY KEY \(open, name\)/.test(sql) ? "by open and name" : "of an earlier form"}` : name));
  };

  test("an object of an earlier version is brought up to date, with all that it has", async () => {
    const keys = { completed: newKey() };
    const alike = () => {
      let key = newKey();
      while (recordName(key).slice(0, 2) !== recordName(keys.completed).slice(0, 2)) key = newKey();
      return key;
    };
    Object.assign(keys, { unknown: alike(), later: alike() });
    const path = gateway.route();
    const key = keys.completed;
    await gateway.post(path, key);
    await gateway.post(gateway.route(inTurn(500)), keys.unknown);
    const form = ["journal", "records by open and name"];
    assert.deepEqual(await schema(key), form);
    const before = await Promise.all(Object.values(keys).map((key) => about(key)));
    await gateway.sql(key, EARLIER_TABLES);
    await gateway.evict(key);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.deepEqual(await schema(key), form);
    await gateway.post(path, keys.later);
    const rows = await Promise.all(Object.values(keys).map((key) => about(key)));
    const withoutId = (rows) => rows.map(({ id, ...row }) => row);
    assert.deepEqual(rows.slice(0, 2).map(withoutId), before.slice(0, 2).map(withoutId), "the rows are the same");
    const numbers = rows.flat().map(({ id }) => Number(id.split("-")[2]));
    assert.deepEqual([...numbers].sort((one, other) => one - other), numbers, "later rows have larger ids");
    assert.deepEqual(await about(key, `&from=${rows[0][0].at}`), rows[0], "by time");
    assert.deepEqual(await about(key, `&from=${rows[2][0].at}`), []);
    assert.ok((await ask("keys?state=unknown&limit=200")).json.data.some((one) => one.key === recordName(keys.unknown)));
    await assert.rejects(gateway.sql(key, "DELETE FROM journal"), /append-only/);
    assert.equal((await gateway.status(keys.unknown)).state, "unknown");
  });

  test("an object of the first version is brought up to date", async () => {
    const key = newKey();
    const path = gateway.route();
    await gateway.post(path, key);
    for (const query of [
      EARLIER_TABLES,
      "DROP TABLE journal",
      "DROP TABLE journal_end",
      "DROP INDEX records_open",
      "ALTER TABLE records DROP COLUMN open",
      "ALTER TABLE records DROP COLUMN scope",
      "ALTER TABLE records DROP COLUMN of",
    ])
      await gateway.sql(key, query);
    await gateway.evict(key);
    assert.ok((await gateway.post(path, key)).replayed);
    const listed = (await ask(`keys/${recordName(key)}`)).json;
    assert.deepEqual([listed.key.scope, listed.journal], [null, []]);
    assert.ok((await ask("keys?state=completed&limit=200")).json.data.some((one) => one.key === recordName(key)));
  });

  test("a large table of an earlier version keeps its form, and serves", async () => {
    const key = newKey();
    const path = gateway.route();
    await gateway.post(path, key);
    await gateway.sql(key, EARLIER_TABLES);
    await gateway.sql(
      key,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100001)
      INSERT INTO records (name, record) SELECT CAST('copy' || i AS BLOB), X'00' FROM n`,
    );
    await gateway.evict(key);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.ok((await schema(key)).includes("records of an earlier form"));
    let neighbour = newKey();
    while (recordName(neighbour).slice(0, 2) !== recordName(key).slice(0, 2)) neighbour = newKey();
    assert.equal((await gateway.post(path, neighbour)).status, 201);
    assert.ok((await gateway.post(path, neighbour)).replayed);
    assert.deepEqual((await about(neighbour)).map(({ kind }) => kind), ["completed"]);
    await gateway.sql(key, "DELETE FROM records WHERE name LIKE 'copy%'");
    await gateway.evict(key);
    assert.ok((await gateway.post(path, neighbour)).replayed);
    assert.ok((await schema(key)).includes("records by open and name"));
  });

  test("the rows of a key are found among many others", async () => {
    const key = newKey();
    const failing = gateway.route(inTurn(429));
    const asked = [];
    for (let part = 0; part < 3; part++) {
      asked.push((await gateway.post(failing, key)).get("X-Request-Id"));
      await gateway.sql(
        key,
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
        INSERT INTO journal (at, name, of, operation, kind, attempt)
        SELECT (SELECT max(at) FROM journal), X'00', 'key', 'complete', 'released', 1 FROM n`,
      );
    }
    const found = await about(key);
    assert.deepEqual(found.map(({ attempt }) => attempt), [1, 2, 3]);
    assert.deepEqual((await about(key, "&limit=2")).map(({ attempt }) => attempt), [1, 2]);
    assert.deepEqual(found.map((row) => row.request_id), asked);
    assert.deepEqual((await journal(`?request_id=${asked[2]}`)).map(({ id }) => id), [found[2].id]);
    assert.deepEqual((await ask(`keys/${recordName(key)}`)).json.journal, found);
  });
});

describe("the journal's retention", () => {
  let gateway, about;
  // Each test has its own gateway, because it sets the clock.
  beforeEach(async () => {
    const vars = { ADMIN_TOKEN: TOKEN, UNKNOWN_OUTCOME: "hold", JOURNAL_RETENTION_SECONDS: "3456000" };
    gateway = await startGateway({ faults: true, vars });
    ({ about } = operator(gateway));
  });
  afterEach(() => gateway.dispose());

  test("rows outlive their records, and are removed after JOURNAL_RETENTION_SECONDS", async () => {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    let open = newKey();
    while (recordName(open).slice(0, 2) === recordName(key).slice(0, 2)) open = newKey();
    await gateway.post(gateway.route(inTurn(500)), open);
    await gateway.clock(2 * DAY);
    await gateway.shard(key, { do: "alarm" });
    assert.equal(await gateway.status(key), undefined);
    assert.equal((await about(key)).length, 1, "the row stays after the record is removed");
    const due = await gateway.shard(key, { do: "alarm-at" });
    assert.ok(due - Date.now() > 39.9 * DAY && due - Date.now() < 40.1 * DAY, "the alarm is set for the row");
    // An unknown outcome that was never resolved adds a row when its record is removed.
    await gateway.clock(31 * DAY);
    await gateway.shard(open, { do: "alarm" });
    assert.deepEqual((await about(open)).map(short), [
      "complete unknown 1 500 status unknown",
      "expire expired 1 500 status -",
    ]);
    assert.equal((await about(open))[1].scope, scopeName());
    await gateway.clock(40 * DAY + 2 * 3_600_000);
    await gateway.shard(key, { do: "alarm" });
    await gateway.shard(open, { do: "alarm" });
    assert.deepEqual(await about(key), []);
    assert.deepEqual((await about(open)).map((row) => row.kind), ["expired"], "the newer row stays");
    await assert.rejects(gateway.sql(open, "DELETE FROM journal"), /append-only/);
    await assert.rejects(gateway.sql(open, "UPDATE journal_end SET kept_from = 0"), /does not come back/);
  });

  test("rows that one sweep leaves are removed by the next sweeps", async () => {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    await gateway.sql(
      key,
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
      INSERT INTO journal (at, name, of, operation, kind, attempt)
      SELECT at, name, of, operation, kind, attempt FROM journal, n WHERE name = ?`,
      { hex: recordName(key) },
    );
    const count = async () => (await gateway.sql(key, "SELECT count(*) AS count FROM journal"))[0].count;
    assert.ok((await count()) > 1200);
    await gateway.clock(41 * DAY);
    for (let round = 0; round < 3; round++) await gateway.shard(key, { do: "alarm" });
    assert.equal(await count(), 0);
  });
});

test("without an ADMIN_TOKEN the journal is written, but cannot be read", async () => {
  const gateway = await startGateway({ faults: true });
  try {
    const key = newKey();
    await gateway.post(gateway.route(), key);
    for (const path of ["journal", "keys", `keys/${recordName(key)}`, "reconcile"])
      for (const headers of [[], admin, [["Authorization", "Bearer "]]])
        assert.equal((await gateway.get(`/_oncekey/${path}`, { headers })).status, 404, path);
    assert.equal((await gateway.sql(key, "SELECT kind FROM journal"))[0].kind, "completed");
  } finally {
    await gateway.dispose();
  }
});
