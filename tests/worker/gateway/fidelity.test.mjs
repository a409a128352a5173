// The caller gets the origin's response unchanged: headers, bytes, codings, redirects.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { brotliCompressSync, gunzipSync, gzipSync } from "node:zlib";
import { after, before, describe, test } from "node:test";
import { head, newKey, sendRaw, startGateway } from "../fixtures/support.mjs";

const json = { "Content-Type": "application/json" };

describe("an origin's response", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true })));
  after(() => gateway.dispose());

  /** Returns the first response to a new key, and its replay. */
  async function twice(handler, more) {
    const path = gateway.route(handler);
    const key = newKey();
    const responses = [await gateway.post(path, key, { a: 1 }, more), await gateway.post(path, key, { a: 1 }, more)];
    assert.deepEqual(
      responses.map((response) => response.replayed),
      [false, true],
    );
    assert.equal(gateway.hits(path), 1);
    return responses;
  }

  test("faults 27, 28: headers are replayed unchanged, and repeated headers in their order", async () => {
    const headers = {
      "Content-Disposition": `attachment; filename="a,b.txt"; filename*=UTF-8''%e2%82%ac`,
      Link: ["<a>; rel=next", '<b,c>; rel=prev; title="d, e"', "<f>; rel=last"],
      "WWW-Authenticate": 'Basic realm="a, b", Bearer scope="c,d"',
      "Content-Security-Policy": "script-src 'self', img-src a, b",
      Location: "/things/1?x=a,b#c",
      "Content-Type": 'text/plain; charset=UTF-8; x="a, b"',
      ETag: 'W/"x,y"',
      "X-Empty": "",
      "X-Tab": "a\tb",
      "Retry-After": "7",
    };
    const [first, second] = await twice(() => ({ status: 201, headers, body: "ok" }));
    for (const [name, value] of Object.entries(headers)) {
      // The platform joins several lines of one header, which means the same. A single line stays unchanged.
      const wanted = [value].flat().join(", ");
      assert.deepEqual([first.all(name), second.all(name)], [[wanted], [wanted]], name);
    }
  });

  for (const [what, body] of [["a small", "ok"], ["a large", "x".repeat(70_000)]]) {
    test(`header values of ${what} response that are not valid UTF-8 are replayed byte for byte, also after the object was evicted`, async () => {
      const odd = ['Content-Disposition: attachment; filename="M\xfcller.pdf"', "X-Odd: \xff\xfe\x80", "X-Utf8: M\xc3\xbcller"];
      const path = gateway.route((_, response) => {
        const lines = ["HTTP/1.1 201 Created", ...odd, `Content-Length: ${body.length}`, "Connection: close", "", body];
        response.socket.end(Buffer.from(lines.join("\r\n"), "latin1"));
      });
      const key = newKey();
      for (const replayed of [false, true, true]) {
        const response = await gateway.post(path, key);
        assert.deepEqual([response.status, response.replayed, response.text], [201, replayed, body]);
        for (const line of odd) {
          const [name, value] = line.split(": ");
          assert.deepEqual(response.all(name), [value], name);
        }
        if (replayed) await gateway.evict(key);
      }
      assert.equal(gateway.hits(path), 1);
    });
  }

  test("header values of a request that are not UTF-8 reach the origin byte for byte", async () => {
    const path = gateway.route();
    const headers = [
      ["X-Api-Key", "a"],
      ["Idempotency-Key", newKey()],
      ["X-Odd", "M\xfcller \xff"],
      ["Content-Length", "0"],
    ];
    assert.equal((await sendRaw(gateway.url, head("POST", path, headers))).status, 201);
    assert.equal(gateway.origin.last(path).headers["x-odd"], "M\xfcller \xff");
  });

  test("a replay carries its own Date, and the Date of the first response in a second header", async () => {
    const date = "Sun, 06 Nov 1994 08:49:37 GMT";
    const [first, second] = await twice(() => ({ status: 201, headers: { Date: date }, body: "ok" }));
    assert.deepEqual([first.get("Date"), first.get("Idempotency-Date")], [date, undefined]);
    assert.deepEqual(second.all("Idempotency-Date"), [date]);
    const { length } = second.all("Date");
    assert.equal(length, 1);
    const left = Date.parse(second.get("Idempotency-Expires")) - Date.parse(second.get("Date"));
    assert.ok(Math.abs(left - 86_400_000) < 60_000, `${left} ms`);
  });

  test("no shared cache may keep a keyed write's response, whatever the origin says", async () => {
    const cacheHeaders = { "CDN-Cache-Control": "max-age=60", "Surrogate-Control": "max-age=60", Vary: "Accept-Language" };
    for (const [control, becomes] of [
      ["public, max-age=60, s-maxage=600", "private, max-age=60"],
      ["no-store", "no-store"],
      [undefined, "private"],
    ]) {
      const headers = { ...cacheHeaders, ...(control && { "Cache-Control": control }) };
      for (const response of await twice(() => ({ status: 201, headers, body: "ok" }))) {
        assert.deepEqual(response.all("Cache-Control"), [becomes]);
        assert.deepEqual([response.get("CDN-Cache-Control"), response.get("Surrogate-Control")], [undefined, undefined]);
        assert.match(response.get("Vary"), /^Accept-Language, x-api-key, authorization, Idempotency-Key$/i);
      }
      const path = gateway.route(() => ({ headers, body: "ok" }));
      const plain = await gateway.get(path);
      assert.deepEqual([plain.get("Cache-Control"), plain.get("Vary")], [control, "Accept-Language"], "a read keeps the origin's headers");
    }
  });

  test("the origin's request id is returned with the first response and with each replay", async () => {
    const responses = await twice(() => ({ headers: { "X-Request-Id": "req_origin" }, body: "ok" }));
    for (const response of responses) assert.deepEqual(response.all("X-Request-Id"), ["req_origin"]);
  });

  test("a cookie goes to the first caller and is not replayed", async () => {
    const [first, second] = await twice(() => ({
      headers: { "Set-Cookie": ["sid=1; Expires=Sun, 06 Nov 2094 08:49:37 GMT", "b=2"] },
      body: "ok",
    }));
    assert.deepEqual(first.all("Set-Cookie"), ["sid=1; Expires=Sun, 06 Nov 2094 08:49:37 GMT", "b=2"]);
    assert.deepEqual(second.all("Set-Cookie"), []);
  });

  test("the gateway's own headers are dropped from an origin's response", async () => {
    const own = {
      "Idempotent-Replayed": "true",
      "Idempotency-State": "voided",
      "Idempotency-Key": "x",
      "Idempotency-Stored": "false",
    };
    const path = gateway.route(() => ({ headers: own, body: "ok" }));
    const first = await gateway.post(path, newKey());
    assert.deepEqual(
      [first.replayed, first.state, first.get("Idempotency-Key"), first.get("Idempotency-Stored")],
      [false, "completed", undefined, undefined],
    );
    assert.equal((await gateway.get(path)).replayed, false);
  });

  test("hop-by-hop headers are not forwarded", async () => {
    const headers = { Connection: "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "timeout=5", "X-End": "2" };
    for (const response of await twice(() => ({ headers, body: "ok" }))) {
      assert.deepEqual(
        [response.get("X-Hop"), response.get("Keep-Alive"), response.get("X-End")],
        [undefined, undefined, "2"],
      );
    }
    const path = gateway.route();
    const hop = [
      ["Connection", "close, X-Hop"],
      ["X-Hop", "1"],
      ["TE", "trailers"],
      ["Proxy-Authorization", "x"],
      ["X-End", "2"],
      ["X-Api-Key", "a"],
    ];
    assert.equal(
      (await sendRaw(gateway.url, head("POST", path, [...hop, ["Idempotency-Key", newKey()], ["Content-Length", "0"]])))
        .status,
      201,
    );
    const seen = gateway.origin.last(path).headers;
    assert.deepEqual(
      [seen["x-hop"], seen.te, seen["proxy-authorization"], seen["x-end"]],
      [undefined, undefined, undefined, "2"],
    );
  });

  test("fault 29: a body of any bytes and any charset is replayed byte for byte", async () => {
    const blob = Buffer.from(Array.from({ length: 256 * 400 }, (_, at) => at % 256));
    for (const type of ["application/octet-stream", "text/plain; charset=iso-8859-1", "application/json", undefined]) {
      const [first, second] = await twice(() => ({ headers: type ? { "Content-Type": type } : {}, body: blob }));
      assert.ok(first.body.equals(blob) && second.body.equals(blob), type);
      assert.deepEqual([first.get("Content-Type"), second.get("Content-Type")], [type, type]);
    }
  });

  test("fault 31: a response without a body is kept and replayed empty, whatever its status", async () => {
    const chunked = { "Transfer-Encoding": "chunked" };
    for (const [status, more] of [[204], [200], [201], [202], [205], [303], [404], [200, chunked], [201, chunked]]) {
      const responses = await twice(() => ({ status, headers: { "X-A": "1", ...more } }));
      for (const response of responses) {
        assert.deepEqual([response.status, response.body.length, response.get("X-A")], [status, 0, "1"]);
        assert.equal(response.get("Content-Type"), undefined, `${status}`);
      }
    }
  });

  test("fault 32: Content-Length is the length of the body that is sent, whatever the origin's coding was", async () => {
    // The text has more bytes than characters.
    const text = JSON.stringify({ text: "\u00e9\u6b3e\ud83d\udcb3".repeat(1000) });
    const length = String(Buffer.byteLength(text));
    const gzip = { ...json, "Content-Encoding": "gzip" };
    for (const handler of [
      () => ({ headers: json, body: text }),
      () => ({ headers: { ...json, "Content-Encoding": "br" }, body: brotliCompressSync(text) }),
      () => ({ headers: { ...json, "Transfer-Encoding": "chunked" }, body: text }),
      () => ({ headers: { ...gzip, "Transfer-Encoding": "chunked" }, body: gzipSync(text) }),
      () => ({ headers: gzip, body: gzipSync(text) }),
    ]) {
      for (const response of await twice(handler)) {
        assert.equal(response.text, text);
        assert.deepEqual(response.all("Content-Length"), [length]);
      }
    }
  });

  test("fault 33: a caller that accepts no coding can read a response that the origin compressed", async () => {
    const text = JSON.stringify({ text: "x".repeat(5000) });
    for (const [coding, compress] of [["gzip", gzipSync], ["br", brotliCompressSync]]) {
      const path = gateway.route(() => ({ headers: { ...json, "Content-Encoding": coding }, body: compress(text) }));
      const key = newKey();
      const taking = (codings) => (codings ? { headers: [["Accept-Encoding", codings]] } : {});
      assert.equal((await gateway.post(path, key, { a: 1 }, taking(coding))).status, 200);
      for (const codings of [undefined, "identity", `${coding};q=0`, "zstd"]) {
        const plain = await gateway.post(path, key, { a: 1 }, taking(codings));
        assert.deepEqual([plain.replayed, plain.get("Content-Encoding"), plain.text], [true, undefined, text], codings);
      }
    }
  });

  test("an empty body stays empty, whatever its coding", async () => {
    const framings = [{}, { "Transfer-Encoding": "chunked" }, { Connection: "close" }];
    for (const coding of ["gzip", "br", "deflate", "zstd", "GZIP", "gzip, br"]) {
      for (const framing of framings) {
        for (const status of [200, 201, 202, 303, 404]) {
          const headers = { ...json, "Content-Encoding": coding, "X-A": "1", ...framing };
          for (const response of await twice(() => ({ status, headers }))) {
            const seen = [response.status, response.state, response.body.length, response.get("X-A"), response.get("Content-Encoding")];
            assert.deepEqual(seen, [status, "completed", 0, "1", undefined], `${coding} ${JSON.stringify(framing)}`);
          }
          const plain = await gateway.get(gateway.route(() => ({ status, headers })));
          assert.deepEqual([plain.status, plain.body.length], [status, 0], `a read: ${coding}`);
        }
      }
    }
  });

  test("a compressed body that is cut does not count as a response, with or without bytes", async () => {
    const bytes = gzipSync("x".repeat(1000));
    for (const sent of [0, 1, 10, 20]) {
      const path = gateway.route((_, response) => {
        response.writeHead(201, { "Content-Encoding": "gzip", "Content-Length": bytes.length });
        response.flushHeaders();
        response.write(bytes.subarray(0, sent), () => setTimeout(() => response.socket.destroy(), 50));
      });
      const response = await gateway.post(path, newKey());
      assert.deepEqual([response.status, response.state], [502, "unknown"], `${sent} bytes`);
      // The body is complete, but is not valid in its coding.
      const broken = await gateway.post(
        gateway.route(() => ({ status: 201, headers: { "Content-Encoding": "gzip" }, body: bytes.subarray(0, Math.max(sent, 1)) })),
        newKey(),
      );
      assert.deepEqual([broken.status, broken.state], [502, "unknown"], `only the first ${sent} bytes`);
    }
  });

  test("the gateway asks the origin for an uncompressed body, so that its digests stay valid", async () => {
    const text = JSON.stringify({ text: "x".repeat(2000) });
    const digest = (bytes) => createHash("sha256").update(bytes).digest("base64");
    const md5 = (bytes) => createHash("md5").update(bytes).digest("base64");
    /** Compresses if the request accepts it, and sends digests of the compressed bytes, as many servers do. */
    const handler = ({ headers }) => {
      const coding = /\bgzip\b/.test(headers["accept-encoding"] ?? "") ? { "Content-Encoding": "gzip" } : {};
      const body = coding["Content-Encoding"] ? gzipSync(text) : Buffer.from(text);
      const digests = { "Content-Digest": `sha-256=:${digest(body)}:`, "Repr-Digest": `sha-256=:${digest(body)}:`, "Content-MD5": md5(body), Digest: `SHA-256=${digest(body)}` };
      return { status: 201, headers: { ...json, ...coding, ...digests, ETag: '"v1"' }, body };
    };
    for (const taking of [undefined, "gzip", "identity"]) {
      const more = taking ? { headers: [["Accept-Encoding", taking]] } : {};
      for (const response of await twice(handler, more)) {
        // The simulator compresses for a caller that accepts gzip.
        const body = response.get("Content-Encoding") === "gzip" ? gunzipSync(response.body) : response.body;
        assert.equal(body.toString(), text);
        assert.equal(response.get("Content-Digest"), `sha-256=:${digest(body)}:`);
        assert.equal(response.get("Repr-Digest"), `sha-256=:${digest(body)}:`);
        assert.equal(response.get("Content-MD5"), md5(body));
        assert.equal(response.get("Digest"), `SHA-256=${digest(body)}`);
        assert.equal(response.get("ETag"), '"v1"');
      }
    }
    assert.equal(gateway.origin.seen.at(-1).headers["accept-encoding"], "identity");
  });

  test("digests of compressed bytes are removed when the gateway decodes the body", async () => {
    const sent = gzipSync("x".repeat(500));
    const digests = { "Content-Digest": "sha-256=:AA==:", "Repr-Digest": "sha-256=:AA==:", Digest: "SHA-256=AA==", "Content-MD5": "AA==" };
    const coded = { "Content-Encoding": "gzip", ETag: '"v1"', ...digests };
    for (const response of await twice(() => ({ headers: coded, body: sent }))) {
      assert.equal(response.text, "x".repeat(500));
      for (const name of Object.keys(digests)) assert.equal(response.get(name), undefined, name);
      assert.equal(response.get("ETag"), '"v1"');
    }
    // The digests stay if the coding stays. The digests of an empty body are those of no bytes.
    for (const [coding, body] of [["zstd", "abc"], ["identity", "abc"], ["gzip", ""]]) {
      for (const response of await twice(() => ({ headers: { ...coded, "Content-Encoding": coding }, body }))) {
        for (const [name, value] of Object.entries(digests)) assert.equal(response.get(name), value, `${coding}: ${name}`);
      }
    }
  });

  test("faults 34, 35: a 5xx is not replayed, and each replay is marked as one", async () => {
    const path = gateway.route(() => ({ status: 500, headers: json, body: '{"first":true}' }));
    const key = newKey();
    const [first, second] = [await gateway.post(path, key), await gateway.post(path, key)];
    assert.deepEqual([first.status, first.text], [500, '{"first":true}']);
    assert.notEqual(second.text, first.text);
    assert.equal(second.get("Idempotent-Replayed"), undefined);
    const [, replay] = await twice(() => ({ body: "ok" }));
    assert.deepEqual(replay.all("Idempotent-Replayed"), ["true"]);
  });

  test("fault 28: the gateway returns redirects without following them; 307 and 308 leave no record", async () => {
    const target = gateway.route();
    for (const status of [301, 302, 303, 307, 308]) {
      const path = gateway.route(() => ({ status, headers: { Location: target } }));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.get("Location")], [status, target]);
      if (status < 307) {
        const again = await gateway.post(path, key);
        assert.deepEqual([again.replayed, again.status, again.all("Location")], [true, status, [target]]);
        continue;
      }
      assert.equal(first.state, "absent");
      assert.equal(await gateway.status(key), undefined);
      // The caller follows the redirect with the same key, to another path.
      assert.equal((await gateway.post(target, key)).status, 201);
      assert.equal((await gateway.post(target, key)).replayed, true);
    }
    assert.equal(gateway.hits(target), 2);
  });

  test("a status that the platform cannot send becomes 502 and is not replayed", async () => {
    const path = gateway.route(
      (_, response) =>
        void response.socket.end("HTTP/1.1 799 Odd\r\nContent-Length: 3\r\nConnection: close\r\n\r\nodd"),
    );
    const response = await gateway.post(path, newKey());
    assert.deepEqual([response.status, response.state], [502, "unknown"]);
  });

  test("an informational response (1xx) does not count as the final response", async () => {
    const hints = [
      (one) => one.writeEarlyHints({ link: "</a.css>; rel=preload" }),
      (one) => one.writeProcessing(),
      (one) => one.writeContinue(),
    ];
    for (const hint of hints) {
      const [first, second] = await twice((_, response) => (hint(response), { status: 201, body: "ok" }));
      assert.deepEqual([first.status, first.text, second.status, second.text], [201, "ok", 201, "ok"]);
    }
  });

  test("the response to a read is forwarded unchanged: coding, length, HEAD and 304", async () => {
    const text = JSON.stringify({ text: "x".repeat(5000) });
    const path = gateway.route(({ headers }) =>
      headers["if-none-match"]
        ? { status: 304, headers: { ETag: '"1"' } }
        : {
            headers: { ...json, "Content-Encoding": "gzip", ETag: '"1"', "Set-Cookie": ["a=1", "b=2"] },
            body: gzipSync(text),
          },
    );
    const plain = await gateway.get(path, { headers: [["Accept-Encoding", "identity"]] });
    assert.equal(plain.get("Content-Encoding"), undefined, "this caller accepts no coding");
    const coded = await gateway.get(path, { headers: [["Accept-Encoding", "gzip"]] });
    assert.equal(coded.get("Content-Encoding") === "gzip" ? gunzipSync(coded.body).toString() : coded.text, text);
    assert.deepEqual([plain.text, plain.all("Set-Cookie")], [text, ["a=1", "b=2"]]);
    const known = await gateway.get(path, { headers: [["If-None-Match", '"1"']] });
    assert.deepEqual([known.status, known.get("ETag"), known.body.length], [304, '"1"', 0]);
    const sized = gateway.route(() => ({ headers: { "X-A": "1" }, body: "12345" }));
    const probed = await gateway.call("HEAD", sized);
    assert.deepEqual([probed.status, probed.get("X-A"), probed.body.length], [200, "1", 0]);
    assert.equal(probed.get("Content-Length"), "5");
  });
});

test("an upstream with a base path gets its requests below that path", async () => {
  const gateway = await startGateway();
  const base = gateway.route();
  await gateway.worker.dispose();
  const below = await startGateway({ upstream: `${gateway.origin.url}${base}/` });
  try {
    assert.equal((await below.post("/v1/x?y=1", newKey())).status, 404, "the origin's own");
    assert.equal(gateway.origin.last(`${base}/v1/x`).target, `${base}/v1/x?y=1`);
  } finally {
    await below.dispose();
    await gateway.origin.close();
  }
});
