// Retries after failures of servers and networks: each retry sends the same bytes with the same key.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, begun, error, gated, inTurn, open, paid, reset, startBrowser } from "./support.mjs";

const cutOff = (socket) => socket.destroy();
const resetNow = (socket) => socket.resetAndDestroy();

/** Ways to lose a response. */
const losses = {
  "a reset before any response": reset,
  "a close before any response": (_, response) => void response.socket.destroy(),
  "a reset after the head": begun({ "Content-Length": 40 }, "", resetNow),
  "a close after the head": begun({ "Content-Length": 40 }, "", cutOff),
  "a body shorter than its length": begun({ "Content-Length": 40 }, '{"id":"1"}', cutOff),
  "a reset in the middle of the body": begun({ "Content-Length": 40 }, '{"id":', resetNow),
  "a chunked body without its end": begun({}, '{"id":"1"}', cutOff),
  "JSON that breaks off": () => ({ status: 201, headers: { "Content-Type": "application/json" }, body: '{"id":' }),
};

describe("retries", () => {
  let browser, site, context, shop;
  const retry = { limit: 3, delays: [20], jitter: "none" };
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
    shop = await open(context, site.url + site.page({ client: { retry } }));
  });
  after(async () => {
    await browser.close();
    await site.close();
  });

  const body = { json: { amount: 2990, card: "4242424242424242" } };
  const types = async () => (await shop.events()).map(({ type }) => type);
  /** Fails unless every request had this one key and the same bytes. */
  function same(path, hits) {
    const seen = site.at(path);
    if (hits !== undefined) assert.equal(seen.length, hits);
    assert.equal(site.keys(path).length, 1);
    assert.match(site.keys(path)[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
    for (const name of ["body", "type"]) {
      const all = seen.map((one) => (name === "body" ? one.body.toString("hex") : one.headers["content-type"]));
      assert.equal(new Set(all).size, 1, name);
    }
  }

  for (const [what, lose] of Object.entries(losses)) {
    test(`faults 53, 62: after ${what}, the same bytes are sent again with the same key`, async () => {
      const path = site.route(inTurn(lose, lose, paid));
      const end = await shop.send("order:1", path, body);
      assert.equal(end.status, 201, end.message);
      assert.deepEqual(await types(), ["attempt", "retry", "attempt", "retry", "attempt", "settled"]);
      same(path, 3);
      assert.equal(String(site.at(path)[0].body), JSON.stringify(body.json));
      assert.equal((await shop.call("status", "order:1")).state, "succeeded");
    });
  }

  test("fault 62: a multipart body keeps its boundary", async () => {
    const path = site.route(inTurn(reset, 500, paid));
    const form = [["amount", "2990"], ["名", "訂閲 \"\r\n"], ["b", "\u0000\ud83d\ude00"]];
    assert.equal((await shop.send("order:1", path, { form })).status, 201);
    same(path, 3);
    const { headers, body } = site.at(path)[0];
    const [, boundary] = headers["content-type"].match(/^multipart\/form-data; boundary=(.+)$/);
    assert.ok(String(body).startsWith(`--${boundary}\r\n`));
  });

  test("a stream is read once, and sent each time", async () => {
    const path = site.route(inTurn(500, paid));
    const end = await shop.page.evaluate(async (path) => {
      const body = new Blob(["streamed"]).stream();
      const response = await window.shop.client.fetch("order:1", path, { body, duplex: "half", headers: { "content-type": "text/plain" } });
      return response.status;
    }, path);
    assert.equal(end, 201);
    same(path, 2);
    assert.equal(String(site.at(path)[1].body), "streamed");
  });

  test("fault 61: a request in progress is sent again, without using up retries", async () => {
    await shop.go(site.url + site.page({ client: { retry: { ...retry, limit: 0 } } }));
    const busy = () => error(409, "idempotency_in_progress", { "Retry-After": "1" });
    const path = site.route(inTurn(busy, busy, paid));
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual(await types(), ["attempt", "inprogress", "attempt", "inprogress", "attempt", "settled"]);
    same(path, 3);
  });

  test("fault 61: Chromium's own resend, and the 409 that it gets, do not end the call", async () => {
    // The first copy is lost during its execution. The copy that Chromium sends by itself gets 409.
    const kept = await Site.start({ keepAlive: true });
    try {
      await shop.go(kept.url + kept.page({ client: { retry } }));
      const path = kept.route(inTurn(paid, reset, () => error(409, "idempotency_in_progress"), paid));
      assert.equal((await shop.send("order:0", path, body)).status, 201);
      assert.equal((await shop.send("order:1", path, body)).status, 201);
      const attempts = (await shop.events("attempt")).filter(({ intent }) => intent === "order:1");
      assert.deepEqual(attempts.map(({ attempt }) => attempt), [1, 2]);
      assert.equal(kept.hits(path), 4);
      assert.equal(kept.keys(path).length, 2);
      assert.equal((await shop.events("inprogress")).length, 1);
    } finally {
      await kept.close();
    }
  });

  test("faults 60, 68: after server errors the key stays, until there is a response or no retry is left", async () => {
    const path = site.route(inTurn(500, 502, 503, 504, 408, paid));
    const end = await shop.send("order:1", path, body);
    assert.deepEqual(
      [end.error, end.reason, end.unknownReason, end.status, end.attempts],
      ["OutcomeUnknownError", "retries_used_up", "status", 504, 4],
    );
    assert.deepEqual((await shop.call("pending")).map(({ intent, state }) => [intent, state]), [["order:1", "unknown"]]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    same(path, 6);
    assert.equal((await shop.call("pending")).length, 0);
  });

  const httpDate = (ahead) => new Date(Date.now() - 60_000 + ahead).toUTCString();
  for (const [what, headers, after] of [
    ["seconds", { "Retry-After": "1" }, 1000],
    ["a time longer than the limit", { "Retry-After": "120" }, 1500],
    ["a date, on the server's clock", () => ({ "Retry-After": httpDate(1000), Date: httpDate(0) }), 1000],
    ["a date in the past", () => ({ "Retry-After": httpDate(-1000), Date: httpDate(0) }), 20],
    ["an invalid value", { "Retry-After": "1.5" }, 20],
  ]) {
    test(`faults 66, 67: Retry-After with ${what} leads to the expected wait`, async () => {
      await shop.go(site.url + site.page({ client: { retry: { ...retry, maxRetryAfter: 1500 } } }));
      const slow = () => error(after === 1000 ? 429 : 503, "rate_limit_error", typeof headers === "function" ? headers() : headers);
      const path = site.route(inTurn(slow, paid));
      assert.equal((await shop.send("order:1", path, body)).status, 201);
      assert.deepEqual((await shop.events("retry")).map((event) => event.after), [after]);
      same(path, 2);
    });
  }

  test("fault 64: an attempt that takes too long is ended, and the next attempt has its own time limit", async () => {
    await shop.go(site.url + site.page({ client: { retry: { ...retry, attemptTimeout: 300 } } }));
    const [never, later] = [gated(), gated()];
    const path = site.route(inTurn(never, later, paid));
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    same(path, 3);
    never.open();
    later.open();
  });

  test("fault 64: all attempts together have a time limit", async () => {
    await shop.go(site.url + site.page({ client: { retry: { ...retry, limit: 100, attemptTimeout: 200, totalTime: 500 } } }));
    const never = gated();
    const path = site.route(never);
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.reason], ["OutcomeUnknownError", "time_used_up"]);
    assert.equal((await shop.call("status", "order:1")).state, "unknown");
    assert.equal(end.key, site.keys(path)[0]);
    never.open();
  });

  test("a call that its caller aborts reports whether the outcome is unknown, and the next call has the same key", async () => {
    const slow = gated();
    const path = site.route(inTurn(slow, paid));
    const call = await shop.start("order:1", path, body);
    await slow.reached;
    const end = await call.abort();
    assert.deepEqual([end.error, end.outcome, end.key], ["AbortError", "unknown", site.keys(path)[0]]);
    slow.open();
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    same(path, 2);
  });

  test("a call that is aborted during a wait ends at once", async () => {
    await shop.go(site.url + site.page({ client: { retry: { ...retry, delays: [60_000] } } }));
    const path = site.route(inTurn(500, paid));
    const call = await shop.start("order:1", path, body);
    await shop.waitForEvent("retry");
    assert.deepEqual(await call.abort().then(({ error, outcome }) => [error, outcome]), ["AbortError", "unknown"]);
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    same(path, 2);
  });

  test("a call that is aborted before it begins sends nothing, and leaves no unknown outcome", async () => {
    const path = site.route();
    const end = await shop.page.evaluate(
      ([path]) => window.shop.client.fetch("order:1", path, { body: "1", signal: AbortSignal.abort() }).catch(({ name, outcome }) => [name, outcome]),
      [path],
    );
    assert.deepEqual(end, ["AbortError", "not_sent"]);
    assert.ok(!["sending", "unknown"].includes((await shop.call("status", "order:1")).state));
    assert.deepEqual([await shop.call("pending"), site.hits(path)], [[], 0]);
  });
});
