// The first response of a key is replayed byte for byte, and the origin is called once.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, eventually, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

describe("a keyed write behind an upstream", () => {
  let gateway;
  before(async () => (gateway = await startGateway()));
  after(() => gateway.dispose());

  test("a retry gets the first response and the origin is called once", async () => {
    const path = gateway.route();
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const key = newKey();
      const first = await gateway.call(method, path, { key, body: { a: 1 } });
      const second = await gateway.call(method, path, { key, body: { a: 1 } });
      assert.deepEqual([first.status, first.replayed, first.state], [201, false, "completed"], method);
      assert.deepEqual([second.status, second.replayed, second.state], [201, true, "completed"], method);
      assert.deepEqual(second.body, first.body);
      assert.equal(second.get("X-Request-Id"), first.get("X-Request-Id"));
    }
    assert.equal(gateway.hits(path), 4);
  });

  test("a first response and its replay carry the time until which the response is kept", async () => {
    const path = gateway.route();
    const key = newKey();
    const responses = [await gateway.post(path, key), await gateway.post(path, key)];
    const [expires, again] = responses.map((response) => response.get("Idempotency-Expires"));
    assert.match(expires, /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
    assert.equal(again, expires);
    const left = (Date.parse(expires) - Date.now()) / 1000;
    assert.ok(left > 86_300 && left <= 86_401, `${left} s`);
  });

  test("the origin sees the key, the attempt, a request id and the caller's credentials", async () => {
    const path = gateway.route();
    const key = newKey();
    const response = await gateway.post(
      path,
      `"${key}"`,
      { a: 1 },
      {
        headers: [
          ["Idempotency-Attempt", "7"],
          ["X-Custom", "kept"],
        ],
      },
    );
    const { headers, body, method } = gateway.origin.last(path);
    assert.equal(headers["idempotency-key"], key, "the key without quotes");
    assert.equal(headers["idempotency-attempt"], "1", "the caller cannot set it");
    assert.equal(headers["x-request-id"], response.get("X-Request-Id"));
    assert.equal(headers["x-api-key"], apiKey);
    assert.equal(headers["x-custom"], "kept");
    assert.equal(headers["content-type"], "application/json");
    assert.deepEqual([method, body.toString()], ["POST", '{"a":1}']);
  });

  test("the request target reaches the origin unchanged", async () => {
    const path = gateway.route();
    for (const target of [path, `${path}?`, `${path}?a=%7E&b=+%2B&a=1`, `${path}?q=http://x/?y`]) {
      await gateway.post(target, newKey());
      // An empty query counts as none, because `search` of a WHATWG URL is the same for both.
      assert.equal(gateway.origin.last(path).target.replace(/\?$/, ""), target.replace(/\?$/, ""));
    }
  });

  test("a write without a body is executed once and replayed", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.call("POST", path, { key })).status, 201);
    assert.ok((await gateway.call("POST", path, { key })).replayed);
    assert.equal((await gateway.post(path, key, {})).status, 400);
    assert.equal(gateway.origin.last(path).body.length, 0);
  });

  test("a request is the same with chunks and with a Content-Length", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(path, key, { a: 1 }, { chunked: true })).status, 201);
    assert.ok((await gateway.post(path, key, { a: 1 })).replayed);
    assert.equal(gateway.origin.last(path).body.toString(), '{"a":1}');
  });

  test("reads, and writes without a key, are forwarded each time", async () => {
    const path = gateway.route();
    const key = newKey();
    for (const method of ["GET", "HEAD", "OPTIONS"]) {
      for (const more of [{ key }, {}]) {
        const responses = [await gateway.call(method, path, more), await gateway.call(method, path, more)];
        assert.deepEqual(
          responses.map((response) => [response.status, response.replayed]),
          [
            [201, false],
            [201, false],
          ],
          method,
        );
      }
    }
    assert.equal(gateway.origin.last(path).method, "OPTIONS");
    assert.equal((await gateway.get(path, { key })).get("Idempotency-State"), undefined);
    assert.equal(await gateway.status(key), undefined, "a read leaves no record");
    const responses = [await gateway.post(path), await gateway.post(path)];
    assert.notEqual(responses[0].text, responses[1].text);
    assert.equal(gateway.hits(path), 15);
    const passed = gateway.origin.last(path).headers;
    assert.deepEqual([passed["idempotency-key"], passed["idempotency-attempt"]], [undefined, undefined]);
  });

  test("a write without a key needs no credential", async () => {
    const path = gateway.route();
    assert.equal((await gateway.post(path, undefined, { a: 1 }, { as: null })).status, 201);
  });

  test("a response with any final status is kept and replayed", async () => {
    for (const status of [
      200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 304, 400, 402, 404, 405, 406, 410, 411, 412, 413, 415, 418,
      422, 424, 451,
    ]) {
      const path = gateway.route(
        inTurn(
          {
            status,
            headers: { Location: "/x", "Content-Type": "text/plain" },
            body: [204, 205, 304].includes(status) ? "" : "first",
          },
          500,
        ),
      );
      const key = newKey();
      const [first, second] = [await gateway.post(path, key), await gateway.post(path, key)];
      assert.deepEqual([first.status, second.status, second.replayed, gateway.hits(path)], [status, status, true, 1]);
      assert.deepEqual(second.body, first.body, `${status}`);
      assert.equal(second.get("Location"), "/x");
    }
  });

  test("keys are independent of each other", async () => {
    const path = gateway.route();
    const bodies = await Promise.all(Array.from({ length: 50 }, async () => (await gateway.post(path, newKey())).text));
    assert.equal(new Set(bodies).size, 50);
    assert.equal(gateway.hits(path), 50);
  });

  test("the state of a key describes its first attempt, without the body", async () => {
    const path = gateway.route(() => ({ ...created(), body: "a secret body" }));
    const key = newKey();
    assert.equal(await gateway.status(key), undefined);
    const first = await gateway.post(path, key);
    const shown = await gateway.get("/_oncekey/key", { key });
    assert.doesNotMatch(shown.text, /secret/);
    const { created_at, completed_at, expires_at, ...rest } = shown.json;
    assert.deepEqual(rest, {
      state: "completed",
      attempts: 1,
      http_status: 201,
      request_id: first.get("X-Request-Id"),
    });
    for (const time of [created_at, completed_at, expires_at])
      assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(Date.parse(expires_at) - Date.parse(completed_at), 86_400_000);
    assert.deepEqual(
      [shown.get("Idempotency-State"), shown.get("Idempotency-Expires")],
      ["completed", first.get("Idempotency-Expires")],
    );
  });
});

