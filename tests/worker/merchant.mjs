// A merchant of the sandbox, as tests call it.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

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
