// SDKs and HTTP clients, each with one call: a POST to `path` with a key.
import { Agent } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { Client, Environment, OrdersController } from "@paypal/paypal-server-sdk";
import OpenAI from "openai";
import { SquareClient } from "square";
import Stripe from "stripe";
import { unpack } from "../worker/fixtures/guide.mjs";
import { hasModule, payInNode, payInPython } from "./processes.mjs";

// The programs that the page shows.
const page = unpack("docs/guide/sdks.md", "clients");
const { pay: payWithDodo } = await import(join(page, "dodopayments.mjs"));
const { payWithAxios, payWithGot, payWithKy } = await import(join(page, "retrying.mjs"));

const order = { amount: 2990, currency: "EUR" };
const credential = "sk_test_clients";
const timeout = 30_000;

/**
 * Each client: `path` of its request; `header` or `member` of the body that contains the key; `vars` that the gateway needs;
 * `https`: whether it calls no other addresses; `repeats`: the losses of a response after which the client itself sends the
 * request again; `connect`: returns the call, which resolves with the id in the response. `isHere`: whether it is installed.
 */
export const CLIENTS = {
  stripe: {
    path: "/v1/payment_intents",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    connect(url) {
      const { hostname: host, port } = new URL(url);
      const stripe = new Stripe(credential, { host, port, protocol: "http", timeout, telemetry: false });
      return async (key) => (await stripe.paymentIntents.create({ amount: 2990, currency: "eur" }, { idempotencyKey: key })).id;
    },
  },
  openai: {
    path: "/payment_intents",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    connect(url) {
      const client = new OpenAI({ apiKey: credential, baseURL: url, timeout });
      return async (key) => (await client.post("/payment_intents", { body: order, headers: { "Idempotency-Key": key } })).id;
    },
  },
  "@anthropic-ai/sdk": {
    path: "/v1/messages",
    header: "idempotency-key",
    repeats: ["broken", "503"],
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
    repeats: ["503"],
    connect(url) {
      const client = new SquareClient({ token: credential, baseUrl: url, timeoutInSeconds: 30 });
      const payment = { sourceId: "cnon:card", amountMoney: { amount: 2990n, currency: "EUR" } };
      return async (key) => (await client.payments.create({ ...payment, idempotencyKey: key })).payment.id;
    },
  },
  dodopayments: {
    path: "/checkouts",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    connect: (url) => async (key) => (await payWithDodo(url, credential, [], key)).session_id,
  },
  paypal: {
    path: "/v2/checkout/orders",
    header: "paypal-request-id",
    vars: { KEY_HEADERS: "Idempotency-Key,PayPal-Request-Id" },
    repeats: [],
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
    repeats: ["broken", "503"],
    connect: (url) => async (key) => (await payWithAxios(url, credential, order, key)).id,
  },
  ky: {
    path: "/v1/orders",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    connect: (url) => async (key) => (await payWithKy(url, credential, order, key)).id,
  },
  got: {
    path: "/v1/orders",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    connect: (url) => async (key) => (await payWithGot(url, credential, order, key)).id,
  },
  "@adyen/api-library": {
    path: "/v72/payments",
    header: "idempotency-key",
    https: true,
    repeats: [],
    connect: (url, { ca }) => async (key) =>
      (await payInNode(join(page, "adyen.mjs"), [url, credential, order, key], { NODE_EXTRA_CA_CERTS: ca })).pspReference,
  },
  "@mollie/api-client": {
    path: "/v2/payments",
    header: "idempotency-key",
    https: true,
    repeats: ["503"],
    // This SDK trusts no certificate authorities but its own, and has no option for others.
    connect: (url, { env = { NODE_TLS_REJECT_UNAUTHORIZED: "0" } } = {}) => async (key) =>
      (await payInNode(join(page, "mollie.mjs"), [url, credential, order, key], env)).id,
  },
  requests: {
    path: "/v1/orders",
    header: "idempotency-key",
    repeats: ["broken", "503"],
    isHere: () => hasModule("requests"),
    connect: payInPython(`
import requests
from requests.adapters import HTTPAdapter, Retry
session = requests.Session()
session.trust_env = False
# By default, it repeats no request.
session.mount("http://", HTTPAdapter(max_retries=Retry(total=3, backoff_factor=0.1, status_forcelist=[503], allowed_methods=["POST"])))
def pay(url, key):
    headers = {"X-Api-Key": "${credential}", "Idempotency-Key": key}
    return session.post(url + "/v1/orders", json={"amount": 2990}, headers=headers, timeout=30)`),
  },
  httpx: {
    path: "/v1/orders",
    header: "idempotency-key",
    repeats: [],
    isHere: () => hasModule("httpx"),
    connect: payInPython(`
import httpx
# These retries repeat only the attempt to connect.
client = httpx.Client(trust_env=False, transport=httpx.HTTPTransport(retries=3), timeout=30)
def pay(url, key):
    headers = {"X-Api-Key": "${credential}", "Idempotency-Key": key}
    return client.post(url + "/v1/orders", json={"amount": 2990}, headers=headers).raise_for_status()`),
  },
};