describe("the built-in sandbox", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ upstream: undefined })));
  after(() => gateway.dispose());

  test("replays a repeated order, refuses a changed one, and finds it by its business key alone", async () => {
    const order = { out_trade_no: `ORDER_${newKey()}`, amount: 2990, currency: "USD", subject: "Pro" };
    const key = newKey();
    const [first, second] = [
      await gateway.post("/v1/orders", key, order),
      await gateway.post("/v1/orders", key, order),
    ];
    assert.deepEqual(
      [first.status, first.get("Idempotent-Replayed"), second.status, second.get("Idempotent-Replayed")],
      [201, undefined, 201, "true"],
    );
    assert.deepEqual(second.body, first.body);
    assert.equal(first.json.request_id, first.get("X-Request-Id"));
    assert.equal(second.json.request_id, second.get("X-Request-Id"));
    const changed = await gateway.post("/v1/orders", key, { ...order, amount: 2991 });
    assert.deepEqual([changed.status, changed.json.type], [400, "idempotency_error"]);
    const keyless = await gateway.post("/v1/orders", undefined, order);
    assert.equal(keyless.json.data.id, first.json.data.id);
    assert.equal((await gateway.get(`/v1/sandbox/executions/${key}`)).json.data.count, 1);
  });

  test("fault 11: a caller that hung up gets the order's response when it sends the request again", async () => {
    const order = { out_trade_no: `ORDER_${newKey()}`, amount: 2990, currency: "USD", subject: "Pro" };
    const key = newKey();
    const headers = [["Sandbox-Fault", "delay=1500"]];
    await assert.rejects(gateway.post("/v1/orders", key, order, { headers, timeout: 500 }));
    await eventually(async () =>
      assert.equal((await gateway.post("/v1/orders", key, order, { headers })).replayed, true),
    );
    assert.equal((await gateway.get(`/v1/sandbox/executions/${key}`)).json.data.count, 1);
    assert.equal((await gateway.status(key)).attempts, 1);
  });
});
