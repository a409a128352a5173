// A sender of webhooks, as tests deliver events.
import assert from "node:assert/strict";
import { createHmac, randomBytes, randomUUID } from "node:crypto";
import { exchange } from "./client.mjs";

export const newSecret = () => `whsec_${randomBytes(24).toString("base64")}`;
export const newId = () => `evt_${randomUUID()}`;
export const now = () => Math.floor(Date.now() / 1000);
export const sign = (secret, id, stamp, body) => {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${stamp}.`).update(body).digest("base64")}`;
};
export const event = (data = {}) => JSON.stringify({ type: "payment.succeeded", data });

export const secrets = { old: newSecret(), new: newSecret(), other: newSecret() };
/** Sources `s0` and so on, so that each test has one of its own; `twice` has two secrets, `other` another one. */
export const WEBHOOK_SECRETS = [
  ...Array.from({ length: 20 }, (_, at) => `s${at}:${secrets.old}`),
  `twice:${secrets.old}`,
  `other:${secrets.other}`,
  `twice:${secrets.new}`,
].join(",");

/**
 * Delivers an event as its sender would. `stamp`: in seconds; `signature`: in place of the right one; `spelling`: of
 * the headers; `drop`: leaves out headers whose names end so; `headers`: further pairs.
 */
export function deliver(worker, source, { id = newId(), body = event(), secret = secrets.old, ...more } = {}) {
  const { stamp = now(), signature = sign(secret, id, stamp, body), spelling = "webhook" } = more;
  const pairs = [
    [`${spelling}-id`, id],
    [`${spelling}-timestamp`, String(stamp)],
    [`${spelling}-signature`, signature],
    ["Content-Type", "application/json"],
    ...(more.headers ?? []),
  ];
  const headers = pairs.filter(([name]) => !more.drop || !name.endsWith(more.drop));
  return exchange(worker.url, { method: more.method ?? "POST", path: more.path ?? `/webhooks/${source}`, headers, body });
}

/** The answer to a delivery of an event that is done. */
export const isDuplicate = (answer) => {
  assert.deepEqual([answer.status, answer.json, answer.replayed], [200, { status: "duplicate" }, true], answer.text);
  assert.equal(answer.state, "completed");
  assert.equal(answer.get("Idempotency-Expires"), undefined, "it is kept for good");
};
