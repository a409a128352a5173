// Hostile and broken callers and origins.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { deflateSync } from "node:zlib";
import { apiKey, head, newKey, sendRaw, sleep, startGateway, startRaw } from "../fixtures/support.mjs";

const admin = "an-admin-token";

describe("a gateway among hostile callers", () => {
  let gateway;
  before(async () => {
    const SCOPE = "header:X-Api-Key,header:X-Tenant,header:Authorization,cookie:sid";
    gateway = await startGateway({ vars: { SCOPE, ADMIN_TOKEN: admin } });
  });
  after(() => gateway.dispose());

  test("a response in a coding that the platform cannot decode is kept with its coding", async () => {
    const coded = deflateSync('{"id":1}');
    const path = gateway.route(() => ({
      status: 201,
      headers: { "Content-Type": "application/json", "Content-Encoding": "deflate" },
      body: coded,
    }));
    const key = newKey();
    for (const replayed of [false, true]) {
      const response = await gateway.post(path, key);
      assert.deepEqual([response.status, response.replayed], [201, replayed]);
      assert.equal(response.get("Content-Encoding"), "deflate");
      assert.ok(response.body.equals(coded), "the bytes are those of the origin");
    }
    const accepted = gateway.origin.last(path).headers["accept-encoding"];
    assert.equal(accepted, "identity", "the gateway asks the origin for no coding");
  });

  test("uploads that stall do not keep another request from storing its response", async () => {
    const big = head("POST", gateway.route(), [
      ["X-Api-Key", "mallory"],
      ["Idempotency-Key", newKey()],
      ["Content-Length", 10 * (1 << 20)],
    ]);
    const stalled = [];
    // Together these uploads leave less of the 40 MiB than the response below needs.
    for (const size of [9.75, 9.75, 9.75, 9.75, 0.98])
      stalled.push(await startRaw(gateway.url, Buffer.concat([big, Buffer.alloc(size * (1 << 20))])));
    await sleep(500);
    const path = gateway.route(() => ({ status: 201, headers: {}, body: "x".repeat(100_000) }));
    const key = newKey();
    assert.equal((await gateway.post(path, key)).status, 201);
    assert.ok((await gateway.post(path, key)).replayed, "the response is replayed, because it was stored with its body");
    for (const socket of stalled) socket.resetAndDestroy();
  });

  test("a credential that Connection would hide from the origin is refused", async () => {
    const path = gateway.route();
    for (const [named, status] of [["x-tenant, close", 400], ["close, Content-Type", 400], ["close, X-Other", 201]]) {
      const headers = [["X-Tenant", "acme"], ["X-Other", "1"], ["Idempotency-Key", newKey()]];
      const raw = head("POST", path, [...headers, ["Connection", named], ["Content-Length", 0]]);
      assert.equal((await sendRaw(gateway.url, raw)).status, status, named);
    }
    assert.equal(gateway.hits(path), 1);
    assert.equal(gateway.origin.last(path).headers["x-tenant"], "acme");
  });

  test("fault 23: credentials that become equal when they are decoded are refused", async () => {
    const path = gateway.route();
    for (const value of ["k\xff", "k\xfe"]) {
      const headers = [["X-Api-Key", value], ["Idempotency-Key", "one"], ["Connection", "close"], ["Content-Length", 0]];
      assert.equal((await sendRaw(gateway.url, head("POST", path, headers))).status, 400);
    }
    for (const cookie of ["sid=a; sid=b", "sid=; sid=b"]) {
      const response = await gateway.post(path, newKey(), {}, { as: null, headers: [["Cookie", cookie]] });
      assert.equal(response.status, 400, cookie);
    }
    assert.equal(gateway.hits(path), 0);
  });

  test("fault 20: two key headers are refused even if the second is empty", async () => {
    const path = gateway.route();
    const response = await gateway.call("POST", path, {
      headers: [["Idempotency-Key", "one"], ["Idempotency-Key", ""]],
      body: {},
    });
    assert.deepEqual([response.status, gateway.hits(path)], [400, 0]);
  });

  test("the operator's token is never a scope and does not reach the origin", async () => {
    const path = gateway.route();
    const token = [["Authorization", `Bearer ${admin}`]];
    assert.equal((await gateway.post(path, newKey(), {}, { as: null, headers: token })).status, 401);
    assert.equal((await gateway.post(path, newKey(), {}, { headers: token })).status, 201);
    assert.equal(gateway.origin.last(path).headers.authorization, undefined);
    await gateway.call("POST", path, { headers: token });
    assert.equal(gateway.origin.last(path).headers.authorization, undefined);
  });

  test("a read with an empty body is forwarded, and a read with a body is refused", async () => {
    const path = gateway.route();
    const raw = (...headers) =>
      sendRaw(gateway.url, Buffer.concat([head("GET", path, [["Connection", "close"], ...headers]), Buffer.from("abc")]));
    const empty = head("GET", path, [["Connection", "close"], ["Content-Length", 0]]);
    assert.equal((await sendRaw(gateway.url, empty)).status, 201);
    assert.equal((await raw(["Content-Length", 3])).status, 400);
    assert.equal(gateway.hits(path), 1);
  });

  test("a method that another header overrides is refused with a key, in any spelling", async () => {
    const path = gateway.route();
    for (const name of ["X-HTTP-Method-Override", "X_HTTP_Method_Override", "X-HTTP-Method", "X_Method_Override", "Method-Override"]) {
      const response = await gateway.post(path, newKey(), {}, { headers: [[name, "DELETE"]] });
      assert.deepEqual([response.status, gateway.hits(path)], [400, 0], name);
    }
  });

  test("headers that are meant for the first caller's browser are not replayed", async () => {
    const path = gateway.route(() => ({
      status: 200,
      headers: { "Clear-Site-Data": '"cookies"', "Authentication-Info": "nextnonce=1", Age: "5", ETag: '"1"' },
      body: "ok",
    }));
    const key = newKey();
    await gateway.post(path, key);
    const replay = await gateway.post(path, key);
    assert.ok(replay.replayed);
    assert.deepEqual(
      ["Clear-Site-Data", "Authentication-Info", "Age", "ETag"].map((name) => replay.get(name)),
      [undefined, undefined, undefined, '"1"'],
    );
    assert.equal((await gateway.status(key, { as: apiKey })).state, "completed");
  });
});

