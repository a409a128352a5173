// Connections to the origin that break during a request. The platform repeats some requests by itself, but a keyed
// write or an event must reach the origin once. The origin is a raw socket: it responds to the first request of a
// connection, reads the second request whole, and breaks the connection without a response.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { apiKey, newKey, startWorker } from "../fixtures/support.mjs";
import { exchange } from "../fixtures/client.mjs";
import { deliver, WEBHOOK_SECRETS } from "../fixtures/sender.mjs";

/** Returns the complete request at the start of `text`, or undefined if it is not complete yet. */
function whole(text) {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first, ...lines] = text.slice(0, end).split("\r\n");
  const headers = Object.fromEntries(lines.map((line) => line.split(/:\s*/)).map(([name, ...value]) => [name.toLowerCase(), value.join(":")]));
  const rest = text.slice(end + 4);
  const chunked = /chunked/i.test(headers["transfer-encoding"] ?? "");
  const body = chunked ? /^(?:[0-9a-f]+\r\n[^]*?\r\n)*?0\r\n\r\n/i.exec(rest)?.[0] : rest.slice(0, Number(headers["content-length"] ?? 0));
  if (body === undefined || (!chunked && body.length < Number(headers["content-length"] ?? 0))) return undefined;
  return { method: first.split(" ")[0], path: first.split(" ")[1], headers, body, length: end + 4 + body.length };
}

/** Starts an origin that breaks each connection at its second request, by `end`. */
async function breaking() {
  const seen = [];
  const server = createServer((socket) => {
    let text = "";
    let served = 0;
    socket.on("error", () => {});
    socket.on("data", (data) => {
      text += data.toString("latin1");
      const request = whole(text);
      if (!request) return;
      text = text.slice(request.length);
      seen.push(request);
      const first = served++ === 0;
      if (first) socket.write("HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}");
      else if (origin.end === "reset") socket.resetAndDestroy();
      else socket.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    end: "reset",
    at: (path) => seen.filter((request) => request.path === path),
    close: () => server.close(),
  };
  return origin;
}

describe("a connection to the origin that breaks", () => {
  let origin, worker, urls;
  before(async () => {
    origin = await breaking();
    worker = await startWorker({
      upstream: origin.url,
      vars: { WEBHOOK_SECRETS, KEY_FIELD: "key", BUSINESS_KEYS: "PUT:/n/*:/no,DELETE:/n/*:/no" },
      more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] },
    });
    urls = { simulator: worker.url, workerd: (await worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "") };
  });
  after(async () => {
    await worker.dispose();
    origin.close();
  });

  let count = 0;
  /** Sends a request on a connection that has carried another, and returns what the origin saw of it. */
  async function sent(url, method, { headers = [], path = `/o/${++count}`, ...more } = {}) {
    // The earlier request leaves an open connection.
    await exchange(url, { method: "GET", path: `/warm/${++count}`, headers: [["X-Api-Key", apiKey]] });
    const response = await exchange(url, { method, path, ...more, headers: [["X-Api-Key", apiKey], ...headers] });
    return { response, seen: origin.at(path) };
  }

  const form = [["Content-Type", "application/x-www-form-urlencoded"]];
  for (const end of ["reset", "close"]) {
    for (const method of ["PUT", "DELETE", "POST", "PATCH", "PROPFIND", "MKCOL", "MOVE", "PURGE"]) {
      test(`by a ${end} sends a ${method} without a body once`, async () => {
        origin.end = end;
        for (const [way, url] of Object.entries(urls)) {
          for (const chunked of [false, true]) {
            const { response, seen } = await sent(url, method, { headers: [["Idempotency-Key", newKey()]], chunked });
            assert.equal(seen.length, 1, `${way}: executions`);
            assert.deepEqual([response.status, response.state], [502, "unknown"], way);
            assert.match(seen[0].headers["idempotency-key"] ?? "", /./);
            assert.equal(seen[0].headers["idempotency-attempt"], "1");
            // The request has one framing, and no bytes in it.
            const framing = [seen[0].headers["content-length"], seen[0].headers["transfer-encoding"]];
            assert.deepEqual(framing, ["POST", "PATCH"].includes(method) ? ["0", undefined] : [undefined, "chunked"], way);
            assert.equal(seen[0].body.replace("0\r\n\r\n", ""), "");
            assert.equal(seen[0].headers["content-type"], undefined);
          }
        }
      });
    }

    test(`by a ${end} sends a write once whose key is in its form`, async () => {
      origin.end = end;
      for (const url of Object.values(urls)) {
        for (const method of ["PUT", "DELETE", "POST"]) {
          // Without the key, the body is empty.
          for (const body of [`key=${newKey()}`, `key=${newKey()}&a=1`]) {
            const { seen } = await sent(url, method, { body, headers: form });
            assert.equal(seen.length, 1, `${method} ${body}`);
          }
        }
      }
    });

    test(`by a ${end} sends a write with a body once, with a key or a business key`, async () => {
      origin.end = end;
      const json = [["Content-Type", "application/json"]];
      for (const url of Object.values(urls)) {
        for (const method of ["PUT", "DELETE"]) {
          const businessKey = { path: `/n/${++count}`, body: `{"no":"A-${++count}"}`, headers: json };
          assert.equal((await sent(url, method, businessKey)).seen.length, 1, `${method} by its business key`);
          const keyed = { body: "{}", headers: [...json, ["Idempotency-Key", newKey()]] };
          assert.equal((await sent(url, method, keyed)).seen.length, 1, `${method} with a body`);
        }
      }
    });

    test(`by a ${end} sends an event once`, async () => {
      origin.end = end;
      for (const url of Object.values(urls)) {
        for (const body of ["", "{}"]) {
          await exchange(url, { method: "GET", path: `/warm/${++count}`, headers: [["X-Api-Key", apiKey]] });
          const before = origin.at("/webhooks/s0").length;
          const response = await deliver({ url }, "s0", { body });
          assert.equal(response.status, 502);
          assert.equal(origin.at("/webhooks/s0").length - before, 1);
        }
      }
    });
  }

  test("and was used before: the platform sends a request without a key again", async () => {
    // If this changes, the tests above no longer prove anything.
    origin.end = "reset";
    const { response, seen } = await sent(urls.workerd, "DELETE");
    assert.deepEqual([seen.length, response.status], [2, 201]);
  });
});
