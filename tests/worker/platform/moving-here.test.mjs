// Switches the API of docs/guide/moving-here.md to the gateway by the steps of that page.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Program, unpack } from "../fixtures/guide.mjs";
import { Origin, apiKey, created, newKey, startWorker } from "../fixtures/support.mjs";

test("a request is executed once, before, during and after the switch", async () => {
  const api = await Program.start(unpack("docs/guide/moving-here.md", "moving-here"), "table.mjs");
  const state = mkdtempSync(join(tmpdir(), "oncekey-moving-"));
  const bare = await Origin.start();
  const bodies = new Map();
  const keys = { before: newKey(), during: newKey(), together: newKey() };
  let worker;
  /** Sends the request of a key. Gives the id that was made for it. */
  const send = async (url, key) => {
    const headers = { "X-Api-Key": apiKey, "Idempotency-Key": key, "Content-Type": "application/json" };
    const response = await fetch(`${url}/v1/orders`, { method: "POST", headers, body: `{"out_trade_no":"${key}"}` });
    if (response.status === 409) return send(url, key);
    assert.equal(response.status, 201);
    return (await response.json()).id;
  };
  const isSame = async (url, key) => {
    const id = await send(url, key);
    if (!bodies.has(key)) bodies.set(key, id);
    assert.equal(id, bodies.get(key));
  };
  try {
    await isSame(api.url, keys.before);
    worker = await startWorker({ upstream: api.url, state, vars: { UNKNOWN_OUTCOME: "retry" } });
    for (const key of [keys.before, keys.during]) await isSame(worker.url, key);
    bodies.set(keys.together, await send(worker.url, keys.together));
    await Promise.all([worker.url, api.url, worker.url, api.url].map((url) => isSame(url, keys.together)));
    // Who goes back finds the same.
    for (const key of Object.values(keys)) await isSame(api.url, key);
    assert.equal((await api.rows("SELECT id FROM orders")).length, 3);

    // The API without its table executes whatever reaches it.
    await worker.dispose();
    await api.kill();
    bare.route(created, "/v1/orders");
    worker = await startWorker({ upstream: bare.url, state, vars: { UNKNOWN_OUTCOME: "hold" } });
    for (const key of Object.values(keys)) await isSame(worker.url, key);
    assert.equal(bare.hits("/v1/orders"), 0);
    await send(worker.url, newKey());
    assert.equal(bare.hits("/v1/orders"), 1);
  } finally {
    await worker?.dispose();
    await api.kill();
    await bare.close();
    rmSync(state, { recursive: true, force: true });
  }
});
