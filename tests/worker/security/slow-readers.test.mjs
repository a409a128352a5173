// Callers that do not read or do not send. The memory that they occupy in an isolate is counted and limited, and can be
// taken for other callers. The tests connect to workerd directly, because a proxy would read and send for them.
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { exchange } from "../fixtures/client.mjs";
import { apiKey, eventually, gated, head, newKey, startGateway } from "../fixtures/support.mjs";

const MiB = 1 << 20;
const KiB = 1 << 10;
const TOKEN = "admin-token-0123456789";
const bytes = { headers: [["Content-Type", "application/octet-stream"]] };

/** Starts a gateway whose callers connect to workerd directly. */
async function startDirect(options = {}) {
  const gateway = await startGateway({ ...options, vars: { ADMIN_TOKEN: TOKEN, ...options.vars }, more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] } });
  const direct = (await gateway.worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "");
  assert.notEqual(direct, gateway.url);
  gateway.url = direct;
  return gateway;
}

/** Opens a connection that sends `parts` and reads only the beginning of the response. */
async function silent(gateway, ...parts) {
  const { hostname, port } = new URL(gateway.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  for (const part of parts) socket.write(part);
  return socket;
}

/** Reads the rest of a response. Returns its status, its announced length, and the bytes that arrived. */
async function finish(socket) {
  const chunks = [];
  const ended = new Promise((resolve) => socket.once("end", resolve).once("close", resolve));
  socket.on("data", (chunk) => chunks.push(chunk));
  await ended;
  const all = Buffer.concat(chunks);
  const end = all.indexOf("\r\n\r\n");
  const text = all.subarray(0, end).toString("latin1");
  return { status: Number(text.split(" ")[1]), length: Number(text.match(/^content-length: (\d+)/im)?.[1]), body: all.subarray(end + 4) };
}

const request = (path, key, length, more = []) =>
  head("POST", path, [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Length", length], ["Connection", "close"], ...more]);

/** Returns the counts of the isolate, and the memory that it holds. */
async function isolate(gateway) {
  return (await gateway.get("/_oncekey/health", { as: null, headers: [["Authorization", `Bearer ${TOKEN}`]] })).json.isolate;
}

describe("callers that do not read", () => {
  const CALLERS = 300;
  const large = Buffer.alloc(MiB - 4 * KiB, "r");
  let gateway;
  before(async () => (gateway = await startDirect()));
  after(() => gateway.dispose());

  /** Lets `count` callers request a stored response without reading it. Returns their sockets once each is served. */
  async function stall(count, path, key, seen = () => {}) {
    const served = ({ keyed_writes: { replayed, overloaded } }) => replayed + overloaded;
    const before = served(await isolate(gateway));
    const sockets = await Promise.all(Array.from({ length: count }, () => silent(gateway, request(path, key, 0))));
    await eventually(async () => {
      const at = await isolate(gateway);
      seen(at.held_bytes.responses);
      assert.equal(served(at) - before, count);
    });
    return sockets;
  }

  test("take a bounded part of the isolate's memory for a stored response, and other callers are served", async (test) => {
    const path = gateway.route(() => ({ status: 201, body: large }));
    const key = newKey();
    assert.equal((await gateway.post(path, key, "")).status, 201);
    const ready = await gateway.post(path, key, "");
    assert.ok(ready.replayed && ready.body.equals(large));
    assert.equal(ready.get("Content-Length"), String(large.length), "a response that is sent in pieces has a Content-Length");
    let most = 0;
    const sockets = await stall(CALLERS, path, key, (held) => (most = Math.max(most, held)));
    test.after(() => sockets.forEach((socket) => socket.destroy()));
    test.diagnostic(`at most ${most} bytes were held`);
    // All responses together are 300 MiB. The test does not check the buffers of sockets, which depend on the system, or
    // the memory of the process, which depends on garbage collection.
    assert.ok(most <= 10 * MiB, `${most} bytes were held`);

    // A caller whose request is executed gets the response, and so does a caller that gets a replay.
    const first = newKey();
    const own = await gateway.post(path, first, "");
    assert.deepEqual([own.status, own.state, own.body.equals(large)], [201, "completed", true]);
    assert.equal((await gateway.post(gateway.route(), newKey())).status, 201);
    // The caller that has waited longest loses its memory.
    const again = await eventually(async () => {
      const response = await gateway.post(path, first, "");
      assert.ok(response.status === 201 || (response.status === 503 && response.get("Retry-After") === "1" && response.json.type === "api_connection_error"), response.status);
      assert.equal(response.status, 201);
      return response;
    });
    assert.ok(again.replayed && again.body.equals(large));
    assert.equal(gateway.hits(path), 2);
  });

  for (const [how, leave] of [
    ["closes the connection", (socket) => socket.destroy()],
    ["ends its side of the connection", (socket) => socket.end()],
    ["resets the connection", (socket) => socket.resetAndDestroy()],
  ]) {
    test(`free their memory when a caller ${how}`, async () => {
      const path = gateway.route(() => ({ status: 201, body: large }));
      const key = newKey();
      assert.equal((await gateway.post(path, key, "")).status, 201);
      for (let round = 0; round < 2; round++) {
        const sockets = await stall(20, path, key);
        sockets.forEach(leave);
        const response = await eventually(async () => {
          const response = await gateway.post(path, key, "");
          assert.equal(response.status, 201);
          return response;
        });
        assert.ok(response.body.equals(large));
        sockets.forEach((socket) => socket.destroy());
      }
      await eventually(async () => assert.equal((await isolate(gateway)).held_bytes.responses, 0));
    });
  }
});

describe("callers that do not send", () => {
  let gateway;
  before(async () => (gateway = await startDirect()));
  after(() => gateway.dispose());

  /** Begins an upload of `length` bytes and sends `sent` of them. */
  const upload = (length, sent) => silent(gateway, request(gateway.route(), newKey(), length), Buffer.alloc(sent, "u"));
  const held = async () => (await isolate(gateway)).held_bytes.requests;

  test("leave enough memory for a payment, whatever their number and size", async (test) => {
    const sockets = [];
    test.after(() => sockets.forEach((socket) => socket.destroy()));
    const stalled = async (count, length, sent) => sockets.push(...(await Promise.all(Array.from({ length: count }, () => upload(length, sent)))));
    const pay = async () => {
      const path = gateway.route();
      const response = await gateway.post(path, newKey(), { pad: "x".repeat(280) });
      assert.equal(response.status, 201, response.text);
    };
    await stalled(4, 10 * MiB, 10 * MiB - 1);
    await eventually(async () => assert.ok((await held()) > 39 * MiB));
    await pay();
    for (const [count, length] of [
      // More than the memory that is left: 6 MiB for small bodies, and 2 MiB more for tiny ones.
      [128, 64 * KiB],
      [40, 32 * KiB],
      [600, 4 * KiB],
    ]) {
      await stalled(count, length, length - 1);
      await pay();
      // Large uploads that stall for two seconds also lose their memory, so the held memory goes up and down.
      for (let round = 0; round < 5; round++) await pay();
    }
    // An upload that is announced but not sent holds no memory.
    await stalled(100, 10 * MiB, 0);
    await pay();
    assert.ok((await held()) <= 48 * MiB);
    // A large upload gets the memory of uploads that stall.
    const body = Buffer.alloc(8 * MiB, "v");
    const path = gateway.route();
    await eventually(async () => assert.equal((await gateway.post(path, newKey(), body, bytes)).status, 201));
    assert.ok(gateway.origin.last(path).body.equals(body));
  });

  test("an upload that lost its memory gets an error, and no attempt was begun", async () => {
    await eventually(async () => assert.equal(await held(), 0));
    const path = gateway.route();
    const keys = Array.from({ length: 164 }, newKey);
    const begin = (key, length) => silent(gateway, request(path, key, length), Buffer.alloc(length - 1));
    const large = await Promise.all(keys.slice(0, 4).map((key) => begin(key, 10 * MiB)));
    await eventually(async () => assert.ok((await held()) > 39 * MiB));
    // The memory is enough for 96 of these uploads. The others lose theirs.
    const small = await Promise.all(keys.slice(4).map((key) => begin(key, 64 * KiB)));
    const responses = await Promise.all([...large, ...small].map(finish));
    const gone = responses.filter(({ status }) => status === 503);
    assert.ok(gone.length > 0);
    for (const { body } of gone) assert.match(body.toString(), /"type":"api_connection_error"/);
    // The others have stalled for longer than a body may.
    for (const { status } of responses) assert.ok(status === 503 || status === 408, status);
    assert.equal(gateway.hits(path), 0);
    for (const key of keys.slice(0, 8)) assert.equal(await gateway.status(key), undefined);
  });
});
