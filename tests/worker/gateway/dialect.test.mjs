// Every error in both dialects: its status, its body and the state of the key.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, cut, gated, head, inTurn, newKey, noMemory, recordName, startGateway, startRaw } from "../fixtures/support.mjs";

const jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl";
const voidKey = (gateway, key) => gateway.call("POST", "/_oncekey/key/void", { key });

/**
 * How to cause each error: [description, code, status, status in the ietf dialect if it differs, state of the
 * key, function that causes it]. A key without a record has no state.
 */
const ERRORS = [
  [
    "a missing key where one is required",
    "idempotency_key_missing",
    400,
    ,
    undefined,
    (gateway) => gateway.post("/must/have"),
  ],
  ["an invalid key", "invalid_request_error", 400, , "absent", (gateway) => gateway.post(gateway.route(), "a b")],
  [
    "another request",
    "idempotency_error",
    400,
    422,
    "completed",
    async (gateway, path = gateway.route(), key = newKey()) => {
      await gateway.post(path, key);
      return gateway.post(path, key, { a: 2 });
    },
  ],
  [
    "a request while the first is in progress",
    "idempotency_in_progress",
    409,
    ,
    "in_progress",
    async (gateway, slow = gated(), path = gateway.route(slow), key = newKey()) => {
      const first = gateway.post(path, key);
      await slow.reached;
      const response = await gateway.post(path, key);
      assert.match(response.get("Retry-After"), /^[12]$/);
      slow.open();
      await first;
      return response;
    },
  ],
  [
    "an unknown outcome on hold",
    "idempotency_outcome_unknown",
    409,
    ,
    "unknown",
    async (gateway, path = gateway.route(inTurn(500)), key = newKey()) => {
      await gateway.post(path, key);
      return gateway.post(path, key);
    },
  ],
  [
    "a response that was not kept",
    "idempotency_not_replayable",
    409,
    ,
    "completed",
    async (gateway, path = gateway.route(() => ({ status: 203, body: "x".repeat(5000) })), key = newKey()) => {
      await gateway.post(path, key);
      const response = await gateway.post(path, key);
      assert.equal(response.json.http_status, 203);
      return response;
    },
  ],
  [
    "a voided key",
    "idempotency_key_voided",
    409,
    ,
    "voided",
    async (gateway, key = newKey()) => {
      assert.equal((await voidKey(gateway, key)).json.state, "voided");
      return gateway.post(gateway.route(), key);
    },
  ],
  [
    "a key that has expired",
    "idempotency_key_expired",
    400,
    ,
    "expired",
    (gateway) => gateway.post(gateway.route(), "01890a5d-ac96-774b-bcce-b302099a8057"),
  ],
  [
    "a missing credential",
    "authentication_error",
    401,
    ,
    "absent",
    (gateway) => gateway.post(gateway.route(), newKey(), { a: 1 }, { as: null }),
  ],
  [
    "a credential that cannot be a scope",
    "invalid_request_error",
    400,
    ,
    "absent",
    (gateway) => gateway.post(gateway.route(), newKey(), { a: 1 }, { as: jwt }),
  ],
  [
    "a body that is too large",
    "invalid_request_error",
    413,
    ,
    "absent",
    (gateway) => gateway.post(gateway.route(), newKey(), "x".repeat(2001)),
  ],
  [
    "an origin that cuts the connection",
    "api_connection_error",
    502,
    ,
    "unknown",
    (gateway) => gateway.post(gateway.route(cut), newKey()),
  ],
  [
    "an origin that does not respond",
    "api_connection_error",
    504,
    ,
    "unknown",
    (gateway) => gateway.post(gateway.route(gated()), newKey()),
  ],
  [
    "a read whose origin cuts the connection",
    "api_connection_error",
    502,
    ,
    undefined,
    (gateway) => gateway.get(gateway.route(cut)),
  ],
  [
    "a store that is down",
    "api_connection_error",
    503,
    ,
    "absent",
    async (gateway, key = newKey()) => {
      await gateway.faults(key, { op: "begin", fault: "refuse", times: 1000 });
      const response = await gateway.post(gateway.route(), key);
      assert.equal(response.get("Retry-After"), "1");
      return response;
    },
  ],
  [
    "half the lease gone before dispatch",
    "api_connection_error",
    503,
    ,
    "released",
    async (gateway, key = newKey()) => {
      await gateway.faults(key, { op: "begin", fault: "jump", ms: 8000 });
      const response = await gateway.post(gateway.route(), key);
      assert.equal(response.get("Retry-After"), "1");
      return response;
    },
  ],
  [
    "a record that cannot be read",
    "api_error",
    500,
    ,
    "unknown",
    async (gateway, path = gateway.route(), key = newKey()) => {
      await gateway.post(path, key);
      await gateway.sql(key, "UPDATE records SET record = X'00' WHERE name = ?", { hex: recordName(key) });
      await gateway.copy(key, { remove: true });
      return gateway.post(path, key);
    },
  ],
  ["a path that does not exist", "invalid_request_error", 404, , undefined, (gateway) => gateway.get("/_oncekey/nothing")],
  [
    "a webhook of an unknown source",
    "invalid_request_error",
    404,
    ,
    undefined,
    (gateway) => gateway.post("/webhooks/nobody", undefined, {}, { as: null }),
  ],
  [
    "a key without record",
    "idempotency_key_not_found",
    404,
    ,
    undefined,
    (gateway) => gateway.get("/_oncekey/key", { key: newKey() }),
  ],
  [
    "a method that a path does not support",
    "invalid_request_error",
    405,
    ,
    undefined,
    (gateway) => gateway.call("DELETE", "/_oncekey/key", { key: newKey() }),
  ],
];

