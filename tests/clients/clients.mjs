// SDKs and HTTP clients, each with one call: a POST to `path` with a key.
import { execFile } from "node:child_process";
import { Agent } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import { Client, Environment, OrdersController } from "@paypal/paypal-server-sdk";
import OpenAI from "openai";
import { SquareClient } from "square";
import Stripe from "stripe";
import { unpack } from "../worker/fixtures/guide.mjs";

// The programs that the page shows.
const page = unpack("docs/guide/sdks.md", "clients");
const { pay: payWithDodo } = await import(join(page, "dodopayments.mjs"));
const { payWithAxios, payWithGot, payWithKy } = await import(join(page, "retrying.mjs"));

const run = promisify(execFile);
const order = { amount: 2990, currency: "EUR" };
const credential = "sk_test_clients";
const timeout = 30_000;

/**
 * Each client: `path` of its request; `header` or `member` of the body that contains the key; `vars` that the gateway needs; `retries`: whether
 * the client itself sends a request again whose response was lost; `connect`: returns the call, which resolves with the
 * id in the response.
 */
export const CLIENTS = {
  stripe: {
    path: "/v1/payment_intents",
    header: "idempotency-key",
    retries: true,
    connect(url) {
      const { hostname: host, port } = new URL(url);
      const stripe = new Stripe(credential, { host, port, protocol: "http", timeout, telemetry: false });
      return async (key) => (await stripe.paymentIntents.create({ amount: 2990, currency: "eur" }, { idempotencyKey: key })).id;
    },
  },
  openai: {
    path: "/payment_intents",
    header: "idempotency-key",
    retries: true,
    connect(url) {
      const client = new OpenAI({ apiKey: credential, baseURL: url, timeout });
      return async (key) => (await client.post("/payment_intents", { body: order, headers: { "Idempotency-Key": key } })).id;
    },
  },
  "@anthropic-ai/sdk": {
    path: "/v1/messages",
    header: "idempotency-key",
    retries: true,
    connect(url) {
      const client = new Anthropic({ apiKey: credential, baseURL: url, timeout });
      const message = { model: "claude", max_tokens: 1, messages: [{ role: "user", content: "hello" }] };
      return async (key) => (await client.messages.create(message, { headers: { "Idempotency-Key": key } })).id;
    },
  },
  square: {
    path: "/v2/payments",
    member: "idempotency_key",
    vars: { BUSINESS_KEYS: "POST:/v2/payments:/idempotency_key!" },
    retries: false,
    connect(url) {
      const client = new SquareClient({ token: credential, baseUrl: url, timeoutInSeconds: 30 });
      const payment = { sourceId: "cnon:card", amountMoney: { amount: 2990n, currency: "EUR" } };
      return async (key) => (await client.payments.create({ ...payment, idempotencyKey: key })).payment.id;
    },
  },
  dodopayments: {
    path: "/checkouts",
    header: "idempotency-key",
    retries: true,
    connect: (url) => async (key) => (await payWithDodo(url, credential, [], key)).session_id,
  },
  paypal: {
    path: "/v2/checkout/orders",
    header: "paypal-request-id",
    vars: { KEY_HEADERS: "Idempotency-Key,PayPal-Request-Id" },
    retries: false,
    connect(url) {
      const { hostname: host, port } = new URL(url);
      // This SDK has no option for the URL. The agent connects it with the gateway, without TLS.
      const httpsAgent = new Agent();
      httpsAgent.createConnection = () => connect({ host, port });
      const client = new Client({
        environment: Environment.Sandbox,
        clientCredentialsAuthCredentials: { oAuthClientId: "id", oAuthClientSecret: "secret" },
        httpClientOptions: { httpsAgent },
        timeout,
      });
      const orders = new OrdersController(client);
      const body = { intent: "CAPTURE", purchaseUnits: [{ amount: { currencyCode: "EUR", value: "29.90" } }] };
      return async (key) => (await orders.createOrder({ body, paypalRequestId: key })).result.id;
    },
  },
  "axios with axios-retry": {
    path: "/v1/orders",
    header: "idempotency-key",
    retries: true,
    connect: (url) => async (key) => (await payWithAxios(url, credential, order, key)).id,
  },
  ky: {
    path: "/v1/orders",
    header: "idempotency-key",
    retries: true,
    connect: (url) => async (key) => (await payWithKy(url, credential, order, key)).id,
  },
  got: {
    path: "/v1/orders",
    header: "idempotency-key",
    retries: true,
    connect: (url) => async (key) => (await payWithGot(url, credential, order, key)).id,
  },
  requests: {
    path: "/v1/orders",
    header: "idempotency-key",
    retries: true,
    async isHere() {
      return run("python3", ["-c", "import requests"]).then(() => true, () => false);
    },
    connect(url) {
      const program = `
import sys, requests
from requests.adapters import HTTPAdapter, Retry
session = requests.Session()
session.trust_env = False
# By default, it repeats no request.
session.mount("http://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.1, status_forcelist=[503], allowed_methods=["POST"])))
headers = {"X-Api-Key": "${credential}", "Idempotency-Key": sys.argv[2]}
print(session.post(sys.argv[1] + "/v1/orders", json={"amount": 2990}, headers=headers, timeout=30).json()["id"])`;
      return async (key) => (await run("python3", ["-c", program, url, key])).stdout.trim();
    },
  },
};
