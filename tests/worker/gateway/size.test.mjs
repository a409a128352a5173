// Large requests and responses. Within the limits they are handled like all others. Beyond the limits, requests are
// refused, and responses are passed on without being kept.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, eventually, gated, head, inTurn, newKey, startGateway, startRaw } from "../fixtures/support.mjs";

const MiB = 1 << 20;
const bytes = { headers: [["Content-Type", "application/octet-stream"]] };

describe("with the default limits", () => {
  let gateway;
  before(async () => (gateway = await startGateway()));
  after(() => gateway.dispose());

  test("a request of 10 MiB is executed once and replayed, as bytes and as JSON", async () => {
    const path = gateway.route();
    const binary = Buffer.alloc(10 * MiB, "\u0000\u00ff", "latin1");
    const text = `{"a":"${"x".repeat(10 * MiB - 8)}"}`;
    for (const [body, more] of [
      [binary, bytes],
      [text, { headers: [["Content-Type", "application/json"]] }],
    ]) {
      const key = newKey();
      assert.equal((await gateway.post(path, key, body, more)).status, 201);
      assert.ok(gateway.origin.last(path).body.equals(Buffer.from(body)));
      assert.ok((await gateway.post(path, key, body, more)).replayed);
      if (body === binary) continue;
      const changed = Buffer.from(body);
      changed[changed.length - 3] ^= 1;
      assert.equal((await gateway.post(path, key, changed, more)).json.type, "idempotency_error");
    }
    assert.equal(gateway.hits(path), 2);
  });

  test("fault 37: a body one byte over the limit is refused before the origin, with a length or in chunks", async () => {
    const path = gateway.route();
    const full = Buffer.concat([
      Buffer.from(`${(10 * MiB).toString(16)}\r\n`),
      Buffer.alloc(10 * MiB),
      Buffer.from("\r\n"),
    ]);
    // A declared length is checked before the body arrives. Chunks are counted: the request is refused before its body ends.
    for (const [framing, start, more] of [
      [["Content-Length", 10 * MiB + 1], "", "x"],
      [["Transfer-Encoding", "chunked"], full, "1\r\nx\r\n"],
    ]) {
      const key = newKey();
      const request = head("POST", path, [["X-Api-Key", apiKey], ["Idempotency-Key", key], framing]);
      const socket = await startRaw(gateway.url, Buffer.concat([request, Buffer.from(start)]));
      const received = new Promise((resolve) => socket.once("data", (data) => resolve(data.toString())));
      socket.write(more);
      const text = await received;
      socket.destroy();
      assert.match(text, /^HTTP\/1\.1 413 /);
      assert.match(text, /"type":"invalid_request_error".*10485760/);
      assert.equal(await gateway.status(key), undefined);
    }
    assert.equal(gateway.hits(path), 0);
  });

  test("only keyed writes have the limit: other bodies are streamed", async () => {
    const path = gateway.route(({ body }) => ({ body: String(body.length) }));
    assert.equal((await gateway.post(path, undefined, Buffer.alloc(12 * MiB), bytes)).text, String(12 * MiB));
  });

  test("fault 37: bodies that do not fit into the isolate's memory are refused before begin, and the memory is freed", async (test) => {
    const slow = gated();
    const path = gateway.route(slow);
    const body = Buffer.alloc(10 * MiB);
    const keys = Array.from({ length: 6 }, newKey);
    const all = keys.map((key) => gateway.post(path, key, body, bytes));
    // The requests that fit wait at the origin. The others get a response.
    const refused = [];
    // This also happens if a check below fails, so that the next tests have enough memory.
    test.after(slow.open);
    for (const one of all) one.then((response) => response.status === 503 && refused.push(response)).catch(() => {});
    await eventually(() => assert.equal(refused.length + gateway.hits(path), 6));
    assert.ok(gateway.hits(path) >= 2 && refused.length >= 2, `${gateway.hits(path)} fit`);
    for (const response of refused) {
      assert.deepEqual(
        [response.json.type, response.get("Retry-After"), response.state],
        ["api_connection_error", "1", "absent"],
      );
    }
    assert.equal((await gateway.post(gateway.route(), newKey())).status, 201, "a small body always fits");
    const fitted = gateway.hits(path);
    slow.open();
    const responses = await Promise.all(all);
    for (const [at, { status }] of responses.entries()) {
      if (status === 503) assert.equal(await gateway.status(keys[at]), undefined, "a refused request leaves no record");
      else assert.equal(status, 201);
    }
    assert.equal(
      (await gateway.post(path, keys[responses.findIndex((one) => one.status === 503)], body, bytes)).status,
      201,
    );
    assert.equal(gateway.hits(path), fitted + 1);
  });

  test("an upload that is announced but not sent takes no memory from others", async () => {
    const path = gateway.route();
    const headers = () => [
      ["X-Api-Key", apiKey],
      ["Idempotency-Key", newKey()],
      ["Content-Length", 10 * MiB],
    ];
    const idle = await Promise.all(
      Array.from({ length: 20 }, () =>
        startRaw(gateway.url, Buffer.concat([head("POST", path, headers()), Buffer.from("x")])),
      ),
    );
    assert.equal((await gateway.post(path, newKey(), Buffer.alloc(9 * MiB), bytes)).status, 201);
    for (const socket of idle) socket.destroy();
  });

  test("fault 30: a response too large to keep passes through whole and is not executed again", async () => {
    const blob = Buffer.from(Array.from({ length: 3 * MiB }, (_, at) => (at * 7) % 251));
    for (const chunked of [false, true]) {
      const path = gateway.route(() => ({
        status: 201,
        headers: { "X-A": "1", ...(chunked && { "Transfer-Encoding": "chunked" }) },
        body: blob,
      }));
      const key = newKey();
      const first = await gateway.post(path, key);
      assert.deepEqual([first.status, first.state, first.get("X-A"), first.replayed], [201, "completed", "1", false]);
      assert.ok(first.body.equals(blob));
      const second = await gateway.post(path, key);
      assert.deepEqual(
        [second.status, second.json.type, second.json.http_status, second.state],
        [409, "idempotency_not_replayable", 201, "completed"],
      );
      assert.match(second.json.message, /201/);
      assert.equal((await gateway.post(path, key, { a: 2 })).json.type, "idempotency_error");
      assert.equal(gateway.hits(path), 1);
    }
  });

  test("a response of 40 MiB is streamed, not held in memory", async () => {
    const chunk = Buffer.alloc(MiB, "y");
    const path = gateway.route(async (_, response) => {
      for (let count = 0; count < 40; count++) {
        if (!response.write(chunk)) await new Promise((resolve) => response.once("drain", resolve));
      }
      response.end();
    });
    const response = await gateway.post(path, newKey());
    assert.equal(response.body.length, 40 * MiB);
  });

  test("fault 30: an event stream passes through as it comes, and its key is complete before its first event", async () => {
    let more;
    const path = gateway.route((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream; charset=utf-8" });
      response.write("data: 1\n\n");
      more = response;
    });
    const key = newKey();
    const headers = [
      ["X-Api-Key", apiKey],
      ["Idempotency-Key", key],
      ["Content-Length", 0],
    ];
    const socket = await startRaw(gateway.url, head("POST", path, headers));
    let text = "";
    socket.on("data", (data) => (text += data));
    await eventually(() => assert.match(text, /data: 1/));
    assert.match(text, /^HTTP\/1\.1 200 /);
    const second = await gateway.call("POST", path, { key });
    assert.deepEqual(
      [second.status, second.json.type, second.json.http_status],
      [409, "idempotency_not_replayable", 200],
    );
    more.end("data: 2\n\n");
    await eventually(() => assert.match(text, /data: 2/));
    socket.destroy();
    assert.equal(gateway.hits(path), 1);
  });
});

