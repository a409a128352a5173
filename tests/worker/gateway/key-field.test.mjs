// KEY_FIELD: a form field that carries the key, for forms that the browser posts itself.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { newKey, startGateway } from "../fixtures/support.mjs";

const FIELD = "idempotency_key";
const PAIRS = "application/x-www-form-urlencoded";
const MiB = 1 << 20;

/** Returns a body with its type, in the form that `post` expects. */
const typed = (body, type, ...headers) => [body, { headers: [["Content-Type", type], ...headers] }];
const pairs = (...fields) => typed(new URLSearchParams(fields).toString(), PAIRS);
const raw = (text) => typed(text, PAIRS);
const keyed = (key, ...fields) => pairs(...fields, [FIELD, key]);

/** Writes parts as browsers do: [name, content] or [name, content, file name]. */
function parts(fields, boundary = "----WebKitFormBoundaryAaB03x") {
  const written = fields.map(([name, content, file]) => {
    const more = file === undefined ? "" : `; filename="${file}"\r\nContent-Type: text/plain`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${content}\r\n`;
  });
  return typed(`${written.join("")}--${boundary}--\r\n`, `multipart/form-data; boundary=${boundary}`);
}

/** Fails unless the response is a 400 with this message. */
function refused(response, message, what) {
  assert.deepEqual([response.status, response.json.type], [400, "invalid_request_error"], what ?? response.text);
  assert.match(response.json.message, message, what);
}

describe("a key in a form's field", () => {
  let gateway;
  before(async () => {
    const vars = {
      KEY_FIELD: FIELD,
      KEY_REQUIRED: "PUT:/o/*",
      SCOPE: "header:X-Api-Key,cookie:sid",
      CORS_ORIGINS: "https://shop.example",
    };
    gateway = await startGateway({ vars });
  });
  after(() => gateway.dispose());

  /** Posts without a key header. */
  const post = (path, [body, more]) => gateway.post(path, undefined, body, more);

  /** Returns what reached the origin last: body, key, attempt and length. */
  const seen = (path) => {
    const { body, headers } = gateway.origin.last(path);
    const values = ["idempotency-key", "idempotency-attempt", "content-length", "content-type"].map((name) => headers[name]);
    return [body.toString(), ...values];
  };

  test("is executed once and replayed, and the origin gets the key only in the header", async () => {
    const fields = [["amount", "10 €"], ["note", "a&b=c;d"]];
    for (const form of [
      (...more) => pairs(...fields, ...more),
      (...more) => pairs(...more, ...fields),
      (...more) => parts([...fields, ["file", "--\r\nx", "a.txt"], ...more]),
      (...more) => parts([...more, ...fields]),
      (...more) => pairs(...more),
      (...more) => parts(more),
    ]) {
      const path = gateway.route();
      const key = newKey();
      const [plain, { headers: [[, type]] }] = form();
      const first = await post(path, form([FIELD, key]));
      assert.deepEqual([first.status, first.replayed, first.state], [201, false, "completed"]);
      assert.deepEqual(seen(path), [plain, key, "1", String(Buffer.byteLength(plain)), type]);
      const second = await post(path, form([FIELD, key]));
      assert.deepEqual([second.status, second.replayed, second.text], [201, true, first.text]);
      assert.equal(gateway.hits(path), 1);
      assert.equal((await gateway.status(key)).state, "completed");
    }
  });

  test("identifies the same record as the key in a header", async () => {
    const path = gateway.route();
    for (const form of [(...more) => pairs(["a", "1"], ...more), (...more) => parts([["a", "1"], ...more])]) {
      const key = newKey();
      const [body, more] = form();
      assert.equal((await gateway.post(path, key, body, more)).replayed, false);
      assert.ok((await post(path, form([FIELD, key]))).replayed);
      const [whole] = form([FIELD, key]);
      assert.ok((await gateway.post(path, key, whole, more)).replayed, "the header and the field have the same key");
      assert.ok((await gateway.post(path, `"${key}"`, whole, more)).replayed, "the header quoted");
      const before = gateway.hits(path);
      refused(await gateway.post(path, newKey(), whole, more), /different idempotency keys/);
      refused(await gateway.post(path, "", whole, more), /empty/);
      assert.equal(gateway.hits(path), before);
    }
  });

  test("fault 26: a key in a form's field is a mismatch with other fields, but not with another boundary", async () => {
    const path = gateway.route();
    const key = newKey();
    const form = (amount, boundary) => parts([["amount", amount], [FIELD, key]], boundary);
    assert.equal((await post(path, form("10", "one"))).status, 201);
    assert.ok((await post(path, form("10", "another"))).replayed);
    for (const other of [form("11", "one"), keyed(key, ["amount", "10"]), parts([["amount", "10"], ["b", ""], [FIELD, key]])]) {
      assert.equal((await post(path, other)).json.type, "idempotency_error");
    }
    assert.equal(gateway.hits(path), 1);
  });

  test("is found in a form that fetch writes, with a file of any bytes", async () => {
    const path = gateway.route();
    const key = newKey();
    const send = async () => {
      const form = new FormData();
      form.set("名", "訂閲 \"quoted\"\n");
      form.set(FIELD, key);
      form.set("file", new Blob([Uint8Array.from({ length: 5000 }, (_, at) => at % 256)]), `${FIELD}"; name="x.bin`);
      const response = new Response(form);
      const bytes = new Uint8Array(await response.arrayBuffer());
      return post(path, typed(bytes, response.headers.get("Content-Type")));
    };
    assert.deepEqual([(await send()).replayed, (await send()).replayed], [false, true]);
    const sent = gateway.origin.last(path);
    const rest = await new Response(sent.body, { headers: { "Content-Type": sent.headers["content-type"] } }).formData();
    assert.deepEqual([...rest.keys()], ["名", "file"]);
    assert.equal((await rest.get("file").arrayBuffer()).byteLength, 5000);
  });

  test("a navigation that is authenticated only by its cookie gets the first redirect again", async () => {
    const path = gateway.route(() => ({ status: 303, headers: { Location: "/thanks" } }));
    const [body, { headers }] = keyed(newKey(), ["amount", "10"]);
    const browser = [...headers, ["Cookie", "theme=dark; sid=s-1"], ["Sec-Fetch-Mode", "navigate"], ["Accept", "text/html"]];
    for (const replayed of [false, true]) {
      const response = await gateway.post(path, undefined, body, { as: null, headers: browser });
      assert.deepEqual([response.status, response.get("Location"), response.replayed], [303, "/thanks", replayed]);
    }
    const stranger = await gateway.post(path, undefined, body, { as: null, headers });
    assert.deepEqual([stranger.status, stranger.json.type], [401, "authentication_error"]);
    assert.equal(gateway.hits(path), 1);
  });

  test("satisfies KEY_REQUIRED, and a form without the field does not", async () => {
    const path = gateway.route();
    const put = ([body, more]) => gateway.call("PUT", path, { body, ...more });
    for (const form of [pairs(["a", "1"]), parts([["a", "1"]]), pairs(), raw(`a=${FIELD}`), raw(FIELD.toUpperCase())]) {
      const response = await put(form);
      assert.deepEqual([response.status, response.json.type], [400, "idempotency_key_missing"]);
    }
    assert.equal(gateway.hits(path), 0);
    assert.equal((await put(keyed(newKey(), ["a", "1"]))).status, 201);
    assert.equal((await put(parts([[FIELD, newKey()]]))).status, 201);
  });

  test("is not read from a query, JSON, plain text or a compressed form", async () => {
    const key = newKey();
    const coded = gzipSync(`${FIELD}=${key}`);
    for (const [query, [body, more]] of [
      [`?${FIELD}=${key}`, pairs(["a", "1"])],
      ["", typed(JSON.stringify({ [FIELD]: key }), "application/json")],
      ["", typed(`${FIELD}=${key}\r\n`, "text/plain")],
      ["", typed(`${FIELD}=${key}`, "application/octet-stream")],
      ["", typed(parts([[FIELD, key]])[0], "multipart/mixed; boundary=----WebKitFormBoundaryAaB03x")],
      ["", typed(coded, PAIRS, ["Content-Encoding", "gzip"])],
    ]) {
      const path = gateway.route();
      for (let time = 0; time < 2; time++) {
        const response = await gateway.post(path + query, undefined, body, more);
        assert.deepEqual([response.status, response.replayed, response.state], [201, false, undefined], more.headers.join());
      }
      assert.ok(gateway.origin.last(path).body.equals(Buffer.from(body)));
      assert.equal(gateway.origin.last(path).headers["idempotency-key"], undefined);
      assert.equal((await gateway.call("PUT", path + query, { body, ...more })).json.type, "idempotency_key_missing");
    }
    assert.equal(await gateway.status(key), undefined);
  });

  test("is optional: a form without the field is forwarded byte for byte", async () => {
    const odd = Buffer.from(Array.from({ length: 1024 }, (_, at) => (at * 7) % 256));
    for (const [body, more] of [
      pairs(["a", "1"]),
      raw(""),
      raw("&&a=%zz;b&=&"),
      typed(odd, PAIRS),
      parts([["a", "1"], ["f", "\0\x01\r\n--", "a.bin"]]),
      typed(odd, "multipart/form-data; boundary=x"),
      typed("--x\r\nbroken", "multipart/form-data; boundary=x"),
      typed("--x\r\nbroken", "multipart/form-data"),
    ]) {
      for (const chunked of [false, true]) {
        const path = gateway.route();
        const response = await gateway.post(path, undefined, body, { ...more, chunked });
        assert.deepEqual([response.status, response.state], [201, undefined], String(body));
        const sent = gateway.origin.last(path);
        assert.ok(sent.body.equals(Buffer.from(body)), String(body));
        assert.equal(sent.headers["content-type"], more.headers[0][1]);
        assert.equal(sent.headers["content-length"], String(body.length));
      }
    }
  });

  test("fault 20: a form with two key fields is refused, in any spelling", async () => {
    const path = gateway.route();
    for (const second of [`${FIELD}=k`, `%69dempotency_key=k`, `idempotency%5Fkey=other`, FIELD, `${FIELD}=`]) {
      refused(await post(path, raw(`${FIELD}=k&a=1&${second}`)), /more than once/, second);
    }
    refused(await post(path, parts([[FIELD, "k"], ["a", "1"], [FIELD, "k"]])), /more than once/);
    const [twice, more] = raw(`${FIELD}=k&${FIELD}=k`);
    refused(await gateway.post(path, "k", twice, more), /more than once/);
    assert.equal(gateway.hits(path), 0);
  });

  test("fault 22: an invalid key is refused, and so is an empty key", async () => {
    const path = gateway.route();
    for (const [key, message] of [
      ["", /empty/],
      ["a b", /visible ASCII/],
      ["a\r\nX-Injected: 1", /visible ASCII/],
      ["clé", /visible ASCII/],
      ...["\0", "a\0b", "k\u0085", "k\u00a0", "\ufeffk", "k\u200b", "\uff4b", "k\u0301", "\ud83d\udd11"].map((key) => [key, /visible ASCII/]),
      ['"k"', /quote/],
      ["x".repeat(256), /255/],
    ]) {
      refused(await post(path, keyed(key, ["a", "1"])), message, JSON.stringify(key));
      refused(await post(path, parts([["a", "1"], [FIELD, key]])), message, JSON.stringify(key));
    }
    refused(await post(path, raw(`${FIELD}&a=1`)), /empty/);
    assert.equal(gateway.hits(path), 0);
    const longest = newKey().padEnd(255, "!~");
    assert.equal((await post(path, keyed(longest))).status, 201);
    assert.equal(seen(path)[1], longest);
    assert.equal((await post(path, parts([[FIELD, longest]]))).json.type, "idempotency_error", "a form of another type");
  });

  test("in a field whose name could be read in two ways is refused; other names are ignored", async () => {
    const path = gateway.route();
    const part = (head, content = "k") =>
      typed(`--B\r\n${head}\r\n\r\n${content}\r\n--B--\r\n`, "multipart/form-data; boundary=B");
    const named = (rest) => part(`Content-Disposition: form-data; ${rest}`);
    for (const [form, message] of [
      [raw(`a=1;${FIELD}=k`), /more than one way/],
      [raw(`${FIELD}=k;a=1`), /more than one way/],
      [raw(`${FIELD}=100%`), /more than one way/],
      [named('name="%69dempotency_key"'), /more than one way/],
      [named('name="\\idempotency_key"'), /more than one way/],
      [named(`name="a"; name="${FIELD}"`), /more than one way/],
      [named(`name*=utf-8''${FIELD}`), /more than one way/],
      [named(`name="a"; filename="\\"; name="${FIELD}"`), /more than one way/],
      [named(`name="${FIELD}`), /more than one way/],
      [part(`Content-Disposition: attachment; name="${FIELD}"`), /more than one way/],
      [part(`Content-Disposition: form-data; name="${FIELD}"\r\nContent-Transfer-Encoding: base64`), /more than one way/],
      [named(`name="${FIELD}"; filename="key.txt"`), /file/],
      [part(`Content-Disposition : form-data; name="${FIELD}"`), /cannot be parsed/],
      [typed(parts([[FIELD, "k"]])[0].replaceAll("\r\n", "\n"), "multipart/form-data; boundary=x"), /cannot be parsed/],
      [typed(parts([[FIELD, "k"]])[0], "multipart/form-data"), /cannot be parsed/],
    ]) {
      refused(await post(path, form), message, form[0]);
    }
    assert.equal(gateway.hits(path), 0);
    for (const form of [raw(`${FIELD}[]=k`), raw(`x${FIELD}=k`), raw(`%2569dempotency_key=k`), named(`name="${FIELD}s"`)]) {
      const response = await post(path, form);
      assert.deepEqual([response.status, response.state], [201, undefined], form[0]);
    }
  });

  test("does not count for the key calls, and CORS works as with a header", async () => {
    const path = gateway.route();
    const key = newKey();
    const [body, { headers }] = keyed(key, ["a", "1"]);
    const origin = ["Origin", "https://shop.example"];
    for (const replayed of [false, true]) {
      const response = await gateway.post(path, undefined, body, { headers: [...headers, origin] });
      assert.deepEqual([response.replayed, response.get("Access-Control-Allow-Origin")], [replayed, origin[1]]);
    }
    const twice = await gateway.post(path, undefined, `${body}&${body}`, { headers: [...headers, origin] });
    assert.deepEqual([twice.status, twice.get("Access-Control-Allow-Origin")], [400, origin[1]]);
    const voided = await gateway.post("/_oncekey/key/void", undefined, body, { headers });
    assert.deepEqual([voided.status, voided.json.type], [400, "idempotency_key_missing"]);
    assert.equal((await gateway.status(key)).state, "completed");
  });

  test("with an override of the method or path is refused, as with a header", async () => {
    const path = gateway.route();
    const [body, { headers }] = keyed(newKey());
    const override = [...headers, ["X-HTTP-Method-Override", "DELETE"]];
    assert.equal((await gateway.post(path, undefined, body, { headers: override })).status, 400);
    assert.equal(gateway.hits(path), 0);
  });

  test("forms without a key free their memory", async () => {
    const path = gateway.route(({ body }) => ({ body: String(body.length) }));
    const form = typed(Buffer.alloc(9 * MiB, "a"), PAIRS);
    for (let time = 0; time < 6; time++) assert.equal((await post(path, form)).text, String(9 * MiB));
  });
});

