// Attacks with bodies: huge, slow and endless bodies, and bodies that grow when they are decoded.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { apiKey, eventually, head, newKey, sleep, startGateway, startRaw } from "../fixtures/support.mjs";

const MiB = 1 << 20;

/** Returns the peak memory of workerd, a child process of this test, in bytes. */
function peakOfWorkerd() {
  const status = (pid) => {
    try {
      return readFileSync(`/proc/${pid}/status`, "utf8");
    } catch {
      return "";
    }
  };
  const field = (text, name) => text.match(new RegExp(`^${name}:\\s*(\\S+)`, "m"))?.[1];
  const children = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid)).map(status).filter((text) => field(text, "PPid") === String(process.pid) && field(text, "Name") === "workerd");
  return Math.max(0, ...children.map((text) => Number(field(text, "VmHWM")) * 1024));
}

describe("hostile bodies", () => {
  let gateway;
  before(async () => {
    gateway = await startGateway({ vars: { ORIGIN_TIMEOUT_SECONDS: "4", KEY_FIELD: "key", BUSINESS_KEYS: "POST:/o/*:/no" } });
  });
  after(() => gateway.dispose());
  const stillServes = async () => assert.equal((await gateway.post(gateway.route(), newKey())).status, 201);

  for (const [coding, compress, size] of [["gzip", gzipSync, 192 * MiB], ["br", (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }), 160 * MiB]]) {
    test(`a response in ${coding} that grows a thousandfold is not held in memory`, async () => {
      const bomb = compress(Buffer.alloc(size));
      assert.ok(bomb.length < MiB);
      const path = gateway.route(() => ({ status: 200, headers: { "Content-Encoding": coding }, body: bomb }));
      await stillServes();
      const before = peakOfWorkerd();
      const key = newKey();
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.state], [200, "completed"]);
      assert.ok(response.body.length >= bomb.length);
      const grown = peakOfWorkerd() - before;
      // The figure includes garbage that is not collected yet. Holding the whole body would take far more.
      if (before > 0) assert.ok(grown < size, `workerd used ${Math.round(grown / MiB)} MiB more`);
      const again = await gateway.post(path, key);
      assert.deepEqual([again.status, again.json.code], [409, "idempotency_not_replayable"]);
      assert.equal(gateway.hits(path), 1);
    });

    test(`a request in ${coding} that would grow a thousandfold is forwarded unchanged`, async () => {
      const bomb = compress(Buffer.alloc(64 * MiB));
      const path = gateway.route();
      const key = newKey();
      for (const type of ["application/octet-stream", "text/plain"]) {
        const headers = [["Content-Encoding", coding], ["Content-Type", type]];
        assert.equal((await gateway.post(path, newKey(), bomb, { headers })).status, 201, type);
        assert.ok(gateway.origin.last(path).body.equals(bomb));
        assert.equal(gateway.origin.last(path).headers["content-encoding"], coding);
      }
      // The gateway cannot read a business key in a compressed body, so it refuses the request.
      const before = gateway.hits(path);
      for (const type of ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]) {
        const headers = [["Content-Encoding", coding], ["Content-Type", type]];
        const refused = await gateway.post(path, newKey(), bomb, { headers });
        assert.deepEqual([refused.status, refused.json.code], [400, "invalid_request_error"], type);
      }
      assert.equal(gateway.hits(path), before);
      const headers = [["Content-Encoding", coding], ["Content-Type", "application/json"]];
      const hidden = await gateway.post(path, key, compress(Buffer.from('{"no":"A-1"}')), { headers });
      assert.deepEqual([hidden.status, hidden.json.code], [400, "invalid_request_error"]);
      const hits = gateway.hits(path);
      assert.equal((await gateway.post(path, undefined, compress(Buffer.from('{"no":"A-1"}')), { headers })).status, 400);
      assert.equal(gateway.hits(path), hits);
    });
  }

  test("a response that never ends is cut at the time limit, and its outcome is unknown", async () => {
    let timer;
    const path = gateway.route((_, response) => {
      response.writeHead(200, { "Content-Type": "text/plain" });
      timer = setInterval(() => response.write("x"), 50);
    });
    const key = newKey();
    try {
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.state], [504, "unknown"]);
      assert.equal((await gateway.post(path, key)).json.code, "idempotency_outcome_unknown");
    } finally {
      clearInterval(timer);
    }
  });

  test("a body that stops, and a body without a length that never ends, begin no attempt", async () => {
    const path = gateway.route();
    const keys = [newKey(), newKey()];
    const pairs = (key) => [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Type", "application/json"]];
    const cut = await startRaw(gateway.url, Buffer.concat([head("POST", path, [...pairs(keys[0]), ["Content-Length", 100]]), Buffer.from('{"a":')]));
    cut.resetAndDestroy();
    const endless = await startRaw(gateway.url, head("POST", path, [...pairs(keys[1]), ["Transfer-Encoding", "chunked"]]));
    let received = "";
    endless.on("data", (data) => (received += data));
    const piece = Buffer.concat([Buffer.from("10000\r\n"), Buffer.alloc(0x10000, "x"), Buffer.from("\r\n")]);
    for (let sent = 0; sent < 12 * MiB && !received; sent += 0x10000) {
      if (!endless.write(piece)) await Promise.race([new Promise((resolve) => endless.once("drain", resolve)), sleep(1000)]);
    }
    await eventually(() => assert.match(received, /^HTTP\/1\.1 413 /));
    endless.destroy();
    for (const key of keys) assert.equal(await gateway.status(key), undefined);
    assert.equal(gateway.hits(path), 0);
    await stillServes();
  });

  test("a body that is slow for other parsers is read quickly", async () => {
    const path = gateway.route();
    const bodies = {
      nested: "[".repeat(MiB),
      closed: "[".repeat(MiB / 2) + "]".repeat(MiB / 2),
      members: `{${Array.from({ length: 60_000 }, (_, at) => `"k${at}":${at}`).join(",")}}`,
      digits: `{"no":${"9".repeat(MiB)}}`,
      exponent: '{"no":1e999999999}',
      escapes: `{"a":"${"\\u0041".repeat(100_000)}"}`,
      surrogates: `{"a":"${"\\ud800".repeat(100_000)}"}`,
    };
    for (const [what, body] of Object.entries(bodies)) {
      const response = await gateway.post(path, newKey(), body, { headers: [["Content-Type", "application/json"]], timeout: 20_000 });
      assert.ok([201, 400].includes(response.status), `${what}: ${response.status}`);
    }
    const parts = Array.from({ length: 20_000 }, (_, at) => `--b\r\nContent-Disposition: form-data; name="f${at}"\r\n\r\n${at}\r\n`).join("");
    for (const body of [`${parts}--b--`, "--b\r\n".repeat(100_000), "--".repeat(500_000)]) {
      const response = await gateway.post(path, newKey(), body, { headers: [["Content-Type", "multipart/form-data; boundary=b"]], timeout: 20_000 });
      assert.ok([201, 400].includes(response.status), String(response.status));
    }
    await stillServes();
  });

  test("a request with headers that are too large is refused, and the next request is served", async () => {
    for (const headers of [[["X-A", "x".repeat(300_000)]], Array.from({ length: 5000 }, (_, at) => [`X-${at}`, "x".repeat(50)]), [["webhook-signature", "v1,AAAA ".repeat(2000)]]]) {
      const response = await gateway.post(gateway.route(), newKey(), {}, { headers }).catch(() => undefined);
      assert.ok(!response || response.status < 500 || response.status === 502, String(response?.status));
    }
    await stillServes();
  });
});

test("a slow upload is ended after the time limit for bodies", async () => {
  const gateway = await startGateway({ faults: true });
  const path = gateway.route();
  const key = newKey();
  const socket = await startRaw(gateway.url, head("POST", path, [["X-Api-Key", apiKey], ["Idempotency-Key", key], ["Content-Length", 10 * MiB]]));
  let received = "";
  socket.on("data", (data) => (received += data));
  // The upload sends a byte now and then, so that it never stalls, for longer than a body may take.
  const trickle = setInterval(() => socket.write("x"), 50);
  try {
    await sleep(300);
    assert.equal(received, "", "the gateway has not responded, because it still waits for the body");
    await gateway.clock(121_000);
    await eventually(() => assert.match(received, /^HTTP\/1\.1 408 .*"api_connection_error"/s));
    assert.deepEqual([gateway.hits(path), await gateway.status(key)], [0, undefined], "no attempt was begun");
  } finally {
    clearInterval(trickle);
    socket.destroy();
    await gateway.dispose();
  }
});