describe("with limits of 1000 bytes and three seconds", () => {
  let gateway;
  before(
    async () =>
      (gateway = await startGateway({
        vars: { MAX_REQUEST_BYTES: "1000", MAX_REPLAY_BYTES: "1000", ORIGIN_TIMEOUT_SECONDS: "3" },
      })),
  );
  after(() => gateway.dispose());

  test("requests and responses of exactly the limit work", async () => {
    const path = gateway.route();
    assert.equal((await gateway.post(path, newKey(), "x".repeat(1000))).status, 201);
    assert.equal((await gateway.post(path, newKey(), "x".repeat(1001))).status, 413);
    for (const [length, replayed] of [
      [800, true],
      [1000, false],
    ]) {
      const large = gateway.route(inTurn({ status: 200, body: "y".repeat(length) }, created));
      const key = newKey();
      assert.equal((await gateway.post(large, key)).body.length, length);
      assert.equal((await gateway.post(large, key)).replayed, replayed, `${length}`);
      assert.equal(gateway.hits(large), 1);
    }
  });

  test("a stream that has begun may take longer than ORIGIN_TIMEOUT_SECONDS", async () => {
    // ORIGIN_TIMEOUT_SECONDS limits the head of a response, and the body if it is kept.
    const path = gateway.route((_, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write("data: 1\n\n");
      setTimeout(() => response.end("data: 2\n\n"), 4500);
    });
    assert.equal((await gateway.post(path, newKey())).text, "data: 1\n\ndata: 2\n\n");
  });

  test("headers too large to keep are passed on and the response is not replayed", async () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`X-${at}`, "v".repeat(40)]));
    const path = gateway.route(() => ({ headers: many, body: "ok" }));
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.deepEqual(
      [first.status, first.text, first.get("X-99"), first.state],
      [200, "ok", "v".repeat(40), "completed"],
    );
    assert.equal((await gateway.post(path, key)).json.type, "idempotency_not_replayable");
    assert.equal(gateway.hits(path), 1);
  });
});

test("a response of 1.8 MiB, the largest possible limit, is kept", async () => {
  const gateway = await startGateway({ vars: { MAX_REPLAY_BYTES: "1887436" } });
  try {
    const blob = Buffer.alloc(1_887_000, "z");
    const path = gateway.route(() => ({ body: blob }));
    const key = newKey();
    assert.ok((await gateway.post(path, key)).body.equals(blob));
    const again = await gateway.post(path, key);
    assert.ok(again.replayed && again.body.equals(blob));
  } finally {
    await gateway.dispose();
  }
});

test("with MAX_REPLAY_BYTES=0 nothing is replayed and nothing is executed twice", async () => {
  const gateway = await startGateway({ vars: { MAX_REPLAY_BYTES: "0" } });
  try {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.equal((await gateway.post(path, key)).json.type, "idempotency_not_replayable");
    assert.equal(gateway.hits(path), 1);
  } finally {
    await gateway.dispose();
  }
});
