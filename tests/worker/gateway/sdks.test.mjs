// SDKs that were made for other APIs, against the gateway: which errors they throw, and how often they retry.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import OpenAI from "openai";
import Stripe from "stripe";
import { created, cut, gated, newKey, startGateway, startWorker } from "../fixtures/support.mjs";

/** Each SDK retries twice, so it sends three requests in all. */
const RETRIES = 2;

/** Each function makes the same write with one SDK, and counts the requests. */
const SDKS = {
  stripe: (url, credential) => {
    const { hostname: host, port } = new URL(url);
    let requests = 0;
    const stripe = new Stripe(credential, { host, port, protocol: "http", maxNetworkRetries: RETRIES, telemetry: false });
    stripe.on("request", () => (requests += 1));
    return {
      post: (path, body, idempotencyKey) => stripe.rawRequest("POST", path, body, { idempotencyKey }),
      create: (body, idempotencyKey) => stripe.paymentIntents.create(body, { idempotencyKey }),
      describe: ({ statusCode, code, message, raw }) => ({ status: statusCode, code, message, requestId: raw?.request_id }),
      requests: () => requests,
    };
  },
  openai: (url, apiKey) => {
    let requests = 0;
    const counted = (...request) => ((requests += 1), fetch(...request));
    const openai = new OpenAI({ apiKey, baseURL: url, maxRetries: RETRIES, fetch: counted });
    const post = (path, body, key) => openai.post(path, { body, headers: { "Idempotency-Key": key } });
    return {
      post,
      create: (body, key) => post("/v1/payment_intents", body, key),
      describe: ({ status, code, error, requestID }) => ({ status, code, message: error?.message, requestId: requestID }),
      requests: () => requests,
    };
  },
};

const thrown = (promise) => promise.then((value) => assert.fail(`resolved: ${JSON.stringify(value)}`), (error) => error);

for (const [name, connect] of Object.entries(SDKS)) {
  describe(`${name} in front of the gateway`, () => {
    let gateway;
    before(async () => (gateway = await startGateway({ faults: true })));
    after(() => gateway.dispose());

    /** Makes a write to `path`. Returns the SDK's error, and how often it sent the request. */
    async function refused(path, key, body = { amount: 1 }) {
      const sdk = connect(gateway.url, `sk_test_${name}`);
      const error = await thrown(sdk.post(path, body, key));
      return { ...sdk.describe(error), requests: sdk.requests() };
    }

    test("a success is returned, and a repeated call gets it again", async () => {
      gateway.origin.route(created, "/v1/payment_intents");
      const sdk = connect(gateway.url, `sk_test_${name}`);
      const key = newKey();
      const [first, second] = [await sdk.create({ amount: 1, currency: "eur" }, key), await sdk.create({ amount: 1, currency: "eur" }, key)];
      assert.ok(first.id);
      assert.equal(second.id, first.id);
      assert.equal(sdk.requests(), 2);
    });

    test("a mismatch is an error with its message, and is not retried", async () => {
      const path = gateway.route();
      const key = newKey();
      await connect(gateway.url, `sk_test_${name}`).post(path, { amount: 1 }, key);
      const error = await refused(path, key, { amount: 2 });
      assert.deepEqual([error.status, error.code, error.requests], [400, "idempotency_error", 1]);
      assert.match(error.message, /used with a different request/);
      assert.match(error.requestId, /^req_/);
    });

    test("an outcome on hold is an error, and is not retried quickly", async () => {
      const path = gateway.route(cut);
      const key = newKey();
      const first = await refused(path, key);
      assert.deepEqual([first.status, first.code, first.requests], [502, "api_connection_error", 1]);
      const second = await refused(path, key);
      assert.deepEqual([second.status, second.code, second.requests], [409, "idempotency_outcome_unknown", 1]);
      assert.match(second.message, /may have been executed/);
      assert.equal(gateway.hits(path), 1);
    });

    test("a request in progress is retried until there is a response", async () => {
      const slow = gated();
      const path = gateway.route(slow);
      const key = newKey();
      const sdk = connect(gateway.url, `sk_test_${name}`);
      const first = sdk.post(path, { amount: 1 }, key);
      await slow.reached;
      const second = connect(gateway.url, `sk_test_${name}`);
      const again = second.post(path, { amount: 1 }, key);
      while (second.requests() < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      slow.open();
      assert.deepEqual(await again, await first);
      assert.equal(gateway.hits(path), 1);
    });

    test("a request is retried while the store is down for a moment", async () => {
      const path = gateway.route();
      const key = newKey();
      await gateway.faults(null, { op: "begin", fault: "refuse", times: 1000 });
      const sdk = connect(gateway.url, `sk_test_${name}`);
      const pending = sdk.post(path, { amount: 1 }, key);
      while (sdk.requests() < 2) await new Promise((resolve) => setTimeout(resolve, 20));
      await gateway.faults(null);
      assert.ok((await pending).id);
      assert.equal(gateway.hits(path), 1);
    });

    test("a write without a key whose outcome is unknown is never retried", async () => {
      const path = gateway.route(cut);
      const response = await gateway.call("POST", path, { body: { amount: 1 } });
      assert.deepEqual([response.status, response.get("X-Should-Retry"), response.state], [502, "false", undefined]);
      assert.equal(gateway.hits(path), 1);
    });
  });

  test(`${name} gets the sandbox's own errors`, async () => {
    const worker = await startWorker();
    try {
      const sdk = connect(worker.url, "sk_test_x");
      const error = sdk.describe(await thrown(sdk.post("/v1/orders", { amount: 0 }, newKey())));
      assert.equal(error.status, 401, "the sandbox accepts no bearer token");
      assert.match(error.message, /X-Api-Key must be a sandbox key/);
      assert.equal(sdk.requests(), 1);
    } finally {
      await worker.dispose();
    }
  });
}

test("an SDK gets an error that it can read when settings are wrong", async () => {
  const worker = await startWorker({ vars: { LEASE_SECONDS: "soon" } });
  try {
    for (const connect of Object.values(SDKS)) {
      const sdk = connect(worker.url, "sk_test_x");
      const error = sdk.describe(await thrown(sdk.post("/v1/x", { amount: 1 }, newKey())));
      assert.deepEqual([error.status, error.code, sdk.requests()], [500, "api_error", 1]);
      assert.match(error.message, /LEASE_SECONDS/);
    }
  } finally {
    await worker.dispose();
  }
});
