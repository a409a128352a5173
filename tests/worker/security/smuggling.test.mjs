// Attacks on the framing of requests. Bytes that the gateway reads as a body must never reach the origin as a request. Each
// request is sent unchanged to workerd, with and without the simulator, and the requests at the origin are counted.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { apiKey, newKey, startGateway } from "../fixtures/support.mjs";

const SMUGGLED = "/o/smuggled";
/** The smuggled request, with the credential of a victim. */
const inner = `POST ${SMUGGLED} HTTP/1.1\r\nHost: x\r\nX-Api-Key: victim\r\nIdempotency-Key: ${newKey()}\r\nContent-Length: 0\r\n\r\n`;
const chunk = (text, extension = "") => `${text.length.toString(16)}${extension}\r\n${text}\r\n`;
const END = "0\r\n\r\n";

/**
 * The headers and the body of a request, and the body that the origin may get; no third value if the request is refused.
 * The gateway and the origin must both see exactly one request.
 */
const SHAPES = {
  "two lengths": [["Content-Length: 3", "Content-Length: 5"], "abcde"],
  "one length twice": [["Content-Length: 3", "Content-Length: 3"], "abc", "abc"],
  "a list of lengths": [["Content-Length: 3, 3"], "abc"],
  "a length with a sign": [["Content-Length: +3"], "abc"],
  "a negative length": [["Content-Length: -1"], "abc"],
  "a length in hexadecimal": [["Content-Length: 0x3"], "abc"],
  "a length with a space in it": [["Content-Length: 3 0"], "abc"],
  "a length beyond 64 bits": [["Content-Length: 18446744073709551619"], "abc"],
  "length and chunks": [["Content-Length: 4", "Transfer-Encoding: chunked"], chunk("abc") + END, "abc"],
  "chunks and length": [["Transfer-Encoding: chunked", "Content-Length: 4"], chunk("abc") + END, "abc"],
  "a request after the chunks, inside the length": [
    [`Content-Length: ${END.length + inner.length}`, "Transfer-Encoding: chunked", "Connection: close"],
    END + inner,
    "",
  ],
  "a request as a body": [[`Content-Length: ${inner.length}`], inner, inner],
  "a request as a chunk": [["Transfer-Encoding: chunked"], chunk(inner) + END, inner],
  "an unknown coding": [["Content-Length: 3", "Transfer-Encoding: xchunked"], "abc"],
  "chunked and then nothing": [["Transfer-Encoding: chunked, identity"], chunk("abc") + END],
  // workerd checks only the last coding. It frames the request again for the origin, so both see one request.
  "chunked twice": [["Transfer-Encoding: chunked, chunked"], chunk("abc") + END, "abc"],
  "a coding inside the chunks": [["Transfer-Encoding: gzip, chunked"], chunk("abc") + END, "abc"],
  "two codings in two lines": [["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], chunk("abc") + END],
  "a space before the colon": [["Content-Length: 3", "Transfer-Encoding : chunked"], chunk("abc") + END],
  "a vertical tab before the coding": [["Content-Length: 3", "Transfer-Encoding:\x0bchunked"], "abc"],
  "a quoted coding": [["Content-Length: 3", 'Transfer-Encoding: "chunked"'], "abc"],
  "an extension of a chunk": [["Transfer-Encoding: chunked"], chunk("abc", ';a=b;c="x"') + END, "abc"],
  "a line feed in an extension": [["Transfer-Encoding: chunked"], `3;\nxx\r\nabc\r\n${END}`],
  "line feeds alone between chunks": [["Transfer-Encoding: chunked"], "3\nabc\n0\n\n"],
  "a size with a prefix": [["Transfer-Encoding: chunked"], `0x3\r\nabc\r\n${END}`],
  "a size with a sign": [["Transfer-Encoding: chunked"], `-3\r\nabc\r\n${END}`],
  "a size beyond 64 bits": [["Transfer-Encoding: chunked"], `ffffffffffffffff3\r\nabc\r\n${END}`],
  "a chunk longer than its size": [["Transfer-Encoding: chunked"], `2\r\nabc\r\n${END}`],
  "a credential after the body": [["Transfer-Encoding: chunked", "Trailer: X-Api-Key"], `${chunk("abc")}0\r\nX-Api-Key: victim\r\n\r\n`, "abc"],
  "a folded header": [["X-A: a", " X-Api-Key: victim", "Content-Length: 3"], "abc"],
  "a carriage return in a value": [["X-A: a\rX-Api-Key: victim", "Content-Length: 3"], "abc"],
  "a NUL in a value": [["X-A: a\0b", "Content-Length: 3"], "abc"],
  "a space in a name": [["X A: a", "Content-Length: 3"], "abc"],
  "a name of nothing": [[": a", "Content-Length: 3"], "abc"],
  "a line without a colon": [["nonsense", "Content-Length: 3"], "abc"],
  "an upgrade to a socket": [["Connection: Upgrade", "Upgrade: websocket", "Content-Length: 3"], "abc", undefined],
  "an upgrade to HTTP/2": [
    ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Content-Length: 3"],
    "abc",
    "abc",
  ],
  "a body that is waited for": [["Expect: 100-continue", "Content-Length: 3"], "abc", "abc"],
};

/** Sends bytes. Returns all that arrives until the other side closes, or goes silent after `responses` responses. */
function exchange(url, text, responses = 1) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => socket.write(text, "latin1"));
    let out = "";
    const latest = setTimeout(() => end(), 30_000);
    const end = () => (clearTimeout(latest), socket.destroy(), resolve(out));
    socket.setTimeout(700, () => out.match(/HTTP\/1\.1 \d/g)?.length >= responses && end());
    socket.on("data", (data) => (out += data.toString("latin1"))).on("error", end).on("close", end);
  });
}