test("KEY_REQUIRED also applies to a method that an override header or field names", async () => {
  const gateway = await startGateway({ vars: { KEY_REQUIRED: "DELETE:/*", KEY_FIELD: "idempotency_key" } });
  try {
    const path = gateway.route();
    const form = [["Content-Type", "application/x-www-form-urlencoded"]];
    const refused = [
      ["POST", path, { headers: [["X-HTTP-Method-Override", "DELETE"]] }],
      ["POST", path, { headers: [["X_HTTP_Method_Override", "delete"]] }],
      ["PUT", path, { headers: [["X-Method-Override", "PATCH, DELETE"]] }],
      ["GET", path, { headers: [["X-HTTP-Method", "DELETE"]] }],
      ["POST", `${path}?_method=delete`, {}],
      ["POST", path, { headers: form, body: "a=1&_method=DELETE" }],
    ];
    for (const [method, target, more] of refused) {
      const response = await gateway.call(method, target, more);
      assert.deepEqual([response.status, response.json?.code], [400, "idempotency_key_missing"], JSON.stringify([method, target, more]));
    }
    assert.equal(gateway.hits(path), 0);
    const passes = [["POST", path, { headers: [["X-HTTP-Method-Override", "PUT"]] }], ["POST", path, { headers: form, body: "a=1" }], ["POST", path, {}]];
    for (const [method, target, more] of passes) assert.equal((await gateway.call(method, target, more)).status, 201);
  } finally {
    await gateway.dispose();
  }
});
