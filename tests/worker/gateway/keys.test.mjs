// Which texts are valid keys, and which routes require a key.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, head, newKey, sendRaw, startGateway } from "../fixtures/support.mjs";

describe("the Idempotency-Key header", () => {
  let gateway;
  before(async () => (gateway = await startGateway()));
  after(() => gateway.dispose());

  /** Sends a request whose key lines are these bytes. */
  const raw = (path, ...keys) =>
    sendRaw(
      gateway.url,
      head("POST", path, [
        ["X-Api-Key", apiKey],
        ["Content-Length", "0"],
        ["Connection", "close"],
        ...keys.map((key) => ["Idempotency-Key", key]),
      ]),
    );

  test("a key is the same key with and without quotes", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, `"${key}"`)).status, 201);
    assert.ok((await gateway.post(path, key)).replayed);
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
    const odd = `a\\"b\\\\${key}`;
    assert.equal((await gateway.post(path, `"${odd}"`)).status, 201);
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], `a"b\\${key}`);
    assert.ok((await gateway.post(path, `a"b\\${key}`)).replayed);
    assert.equal(gateway.hits(path), 2);
  });

  test("fault 20: two keys are refused, whether they are equal, on several lines or joined", async () => {
    const path = gateway.route();
    for (const keys of [["k1", "k2"], ["k1", "k1"], ["", "k1"], ["k1, k2"], ["k1,  k1"], ['"k1"', '"k2"']]) {
      assert.equal((await raw(path, ...keys)).status, 400, keys.join(" | "));
    }
    assert.equal(gateway.hits(path), 0);
  });

  test("fault 21: a key of 255 characters is accepted, and a key of 256 characters gets a clear error", async () => {
    const path = gateway.route();
    const longest = newKey().padEnd(255, "x");
    for (const key of [longest, `"${longest}"`]) assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], longest);
    assert.equal(gateway.hits(path), 1);
    for (const key of [`${longest}x`, "x".repeat(2000)]) {
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.json.type], [400, "invalid_request_error"]);
      assert.match(response.json.message, /255/);
    }
    // The longest key of the longest credential can be stored, because the name of a record is a hash.
    const as = "x".repeat(4000);
    assert.equal((await gateway.post(path, longest, { a: 1 }, { as })).status, 201);
    assert.ok((await gateway.post(path, longest, { a: 1 }, { as })).replayed);
  });

  test("fault 22: a key with characters other than visible ASCII is refused, and so is an unterminated string", async () => {
    const path = gateway.route();
    const bad = [
      "",
      '""',
      " ",
      '"unclosed',
      '"',
      '"a"b',
      '"a";p=',
      '"a" ;p=1',
      '"a";P=1',
      '"a";p=1;',
      '"a";p=1, "b"',
      '"a";p="\\n"',
      '"a\\n"',
      "caf\u00e9",
      "caf\u00c3\u00a9",
      "a\tb",
      "a b",
      '"a b"',
      "a\x7fb",
      "a\x01b",
    ];
    // Sent as UTF-8 bytes: a control character, a space, a combining mark, an invisible character, a character that
    // only looks like a letter, a character of four bytes, and a character that is cut in the middle.
    const utf8 = (text) => Buffer.from(text).toString("latin1");
    for (const odd of ["\u0085", "\u00a0", "\u0301", "\u200b", "\ufeff", "\uff4b", "\u0430", "\ud83d\udd11"])
      bad.push(utf8(odd), utf8(`k${odd}`), utf8(`${odd}k`), utf8(`"k${odd}k"`), utf8(`k${odd}`).slice(0, -1));
    for (const key of bad) {
      const { status, text } = await raw(path, key);
      assert.equal(status, 400, JSON.stringify(key));
      assert.match(text, /invalid_request_error/);
    }
    // workerd itself refuses a NUL before any Worker sees it.
    for (const key of ["\0", "a\0b", "k\0", "\0k", '"k\0"']) assert.equal((await raw(path, key)).status, 400);
    assert.equal(gateway.hits(path), 0);
  });

  test("parameters after a key are not part of it", async () => {
    const path = gateway.route();
    const key = newKey();
    for (const spelling of [key, `"${key}"`, `"${key}";a=1`, `"${key}"; a; b="x;y"`, `"${key}";a=:aGk=:;b=?0;c=tok/en;d=-1.5`])
      assert.equal((await raw(path, spelling)).status, 201, spelling);
    assert.equal(gateway.hits(path), 1);
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
    assert.equal((await raw(path, `${key};a=1`)).status, 201, "without quotes, the parameters are part of the key");
    assert.equal(gateway.hits(path), 2);
  });

  test("every visible character may be in a key", async () => {
    const path = gateway.route();
    // A quote has a meaning only at the start. Here the first character is an exclamation mark.
    const key = Array.from({ length: 94 }, (_, at) => String.fromCharCode(33 + at)).join("");
    assert.equal((await raw(path, key)).status, 201);
    assert.equal((await raw(path, `  ${key}\t`)).status, 201, "space around a key is not part of it");
    assert.equal(gateway.hits(path), 1);
    assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
  });

  test("keys that differ in case are different keys", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, `${key}a`)).replayed, false);
    assert.equal((await gateway.post(path, `${key}A`)).replayed, false);
  });

  test("the name of the header is read in any case", async () => {
    const path = gateway.route();
    const key = newKey();
    for (const [name, replayed] of [
      ["idempotency-key", false],
      ["IDEMPOTENCY-KEY", true],
    ]) {
      assert.equal((await gateway.post(path, undefined, { a: 1 }, { headers: [[name, key]] })).replayed, replayed);
    }
  });
});

describe("KEY_REQUIRED", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { KEY_REQUIRED: "POST:/o/*,*:/strict/*/now" } })));
  after(() => gateway.dispose());

  test("a write on such a route without a key is refused before the origin", async () => {
    const path = gateway.route();
    const response = await gateway.post(path);
    assert.deepEqual(
      [response.status, response.json.type, response.json.code],
      [400, "idempotency_key_missing", "idempotency_key_missing"],
    );
    assert.match(response.json.message, /Idempotency-Key/);
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, newKey())).status, 201);
    assert.equal((await gateway.call("DELETE", "/strict/x/now")).status, 400);
  });

  test("other methods and other routes need no key", async () => {
    const path = gateway.route();
    assert.equal((await gateway.get(path)).status, 201);
    assert.equal((await gateway.call("PUT", path, { body: { a: 1 } })).status, 201);
    assert.equal((await gateway.post("/strict/x/y/now")).status, 404, "the origin's own 404");
  });
});