describe("framing", () => {
  let gateway, urls;
  before(async () => {
    gateway = await startGateway({ more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] } });
    urls = { "by the simulator": gateway.url, "by workerd alone": (await gateway.worker.runtime.unsafeGetDirectURL()).href };
    assert.notEqual(new URL(urls["by the simulator"]).port, new URL(urls["by workerd alone"]).port);
  });
  after(() => gateway.dispose());

  for (const [what, [lines, body, expected]] of Object.entries(SHAPES)) {
    test(what, async () => {
      for (const [way, url] of Object.entries(urls)) {
        const path = gateway.route();
        const before = gateway.origin.seen.length;
        const head = [`POST ${path} HTTP/1.1`, "Host: x", `X-Api-Key: ${apiKey}`, `Idempotency-Key: ${newKey()}`, ...lines];
        if (!lines.some((line) => line.startsWith("Connection"))) head.push("Connection: close");
        const out = await exchange(url, `${head.join("\r\n")}\r\n\r\n${body}`);
        const reached = gateway.origin.seen.slice(before);
        assert.equal(gateway.hits(SMUGGLED), 0, `${way}: smuggled`);
        assert.match(out, /^HTTP\/1\.1 \d\d\d /, way);
        if (expected === undefined) {
          assert.match(out, /^HTTP\/1\.1 (400|408|500) /, way);
          assert.deepEqual(reached, [], way);
          continue;
        }
        assert.match(out, /HTTP\/1\.1 201 /, way);
        assert.deepEqual(
          reached.map((one) => [one.method, one.path, one.body.toString("latin1"), one.headers["x-api-key"]]),
          [["POST", path, expected, apiKey]],
          way,
        );
        // The gateway frames the request to the origin again.
        const { headers } = reached[0];
        assert.equal(headers["content-length"], String(expected.length), way);
        for (const name of ["transfer-encoding", "trailer", "upgrade", "http2-settings", "te"]) {
          assert.equal(headers[name], undefined, `${way}: ${name}`);
        }
      }
    });
  }

  test("pipelined requests on one connection keep their own credentials and responses", async () => {
    for (const [way, url] of Object.entries(urls)) {
      const path = gateway.route();
      const one = (who, body) =>
        `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${who}\r\nIdempotency-Key: k\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      const [a, b] = [`a-${newKey()}`, `b-${newKey()}`];
      const out = await exchange(url, one(a, "abc") + one(b, "abc") + one(a, "abc"), 3);
      const ids = [...out.matchAll(/\{"id":"([^"]+)"\}/g)].map(([, id]) => id);
      assert.equal(ids.length, 3, way);
      assert.equal(ids[0], ids[2], way);
      assert.notEqual(ids[0], ids[1], `${way}: the tenants get different responses`);
      assert.equal(gateway.hits(path), 2, way);
    }
  });

  test("a WebSocket cannot be opened through the gateway", async () => {
    for (const [way, url] of Object.entries(urls)) {
      const path = gateway.route();
      const out = await exchange(url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
      assert.doesNotMatch(out, /^HTTP\/1\.1 101/, way);
      for (const { headers } of gateway.origin.at(path)) assert.equal(headers.upgrade, undefined, way);
    }
  });

  test("an invalid Host header does not change the host of the origin request", async () => {
    for (const [way, url] of Object.entries(urls)) {
      for (const host of ["evil.example", "a@evil.example", "evil.example:99/webhooks/x?", "evil.example#", "[::1]:80", "evil.example/_oncekey/journal?"]) {
        const before = gateway.origin.seen.length;
        await exchange(url, `POST /o/x HTTP/1.1\r\nHost: ${host}\r\nX-Api-Key: a\r\nIdempotency-Key: ${newKey()}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
        for (const { headers, path } of gateway.origin.seen.slice(before)) {
          assert.equal(headers.host, new URL(gateway.origin.url).host, `${way}: ${host}`);
          assert.doesNotMatch(path, /^\/(webhooks|_oncekey)\//, `${way}: ${host}`);
        }
      }
    }
  });
});
