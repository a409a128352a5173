// KEY_HEADERS, BLANK_KEY and MAX_KEY_LENGTH: which header contains the key, and which keys count.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, newKey, startGateway } from "../fixtures/support.mjs";

const NAMES = ["Idempotency-Key", "X-Idempotency-Key", "PayPal-Request-Id", "I-Twilio-Idempotency-Token", "Request-Id"];
/** Returns the headers of the last request at a path that are names of keys. */
const keysAt = (gateway, path) => {
  const { headers } = gateway.origin.last(path);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => NAMES.some((known) => known.toLowerCase() === name)));
};

describe("KEY_HEADERS", () => {
  let gateway;
  before(
    async () =>
      (gateway = await startGateway({
        vars: { KEY_HEADERS: NAMES.join(), KEY_REQUIRED: "POST:/strict", KEY_FIELD: "key", ADMIN_TOKEN: "t", CORS_ORIGINS: "https://shop.example" },
      })),
  );
  after(() => gateway.dispose());
  const send = (path, headers, body = { a: 1 }, more = {}) => gateway.post(path, undefined, body, { headers, ...more });

  for (const name of NAMES) {
    test(`a key in ${name} is executed once, and the origin gets it under that name only`, async () => {
      const path = gateway.route();
      const key = newKey();
      const first = await send(path, [[name, `"${key}"`]]);
      const second = await send(path, [[name.toLowerCase(), key]]);
      assert.deepEqual([first.status, first.state, second.replayed, second.text], [201, "completed", true, first.text]);
      assert.equal(gateway.hits(path), 1);
      assert.deepEqual(keysAt(gateway, path), { [name.toLowerCase()]: key });
      assert.equal(gateway.origin.last(path).headers["idempotency-attempt"], "1");
    });
  }

  test("a key is the same key under another name", async () => {
    const path = gateway.route();
    const key = newKey();
    await send(path, [["Request-Id", key]]);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.equal((await send(path, [["PayPal-Request-Id", key]], { a: 2 })).json.code, "idempotency_error");
  });

  test("keys in several headers must agree", async () => {
    const path = gateway.route();
    const key = newKey();
    const differ = await send(path, [["Idempotency-Key", key], ["Request-Id", newKey()]]);
    assert.deepEqual([differ.status, differ.json.code], [400, "invalid_request_error"]);
    assert.match(differ.json.message, /different idempotency keys.*same key in both/);
    for (const headers of [[["Request-Id", key], ["Request-Id", key]], [["Idempotency-Key", key], ["Request-Id", ""]], [["Request-Id", ""]]]) {
      assert.equal((await send(path, headers)).status, 400, JSON.stringify(headers));
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await send(path, [["Idempotency-Key", key], ["Request-Id", `"${key}"`]])).status, 201);
    assert.deepEqual(keysAt(gateway, path), { "idempotency-key": key, "request-id": key });
  });

  test("a header that Connection names still brings the key to the origin", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await send(path, [["Request-Id", key], ["Connection", "Request-Id"]])).status, 201);
    assert.deepEqual(keysAt(gateway, path), { "request-id": key });
  });

  test("a key from a form goes to the origin under the first name", async () => {
    const path = gateway.route();
    const key = newKey();
    const form = (headers) => send(path, [["Content-Type", "application/x-www-form-urlencoded"], ...headers], `a=1&key=${key}`);
    assert.equal((await form([])).status, 201);
    assert.deepEqual(keysAt(gateway, path), { "idempotency-key": key });
    assert.ok((await form([["Request-Id", key]])).replayed);
    assert.equal((await form([["Request-Id", "other"]])).status, 400);
  });

  test("any of the headers satisfies KEY_REQUIRED, and the error names the first", async () => {
    gateway.origin.route(undefined, "/strict");
    assert.equal((await send("/strict", [["Request-Id", newKey()]])).status, 201);
    const missing = await send("/strict", []);
    assert.deepEqual([missing.status, missing.json.code], [400, "idempotency_key_missing"]);
    assert.match(missing.json.message, /the header Idempotency-Key/);
  });

  test("calls about keys accept the headers too", async () => {
    const path = gateway.route();
    const key = newKey();
    await send(path, [["PayPal-Request-Id", key]]);
    for (const headers of [[["PayPal-Request-Id", key]], [["Idempotency-Key", key]]]) {
      assert.equal((await gateway.get("/_oncekey/key", { headers })).json.state, "completed");
    }
    const other = await gateway.get("/_oncekey/key", { headers: [["Request-Id", key], ["Idempotency-Key", "x"]] });
    assert.deepEqual([other.status, other.json.code], [400, "invalid_request_error"]);
    const named = [["Authorization", "Bearer t"], ["X-Oncekey-Name", "ab".repeat(32)], ["Request-Id", key]];
    const settled = await gateway.call("POST", "/_oncekey/key/settle", { headers: named, body: { outcome: "not_executed" } });
    assert.equal(settled.status, 400, "a name and a key");
  });

  test("caches and pages learn the names", async () => {
    const path = gateway.route();
    const response = await send(path, [["Request-Id", newKey()], ["Origin", "https://shop.example"]]);
    for (const name of NAMES) assert.ok(response.get("Vary").includes(name), response.get("Vary"));
    const headers = [["Origin", "https://shop.example"], ["Access-Control-Request-Method", "POST"]];
    const preflight = await gateway.call("OPTIONS", path, { headers, as: null });
    for (const name of NAMES) assert.ok(preflight.get("Access-Control-Allow-Headers").includes(name));
  });
});

