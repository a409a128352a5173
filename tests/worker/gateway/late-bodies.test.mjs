// A body that stalls or breaks off returns 408, whichever part of the gateway reads it, and never an error that a
// client could take for a refusal of the request.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newSecret, sign } from "../fixtures/sender.mjs";
import { apiKey, head, newKey, startGateway, startRaw } from "../fixtures/support.mjs";

const ADMIN_TOKEN = "an-admin-token";
const secret = newSecret();
const form = ["Content-Type", "application/x-www-form-urlencoded"];
const credential = ["X-Api-Key", apiKey];

/** Reads the head of a response and its JSON body. */
async function responseTo(socket) {
  let text = "";
  for await (const data of socket) {
    text += data.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? NaN);
    if (end >= 0 && text.length >= end + 4 + length) break;
  }
  const [top, body] = text.split("\r\n\r\n");
  const get = (name) => new RegExp(`^${name}: (.*)$`, "im").exec(top)?.[1].trim();
  return { status: Number(text.split(" ")[1]), get, json: JSON.parse(body) };
}

describe("a body that never ends", () => {
  let gateway;
  before(async () => {
    const vars = { ADMIN_TOKEN, KEY_FIELD: "key", BUSINESS_KEYS: "POST:/o/*:/no", WEBHOOK_SECRETS: `shop:${secret}` };
    gateway = await startGateway({ vars });
  });
  after(() => gateway.dispose());

  /** Starts a request whose body stops after `sent`, and waits for its response. */
  async function late(path, headers, sent = '{"a":') {
    const bytes = Buffer.concat([head("POST", path, [...headers, ["Content-Length", "100"]]), Buffer.from(sent)]);
    const socket = await startRaw(gateway.url, bytes);
    const response = await responseTo(socket);
    socket.destroy();
    return response;
  }

  test("returns a 408 that asks for the same request again, without a state of the key", async () => {
    const path = gateway.route();
    const json = ["Content-Type", "application/json"];
    const [id, stamp] = ["evt_1", Math.floor(Date.now() / 1000)];
    const signed = [["webhook-id", id], ["webhook-timestamp", stamp], ["webhook-signature", sign(secret, id, stamp, "{}")]];
    const admin = ["Authorization", `Bearer ${ADMIN_TOKEN}`];
    const key = newKey();
    const all = await Promise.all([
      late(path, [credential, json, ["Idempotency-Key", key]]),
      late(path, [credential, form, ["Idempotency-Key", newKey()]]),
      late(path, [credential, form], "a=1&key="),
      late(path, [credential, json], '{"no":'),
      late("/webhooks/shop", signed),
      late("/_oncekey/key/settle", [credential, admin, ["Idempotency-Key", newKey()]]),
    ]);
    for (const [at, response] of all.entries()) {
      assert.deepEqual([response.status, response.json.code], [408, "api_connection_error"], `${at}`);
      assert.equal(response.json.error.code, "api_connection_error");
      assert.equal(response.get("X-Should-Retry"), "true");
    }
    assert.deepEqual(all.map((response) => response.get("Idempotency-State")), ["absent", "absent", "absent", undefined, undefined, undefined]);
    assert.equal(gateway.hits(path), 0);
    assert.equal((await gateway.post(path, key)).status, 201, "the same key can be used afterwards");
  });
});
