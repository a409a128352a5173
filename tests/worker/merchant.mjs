// A merchant of the sandbox, as tests call it.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";

const number = () => `ORDER_${randomUUID()}`;
export const order = (more) => ({ out_trade_no: number(), amount: 2990, currency: "USD", subject: "Pro 年度訂閲", ...more });

/** A way to call a Worker as one merchant; an answer has `status`, `headers`, `text` and `json`. */
export function merchant(worker, apiKey = `kuko_test_${randomUUID()}`) {
  return async (method, path, { body, key, fault, type = "application/json", headers = {} } = {}) => {
    const all = new Headers(headers);
    if (apiKey !== null) all.set("X-Api-Key", apiKey);
    if (key !== undefined) all.set("Idempotency-Key", key);
    if (fault !== undefined) all.set("Sandbox-Fault", fault);
    if (body !== undefined && type !== null) all.set("Content-Type", type);
    const bytes = body === undefined || typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    const response = await worker.fetch(path, { method, headers: all, body: bytes });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: text ? JSON.parse(text) : undefined };
  };
}

/** Fails unless the answer is an error of the sandbox's shape that names `param`. */
export function refused(answer, status, param, type = "invalid_request_error") {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.json.type, type);
  assert.equal(answer.json.param, param, answer.text);
  if (param !== undefined) assert.ok(answer.json.message.includes(param), answer.json.message);
  assert.ok(answer.json.code && answer.json.message);
  assert.equal(answer.json.request_id, answer.headers.get("X-Request-Id"));
  assert.match(answer.headers.get("Content-Type"), /^application\/json/);
}

/** The object that a 201 made or found. */
export function made(answer) {
  assert.equal(answer.status, 201, answer.text);
  return answer.json.data;
}

/** How often something took effect under a key. */
export const executions = async (call, key) => {
  const answer = await call("GET", `/v1/sandbox/executions/${encodeURIComponent(key)}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data.count;
};

/** A door into a merchant's object, in a Worker with the wrapper merchants.mjs. */
export function inside(worker, apiKey) {
  const name = createHash("sha256").update(`oncekey sandbox merchant 1\0${apiKey}`).digest("hex");
  const ask = async (what, asked = {}) => {
    const answer = await worker.fetch(`/__test/${what}`, { method: "POST", body: JSON.stringify({ name, ...asked }) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text ? JSON.parse(text) : undefined;
  };
  return {
    sql: (query, ...values) => ask("sql", { query, values }),
    /** Rings the alarm, whether it is due or not; gives the time of the next. */
    alarm: () => ask("alarm"),
    /** The object goes, as the platform may let it go at any time. */
    evict: () => ask("abort").catch(() => {}),
    /** Sets the clock this many milliseconds ahead. */
    clock: (ahead) => ask("clock", { ahead }),
  };
}

export const GOOD_CARD = "4242424242424242";

/** A new order. */
export const ordered = async (call, more) => made(await call("POST", "/v1/orders", { body: order(more) }));

/** Tries to pay an order. */
export const pay = (call, order_id, { number = GOOD_CARD, ...more } = {}) =>
  call("POST", "/v1/payments", { body: { order_id, card: { number } }, ...more });

/** A new order that is paid. */
export async function paid(call, more) {
  const { id } = await ordered(call, more);
  made(await pay(call, id));
  return found(await call("GET", `/v1/orders/${id}`));
}

const refundNumber = () => `R_${randomUUID()}`;
export const refund = (call, body, more) =>
  call("POST", "/v1/refunds", { body: { out_refund_no: refundNumber(), ...body }, ...more });

/** What a 200 found. */
export function found(answer) {
  assert.equal(answer.status, 200, answer.text);
  return answer.json.data;
}

/** The ledger's entries, of one order or of all, page by page. */
export async function entries(call, query = "") {
  const all = [];
  let cursor;
  do {
    const page = await call("GET", `/v1/ledger/entries?${query}${cursor ? `&cursor=${cursor}` : ""}`);
    all.push(...found(page));
    cursor = page.json.next_cursor;
  } while (cursor);
  return all;
}

export const balance = async (call) => found(await call("GET", "/v1/ledger/balance"));