describe("a form's limits", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { KEY_FIELD: "key", MAX_REQUEST_BYTES: "1000" } })));
  after(() => gateway.dispose());

  test("fault 37: with KEY_FIELD, MAX_REQUEST_BYTES applies to all forms, with and without a key", async () => {
    const path = gateway.route();
    const sized = (length, start) => raw(start.padEnd(length, "x"));
    const post = ([body, more], chunked) => gateway.post(path, undefined, body, { ...more, chunked });
    for (const chunked of [false, true]) {
      for (const start of ["a=", `key=${newKey()}&a=`]) {
        assert.equal((await post(sized(1000, start), chunked)).status, 201);
        assert.equal((await post(sized(1001, start), chunked)).status, 413);
      }
      assert.equal((await post(parts([["file", "x".repeat(1000), "a.txt"]]), chunked)).status, 413);
    }
    assert.equal(gateway.hits(path), 4);
    const bytes = typed(Buffer.alloc(5000), "application/octet-stream");
    const json = typed(JSON.stringify("x".repeat(5000)), "application/json");
    for (const other of [bytes, json]) assert.equal((await post(other)).status, 201, "other bodies stream");
  });
});

test("without KEY_FIELD the field has no meaning", async () => {
  const gateway = await startGateway();
  try {
    const path = gateway.route();
    for (const [body, more] of [keyed("k"), raw(`${FIELD}=k&${FIELD}=`), parts([[FIELD, "k"]])]) {
      const response = await gateway.post(path, undefined, body, more);
      assert.deepEqual([response.status, response.state], [201, undefined]);
      assert.equal(gateway.origin.last(path).body.toString(), body);
      assert.equal(gateway.origin.last(path).headers["idempotency-key"], undefined);
    }
  } finally {
    await gateway.dispose();
  }
});