const VARS = {
  ...noMemory,
  KEY_REQUIRED: "POST:/must/have",
  MAX_REQUEST_BYTES: "2000",
  MAX_REPLAY_BYTES: "2000",
  ORIGIN_TIMEOUT_SECONDS: "3",
  EXPIRED_KEY: "refuse",
};

function isPlain({ json }, code) {
  assert.deepEqual(
    Object.keys(json).filter((name) => name !== "http_status"),
    ["type", "message", "code", "request_id", "error"],
  );
  assert.deepEqual([json.type, json.code], [code, code]);
  isError(json, code, json.message);
}

/** Checks the member in which SDKs look for an error. */
function isError({ error, request_id }, code, message) {
  assert.deepEqual(error, { type: code, code, message, request_id });
}

function isProblem(json, code, status, retryable) {
  assert.deepEqual(
    Object.keys(json).filter((name) => name !== "http_status"),
    ["type", "title", "detail", "instance", "code", "status", "retryable", "request_id", "error"],
  );
  isError(json, code, json.detail);
  assert.deepEqual([json.code, json.status, json.retryable], [code, status, retryable]);
  assert.doesNotThrow(() => new URL(json.type));
  assert.equal(json.instance, `urn:oncekey:request:${json.request_id}`);
  assert.match(json.title, /^[A-Z]/);
  assert.ok(json.detail.length > 10);
}

test("`flat` is another name of the dialect kukopay", async () => {
  const gateway = await startGateway({ vars: { ...VARS, DIALECT: "flat" } });
  try {
    const response = await gateway.post("/v1/orders", "not a key");
    assert.equal(response.status, 400);
    isPlain(response, "invalid_request_error");
  } finally {
    await gateway.dispose();
  }
});

for (const dialect of ["kukopay", "ietf"]) {
  describe(`the ${dialect} dialect`, () => {
    let gateway;
    before(async () => (gateway = await startGateway({ faults: true, vars: { ...VARS, DIALECT: dialect } })));
    after(() => gateway.dispose());

    for (const [what, code, plainStatus, ietfStatus, state, make] of ERRORS) {
      const status = dialect === "ietf" ? (ietfStatus ?? plainStatus) : plainStatus;
      test(`${what} returns ${status} ${code}`, async () => {
        const response = await make(gateway);
        assert.equal(response.status, status, response.text);
        assert.equal(response.state, state);
        assert.equal(response.json.request_id, response.get("X-Request-Id"));
        assert.match(response.get("X-Request-Id"), /^req_[0-9a-f]{24}$/);
        assert.equal(response.get("Cache-Control"), "no-store");
        assert.equal(response.replayed, false);
        assert.equal(response.get("Link"), `</_oncekey/errors#${code}>; rel="help"`);
        // Two of the broken calls use a key that is on hold. A read may be repeated.
        const again = what.startsWith("a read") || code === "idempotency_in_progress" || status === 503;
        for (const name of ["X-Should-Retry", "Stripe-Should-Retry"]) assert.equal(response.get(name), String(again), name);
        if (dialect === "ietf") {
          assert.equal(response.get("Content-Type"), "application/problem+json");
          isProblem(response.json, code, status, again);
        } else {
          assert.equal(response.get("Content-Type"), "application/json");
          isPlain(response, code);
          assert.ok(response.json.message.length > 10);
        }
        // A 4xx has no Retry-After if waiting does not help.
        if (![409, 503].includes(status)) assert.equal(response.get("Retry-After"), undefined);
      });
    }

    test("a body that breaks off returns 408, if the connection is still open", async () => {
      const path = gateway.route();
      const headers = [
        ["X-Api-Key", apiKey],
        ["Idempotency-Key", newKey()],
        ["Transfer-Encoding", "chunked"],
      ];
      const socket = await startRaw(
        gateway.url,
        Buffer.concat([head("POST", path, headers), Buffer.from("5\r\nabcde\r\nzz\r\n")]),
      );
      let text = "";
      socket.on("data", (data) => (text += data));
      await new Promise((resolve) => socket.once("close", resolve));
      // workerd itself may respond, because it reads the chunks.
      assert.match(text, /^(HTTP\/1\.1 (400|408|500) |$)/);
      assert.equal(gateway.hits(path), 0);
    });

    test("a caller that asks for application/problem+json gets it, with the dialect's status", async () => {
      const path = gateway.route(created);
      const key = newKey();
      await gateway.post(path, key);
      for (const accept of ["application/problem+json", "text/html, Application/Problem+JSON;q=0.5"]) {
        const response = await gateway.post(path, key, { a: 2 }, { headers: [["Accept", accept]] });
        assert.equal(response.get("Content-Type"), "application/problem+json");
        isProblem(response.json, "idempotency_error", dialect === "ietf" ? 422 : 400, false);
      }
    });

    test("a response of the origin is not changed by the dialect", async () => {
      const path = gateway.route(() => ({
        status: 422,
        headers: { "Content-Type": "application/json" },
        body: '{"error":"mine"}',
      }));
      const key = newKey();
      for (const replayed of [false, true]) {
        const response = await gateway.post(path, key);
        assert.deepEqual([response.status, response.text, response.replayed], [422, '{"error":"mine"}', replayed]);
      }
    });
  });
}