describe("KEY_HEADERS without Idempotency-Key", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { KEY_HEADERS: "X-Key", KEY_REQUIRED: "POST:/strict" } })));
  after(() => gateway.dispose());

  test("Idempotency-Key is a header of the API, and calls about keys still take it", async () => {
    const path = gateway.route();
    const key = newKey();
    for (const hits of [1, 2]) {
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.state, gateway.hits(path)], [201, undefined, hits]);
    }
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
    const headers = [["X-Key", key]];
    assert.equal((await gateway.post(path, undefined, { a: 1 }, { headers })).state, "completed");
    assert.equal((await gateway.status(key)).state, "completed");
    const missing = await gateway.post("/strict", key);
    assert.match(missing.json.message, /the header X-Key/);
  });
});

describe("BLANK_KEY", () => {
  test("refuse, the default: an empty key is an error", async () => {
    const gateway = await startGateway();
    try {
      const path = gateway.route();
      assert.equal((await gateway.post(path, "")).status, 400);
      assert.equal(gateway.hits(path), 0);
    } finally {
      await gateway.dispose();
    }
  });

  test("ignore: an empty key counts as none, and does not reach the origin", async () => {
    const gateway = await startGateway({ vars: { BLANK_KEY: "ignore", KEY_HEADERS: "Idempotency-Key,X-Key", KEY_REQUIRED: "POST:/strict" } });
    try {
      const path = gateway.route();
      for (const key of ["", '""']) {
        const response = await gateway.post(path, key);
        assert.deepEqual([response.status, response.state], [201, undefined]);
        assert.deepEqual("idempotency-key" in gateway.origin.last(path).headers, false);
      }
      assert.equal((await gateway.post("/strict", "")).json.code, "idempotency_key_missing");
      const headers = [["X-Key", newKey()]];
      for (const replayed of [false, true]) {
        assert.equal((await gateway.post(path, "", { a: 1 }, { headers })).replayed, replayed, "the other header counts");
      }
      for (const key of ["a b", ", a"]) assert.equal((await gateway.post(path, key)).status, 400, key);
    } finally {
      await gateway.dispose();
    }
  });
});

test("MAX_KEY_LENGTH: a longer key is refused, from a header or a form, and the error names the limit", async () => {
  const gateway = await startGateway({ vars: { MAX_KEY_LENGTH: "36", KEY_FIELD: "key" } });
  try {
    const path = gateway.route();
    assert.equal((await gateway.post(path, newKey())).status, 201);
    const long = await gateway.post(path, `${newKey()}x`);
    assert.deepEqual([long.status, long.json.code], [400, "invalid_request_error"]);
    assert.match(long.json.message, /longer than 36 characters/);
    const headers = [["Content-Type", "application/x-www-form-urlencoded"]];
    assert.equal((await gateway.post(path, undefined, `key=${newKey()}x`, { headers, as: apiKey })).status, 400);
    assert.equal(gateway.hits(path), 1);
    assert.equal((await gateway.get("/_oncekey/key", { key: `${newKey()}x` })).status, 404, "a key from before the limit can be looked up");
  } finally {
    await gateway.dispose();
  }
});
