// Real SDKs and HTTP clients against the real Worker. The response of the first request is lost on its way: the client
// repeats the request by itself, or its caller does, and the API behind the gateway executes it once.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import DodoPayments from "dodopayments";
import { makeCertificates } from "../worker/fixtures/certificates.mjs";
import { created, newKey, startGateway } from "../worker/fixtures/support.mjs";
import { CLIENTS } from "./clients.mjs";
import { startLossy } from "./lossy.mjs";

/** Returns a response with an id, under the names that the clients read. */
const paid = () => {
  const response = created();
  const { id } = JSON.parse(response.body);
  const names = { id, session_id: id, pspReference: id, payment: { id } };
  return { ...response, body: JSON.stringify({ ...names, resource: "payment", checkout_url: null }) };
};
const token = () => ({
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ access_token: "A21AAK", token_type: "Bearer", expires_in: 32_400 }),
});

const folder = mkdtempSync(join(tmpdir(), "oncekey-clients-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const { ca, ...certificate } = makeCertificates(folder);
const LOSSES = { broken: "a broken connection", 503: "a 503 of a proxy" };

for (const [name, { path, header, member, vars, https, repeats, isHere, connect }] of Object.entries(CLIENTS)) {
  describe(name, () => {
    for (const [loss, what] of Object.entries(LOSSES)) {
      test(`a request whose response was lost by ${what} is executed once`, async (context) => {
        if (isHere && !(await isHere())) return context.skip(`${name} is not installed`);
        const gateway = await startGateway({ vars });
        const lossy = await startLossy(gateway.url, { path, loss, ...(https && { certificate }) });
        try {
          gateway.origin.route(token, "/v1/oauth2/token");
          gateway.origin.route(paid, path);
          const pay = connect(lossy.url, { ca });
          const key = newKey();
          const repeated = repeats.includes(loss);
          let calls = 1;
          const first = await pay(key).catch((error) => {
            assert.equal(repeated, false, `${name} gave up: ${error.stack}`);
            calls += 1;
            return pay(key);
          });
          assert.equal(calls, repeated ? 1 : 2, "whether it repeats a request by itself");
          assert.ok(first);
          assert.equal(await pay(key), first, "a later call gets the same response");
          assert.equal(lossy.seen.length, 3);
          const [executed, ...more] = gateway.origin.at(path);
          assert.equal(more.length, 0, "the API is called once");
          assert.equal(member ? JSON.parse(executed.body)[member] : executed.headers[header], key);
          if (header !== "idempotency-key") assert.equal("idempotency-key" in executed.headers, false);
        } finally {
          await lossy.close();
          await gateway.dispose();
        }
      });
    }
  });
}

for (const name of ["stripe", "@mollie/api-client"]) {
  test(`${name} sends a key of its own for each call that has none, and repeats it`, async () => {
    const { path, https, connect } = CLIENTS[name];
    const gateway = await startGateway();
    const lossy = await startLossy(gateway.url, { path, loss: "503", ...(https && { certificate }) });
    try {
      gateway.origin.route(paid, path);
      const pay = connect(lossy.url, { ca });
      const [first, second] = [await pay(), await pay()];
      assert.notEqual(second, first);
      const [lost, repeated, next] = lossy.seen.map((headers) => headers["idempotency-key"]);
      assert.ok(lost);
      assert.equal(repeated, lost);
      assert.ok(next && next !== lost);
      assert.equal(gateway.hits(path), 2);
    } finally {
      await lossy.close();
      await gateway.dispose();
    }
  });
}

test("@mollie/api-client sends the key in the header alone, and trusts only its own list of authorities", async () => {
  const { path, connect } = CLIENTS["@mollie/api-client"];
  const gateway = await startGateway();
  const lossy = await startLossy(gateway.url, { path, losses: 0, certificate });
  try {
    gateway.origin.route(paid, path);
    const key = newKey();
    assert.ok(await connect(lossy.url)(key));
    assert.doesNotMatch(String(gateway.origin.last(path).body), new RegExp(`idempotencyKey|${key}`));
    const env = { NODE_TLS_REJECT_UNAUTHORIZED: "1", NODE_EXTRA_CA_CERTS: ca };
    await assert.rejects(connect(lossy.url, { env })(newKey()), /unable to (verify|get)[a-z ]*certificate/);
    assert.equal(lossy.seen.length, 1);
  } finally {
    await lossy.close();
    await gateway.dispose();
  }
});

test("dodopayments sends nothing for its option idempotencyKey", async () => {
  const gateway = await startGateway({ vars: { KEY_REQUIRED: "POST:/strict" } });
  try {
    const path = gateway.origin.route(paid, "/checkouts");
    const client = new DodoPayments({ bearerToken: "sk_test_clients", baseURL: gateway.url, maxRetries: 0 });
    const key = newKey();
    await client.checkoutSessions.create({ product_cart: [] }, { idempotencyKey: key });
    const { headers } = gateway.origin.last(path);
    assert.ok(Object.values(headers).every((value) => !String(value).includes(key)));
    // With KEY_REQUIRED, the mistake is an error and not an unprotected write.
    const error = await client.post("/strict", { body: {}, idempotencyKey: key }).catch((error) => error);
    assert.deepEqual([error.status, error.error?.code], [400, "idempotency_key_missing"]);
  } finally {
    await gateway.dispose();
  }
});

test("a key in a member of the body, as in Square's API, is executed once, with or without a header", async () => {
  const gateway = await startGateway({ vars: { BUSINESS_KEYS: "POST:/v2/payments:/idempotency_key!" } });
  const lossy = await startLossy(gateway.url);
  try {
    gateway.origin.route(paid, "/v2/payments");
    const body = JSON.stringify({ idempotency_key: newKey(), amount_money: { amount: 2990, currency: "EUR" } });
    const headers = { "Content-Type": "application/json", Authorization: "Bearer sk_test_clients" };
    const pay = () => fetch(`${lossy.url}/v2/payments`, { method: "POST", headers, body });
    await assert.rejects(pay());
    const [first, second] = [await (await pay()).json(), await (await pay()).json()];
    assert.deepEqual(second, first);
    assert.equal(gateway.hits("/v2/payments"), 1);
    assert.equal((await fetch(`${lossy.url}/v2/payments`, { method: "POST", headers, body: "{}" })).status, 400);
  } finally {
    await lossy.close();
    await gateway.dispose();
  }
});
