// How long the origin may take. Keyed writes have a time limit, which begins when the origin has the whole request. All
// other requests have no limit. The tests also check the errors that callers get when the origin does not respond.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { apiKey, created, cut, gated, head, newKey, sleep, startGateway, startWorker } from "../fixtures/support.mjs";
import { exchange } from "../fixtures/client.mjs";

const LIMIT = 1000;
const vars = { ORIGIN_TIMEOUT_SECONDS: String(LIMIT / 1000) };
/** Responds after twice the limit. */
const slow = async () => (await sleep(2 * LIMIT), created());

describe("the origin's time", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars })));
  after(() => gateway.dispose());

  test("has no limit for reads and writes without a key", async () => {
    const path = gateway.route(slow);
    const calls = [["GET", {}], ["GET", { key: newKey() }], ["POST", {}], ["POST", { body: { a: 1 } }], ["DELETE", {}]];
    const responses = await Promise.all(calls.map(([method, more]) => gateway.call(method, path, more)));
    assert.deepEqual(responses.map(({ status }) => status), calls.map(() => 201));
  });

  test("does not end a stream of events", async () => {
    const path = gateway.route(async (_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      for (let at = 0; at < 5; at++) {
        response.write(`data: ${at}\n\n`);
        await sleep(LIMIT / 2);
      }
      response.end("data: end\n\n");
    });
    assert.match((await gateway.get(path)).text, /data: 4\n\ndata: end/);
  });

  test("does not limit the upload of a caller without a key", async () => {
    const path = gateway.route();
    const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
    let received = "";
    socket.on("data", (data) => (received += data));
    const ended = new Promise((resolve) => socket.on("close", resolve));
    socket.write(head("POST", path, [["X-Api-Key", apiKey], ["Content-Length", 5], ["Connection", "close"]]));
    for (const byte of "12345") {
      await sleep(LIMIT / 2);
      socket.write(byte);
    }
    await ended;
    assert.match(received, /^HTTP\/1\.1 201 /);
    assert.equal(gateway.origin.last(path).body.toString(), "12345");
  });

  test("limits a write with a key, which is then on hold", async () => {
    const path = gateway.route(gated());
    for (const more of [{ key: newKey() }, { key: newKey(), body: "x".repeat(200_000) }]) {
      const response = await gateway.call("POST", path, more);
      assert.deepEqual([response.status, response.state], [504, "unknown"]);
      assert.match(response.json.message, /not be executed again until its outcome is settled/);
    }
  });

  test("tells the caller in the error what to do about the request", async () => {
    const broken = gateway.route(cut);
    const read = await gateway.get(broken);
    assert.deepEqual([read.status, read.json.code], [502, "api_connection_error"]);
    assert.doesNotMatch(read.json.message, /key|executed/i);
    const keyless = await gateway.call("POST", broken, { body: { a: 1 } });
    assert.deepEqual([keyless.status, keyless.json.code], [502, "api_connection_error"]);
    assert.match(keyless.json.message, /Look up its result before you send it again/);
    const held = await gateway.post(broken, newKey());
    assert.match(held.json.message, /do not use a new one/);
  });
});

for (const [settings, words] of [[{ UNKNOWN_OUTCOME: "retry" }, /Retry with the same idempotency key/], [{ CONNECT_FAILURE: "released" }, /was not executed\. Retry/]]) {
  test(`tells the caller to retry with ${Object.entries(settings)}`, async () => {
    const gateway = await startGateway({ vars: settings });
    try {
      assert.match((await gateway.post(gateway.route(cut), newKey())).json.message, words);
    } finally {
      await gateway.dispose();
    }
  });
}

test("the origin's time begins when the origin has read the whole request, however slowly", async () => {
  // The body is much larger than the buffers of the sockets in between.
  const [size, slowly] = [24 << 20, 16 << 20];
  const limit = 2 * LIMIT;
  let took, got;
  // The origin reads the body in pieces, for longer than the limit, and then responds at once.
  const server = createServer(async (request, response) => {
    const since = Date.now();
    got = 0;
    for await (const chunk of request) {
      got += chunk.length;
      if (got < slowly) await sleep(12);
    }
    took = Date.now() - since;
    response.writeHead(201).end("{}");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const settings = { ORIGIN_TIMEOUT_SECONDS: String(limit / 1000), MAX_REQUEST_BYTES: String(32 << 20) };
  const worker = await startWorker({ upstream: `http://127.0.0.1:${server.address().port}`, vars: settings });
  try {
    const key = newKey();
    const headers = [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Type", "application/octet-stream"]];
    const body = Buffer.alloc(size, "x");
    for (const replayed of [false, true]) {
      const response = await exchange(worker.url, { method: "POST", path: "/x", headers, body });
      assert.deepEqual([response.status, response.state, response.replayed], [201, "completed", replayed], response.text);
    }
    assert.equal(got, size);
    assert.ok(took > limit, `the upload should take longer than the limit: ${took} ms`);
  } finally {
    await worker.dispose();
    server.closeAllConnections();
    server.close();
  }
});
