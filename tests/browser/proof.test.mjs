// Which responses settle an outcome: only the key's own response, with proof if proof is needed.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { executions, merchant, order } from "../worker/fixtures/merchant.mjs";
import { Site, error, eventually, inTurn, json, open, paid, startBrowser, startWorker } from "./support.mjs";

const body = { json: { amount: 2990 } };
const other = { json: { amount: 1 } };
const retry = { limit: 0 };

describe("what settles an outcome", () => {
  let browser, site, worker, context, shop;
  before(async () => {
    [browser, site, worker] = await Promise.all([startBrowser(), Site.start(), startWorker()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
  });
  after(async () => {
    await browser.close();
    await worker.dispose();
    await site.close();
  });
  const shown = async (client = {}, page = {}) => (shop = await open(context, site.url + site.page({ client: { retry, ...client }, ...page })));
  const state = async () => (await shop.call("status", "order:1")).state;

  describe("a 4xx without proof after an attempt whose outcome is unknown", () => {
    /** Refusals of gateways, firewalls, rate limits, proxies and APIs. */
    const refusals = [
      [400, "invalid_request_error"],
      [400, undefined],
      [402, "card_error"],
      [404, "not_found"],
      [410, undefined],
      [413, "invalid_request_error"],
      [422, "invalid_request_error"],
      [431, undefined],
      [451, undefined],
    ];
    const responses = ([status, type], headers) => () => (type ? error(status, type, headers) : json(status, {}, headers));
    for (const [what, headers, client] of [
      ["", {}, {}],
      [", with key calls", {}, { keyUrl: "/nowhere" }],
      [", with the state absent", { "Idempotency-State": "absent" }, {}],
    ]) {
      test(`does not settle it: the key stays, and the next submit sends it again${what}`, async () => {
        await shown(client);
        for (const refusal of refusals) {
          const proven = () => json(201, {}, { "Idempotency-State": "completed" });
          const path = site.route(inTurn(500, responses(refusal, headers), responses(refusal, headers), proven));
          const intent = `order:${randomUUID()}`;
          assert.equal((await shop.send(intent, path, body)).error, "OutcomeUnknownError");
          const end = await shop.send(intent, path, body);
          assert.deepEqual([end.error, end.unknownReason, end.status], ["OutcomeUnknownError", "no_proof", refusal[0]]);
          assert.match(end.message, /finalStatuses/);
          // A reload does not forget the key, and a changed payload does not get another key.
          await shop.reload();
          assert.equal((await shop.send(intent, path, other)).error, "PayloadChangedError");
          assert.equal((await shop.send(intent, path, body)).error, "OutcomeUnknownError");
          assert.equal((await shop.send(intent, path, body)).status, 201);
          assert.deepEqual([site.hits(path), site.keys(path).length], [4, 1], String(refusal));
        }
      });
    }

    test("settles it with proof", async () => {
      await shown();
      for (const proof of [{ "Idempotency-State": "completed" }, { "Idempotent-Replayed": "true" }]) {
        const path = site.route(inTurn(500, responses([402, "card_error"], proof), paid));
        const intent = `order:${randomUUID()}`;
        await shop.send(intent, path, body);
        assert.equal((await shop.send(intent, path, body)).status, 402);
        assert.equal((await shop.send(intent, path, body)).status, 201);
        assert.equal(site.keys(path).length, 2);
      }
    });

    test("settles it if the page has named the status as final", async () => {
      await shown({ finalStatuses: [402] });
      const named = site.route(inTurn(500, responses([402, "card_error"]), paid));
      await shop.send("order:1", named, body);
      assert.equal((await shop.send("order:1", named, body)).status, 402);
      assert.equal((await shop.send("order:1", named, body)).status, 201);
      assert.equal(site.keys(named).length, 2);
      const another = site.route(inTurn(500, responses([422, "card_error"]), paid));
      await shop.send("order:2", another, body);
      assert.equal((await shop.send("order:2", another, body)).error, "OutcomeUnknownError");
      // A server that sends proof would have sent it with this response, too.
      const proving = site.route(inTurn(() => json(500, {}, { "Idempotency-State": "unknown" }), responses([402, "card_error"])));
      await shop.send("order:3", proving, body);
      assert.equal((await shop.send("order:3", proving, body)).error, "OutcomeUnknownError");
    });

    test("can be named as final only if its status can be a key's response", async () => {
      await shown();
      for (const wrong of [200, 302, 401, 403, 408, 409, 417, 425, 429, 500, 402.5, Number.NaN, "abc", -402, 65_938]) {
        const name = await shop.page.evaluate((status) => {
          try {
            window.shop.oncekey.createClient({ finalStatuses: [status] });
          } catch (error) {
            return `${error.name} ${error.message}`;
          }
        }, wrong);
        assert.match(String(name), /^(RangeError|TypeError) .*finalStatuses/, String(wrong));
      }
    });
  });

  test("a response after a redirect is not a success, unless it carries proof", async () => {
    await shown();
    const login = site.route(() => json(200, { signIn: true }));
    const thanks = site.route(() => json(200, { paid: true }, { "Idempotency-State": "completed" }));
    for (const status of [301, 302, 303, 307, 308]) {
      const to = (target) => () => ({ status, headers: { Location: target } });
      const path = site.route(inTurn(to(login), to(thanks)));
      const intent = `order:${status}`;
      const end = await shop.send(intent, path, body);
      assert.deepEqual([end.error, end.unknownReason, end.status], ["OutcomeUnknownError", "redirected", 200]);
      assert.equal((await shop.call("status", intent)).state, "unknown");
      assert.equal((await shop.send(intent, path, body)).status, 200);
      assert.deepEqual([(await shop.call("status", intent)).state, site.keys(path).length], ["succeeded", 1]);
    }
  });

  test("a page after a redirect is a success if the redirect was the key's response, according to the key's state", async () => {
    const states = [[200, { state: "completed", http_status: 303 }], [200, { state: "completed", http_status: 201 }], [200, { state: "in_progress" }], [404, {}]];
    for (const [at, [status, record]] of states.entries()) {
      const keyUrl = site.route(() => json(status, record));
      const page = site.route(() => ({ headers: { "Content-Type": "text/html" }, body: "<p>Thanks" }));
      const path = site.route(() => ({ status: 303, headers: { Location: page } }));
      await shown({ keyUrl });
      const intent = `order:${at}`;
      const end = await shop.send(intent, path, body, { expects: "text/html" });
      const known = at === 0 ? [undefined, 200, "succeeded"] : ["OutcomeUnknownError", 200, "unknown"];
      assert.deepEqual([end.error, end.status, (await shop.call("status", intent)).state], known);
      assert.deepEqual([site.hits(keyUrl), site.hits(`${keyUrl}/void`), site.hits(path)], [1, 0, 1]);
    }
  });

  test("after a response with proof, the client expects proof from this server", async () => {
    await shown();
    const busy = () => error(429, "rate_limit_error", { "Idempotency-State": "absent" });
    const queued = () => json(202, { queued: true });
    const proven = () => json(201, {}, { "Idempotency-State": "completed" });
    const path = site.route(inTurn(busy, queued, proven));
    assert.equal((await shop.send("order:1", path, body)).status, 429);
    await shop.reload();
    const end = await shop.send("order:1", path, body);
    assert.deepEqual([end.error, end.unknownReason, await state()], ["OutcomeUnknownError", "no_proof", "unknown"]);
    await shop.reload();
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual([site.keys(path).length, await state()], [1, "succeeded"]);
  });

  test("a service worker's own response is not a success, and resolve() returns the outcome", async () => {
    const credential = `kuko_test_${randomUUID()}`;
    const call = merchant(worker, credential);
    const content = order();
    const request = { headers: { "x-api-key": credential }, json: content };
    const target = `${worker.url}/v1/orders`;
    const script = site.script(`
      let held;
      addEventListener("install", () => skipWaiting());
      addEventListener("activate", (event) => event.waitUntil(clients.claim()));
      addEventListener("message", (event) => event.waitUntil(fetch(held.clone()).then(() => event.source.postMessage("sent"))));
      addEventListener("fetch", (event) => {
        if (event.request.method !== "POST") return;
        held = event.request.clone();
        event.respondWith(new Response('{"queued":true}', { status: 202, headers: { "Content-Type": "application/json" } }));
      });`);
    await shown({ credential, keyUrl: `${worker.url}/_oncekey/key` });
    await shop.page.evaluate(async (script) => {
      await navigator.serviceWorker.register(script);
      await navigator.serviceWorker.ready;
      if (!navigator.serviceWorker.controller) await new Promise((go) => (navigator.serviceWorker.oncontrollerchange = go));
    }, script);
    const end = await shop.send("order:1", target, request);
    assert.deepEqual([end.error, end.unknownReason, end.status, await state()], ["OutcomeUnknownError", "no_proof", 202, "unknown"]);
    assert.equal(await executions(call, end.key), 0);
    assert.equal((await shop.call("resolve", "order:1")).state, "unknown");
    await shop.page.evaluate(async () => {
      const sent = new Promise((go) => (navigator.serviceWorker.onmessage = go));
      navigator.serviceWorker.controller.postMessage("send");
      await sent;
    });
    assert.equal((await shop.call("resolve", "order:1")).state, "succeeded");
    assert.equal(await executions(call, end.key), 1);
  });

  describe("a browser that reports no network", () => {
    const first = `Object.defineProperty(Navigator.prototype, "onLine", { get: () => false });`;
    const begun = async (send) => {
      const at = performance.now();
      assert.equal((await send).status, 201);
      return performance.now() - at;
    };
    const patient = { limit: 2, delays: [20] };

    test("is ignored after a response, which proves that there is a network", async () => {
      await shown({ retry: patient }, { first });
      const path = site.route(inTurn(503, () => error(409, "conflict"), paid));
      assert.ok((await begun(shop.send("order:1", path, body))) < 4000);
      assert.equal(site.hits(path), 3);
    });

    test("counts for a few seconds after a failed connection", async () => {
      await shown({ retry: patient }, { first });
      const path = site.route(inTurn((_, response) => void response.socket.destroy(), paid));
      const took = await begun(shop.send("order:1", path, body));
      assert.ok(took > 4000 && took < 60_000, `${took} ms`);
      assert.equal(site.hits(path), 2);
    });
  });

  test("a request that fetch would refuse is a TypeError before a key is stored", async () => {
    await shown();
    const path = site.route();
    const ends = await shop.page.evaluate(async (path) => {
      const { client } = window.shop;
      const big = "x".repeat(65_537);
      const cases = {
        "a user in the URL": [`http://user:secret@${location.host}${path}`, {}],
        "a forbidden method": [path, { method: "TRACE" }],
        "CONNECT": [path, { method: "CONNECT" }],
        "an invalid method": [path, { method: "PO ST" }],
        "navigate": [path, { mode: "navigate", body: "{}" }],
        "an unknown mode": [path, { mode: "other", body: "{}" }],
        "unknown credentials": [path, { credentials: "some", body: "{}" }],
        "a bad header name": [path, { headers: { "a b": "1" }, body: "{}" }],
        "a bad header value": [path, { headers: { a: "1\n2" }, body: "{}" }],
        "a value beyond Latin-1": [path, { headers: { a: "ü€" }, body: "{}" }],
        "keepalive with more than 64 KiB": [path, { keepalive: true, body: big }],
        "another origin in the mode same-origin": [`http://localhost:${location.port}${path}`, { mode: "same-origin", body: "{}" }],
        "only from a cache": [path, { mode: "same-origin", cache: "only-if-cached", body: "{}" }],
        "a bad referrer": [path, { referrer: "http://:::", body: "{}" }],
        "ftp": ["ftp://shop.test/", { body: "{}" }],
        "data": ["data:text/plain,x", { body: "{}" }],
        "javascript": ["javascript:1", { body: "{}" }],
        "an invalid URL": ["http://", { body: "{}" }],
      };
      const found = {};
      for (const [what, [url, init]] of Object.entries(cases)) {
        const end = await client.fetch(`order:${what}`, url, init).catch((error) => error);
        found[what] = [end.name ?? end.status, client.intent(`order:${what}`).status().state];
      }
      const fits = await client.fetch("order:fits", path, { keepalive: true, body: "x".repeat(65_000) });
      return { found, fits: fits.status, stored: Object.keys(localStorage).length };
    }, path);
    for (const [what, end] of Object.entries(ends.found)) assert.deepEqual(end, ["TypeError", "idle"], what);
    assert.deepEqual([ends.fits, ends.stored, site.hits(path)], [201, 1, 1]);
  });

  test("a request accepts JSON if JSON is expected", async () => {
    await shown();
    for (const [options, headers, accept] of [
      [{}, {}, "application/json"],
      [{ expects: "application/problem+json, application/json" }, {}, "application/problem+json, application/json"],
      [{ expects: "text/html" }, {}, "*/*"],
      [{ expects: "*/*" }, {}, "*/*"],
      [{}, { Accept: "application/json, text/plain;q=0.5" }, "application/json, text/plain;q=0.5"],
    ]) {
      const type = options.expects === "text/html" ? "text/html" : "application/json";
      const path = site.route(() => ({ status: 201, headers: { "Content-Type": type }, body: "{}" }));
      const intent = `order:${randomUUID()}`;
      assert.equal((await shop.send(intent, path, { ...body, headers }, options)).status, 201);
      assert.equal(site.at(path)[0].headers.accept, accept);
    }
  });

  describe("the lock of an intent", () => {
    const held = () => shop.page.evaluate(async () => (await navigator.locks.query()).held.map(({ name }) => name));

    test("is released before a success is reported, so that the page can be cached for Back", async () => {
      await shown();
      const path = site.route();
      const seen = await shop.page.evaluate(async (path) => {
        const seen = [];
        for (let number = 0; number < 5; number++) {
          const response = await window.shop.client.fetch(`order:${number}`, path, { body: "{}" });
          const { held, pending } = await navigator.locks.query();
          seen.push([response.status, held.length, pending.length]);
        }
        return seen;
      }, path);
      assert.deepEqual(seen, Array(5).fill([201, 0, 0]));
    });

    test("is released before a slow response is reported, and soon after a fast one", async () => {
      await shown();
      const path = site.route(async () => {
        await new Promise((go) => setTimeout(go, 200));
        return error(402, "card_error");
      });
      assert.equal((await shop.send("order:1", path, body)).status, 402);
      assert.deepEqual(await held(), []);
      await shop.send("order:2", site.route(() => error(402, "card_error")), body);
      await eventually(async () => assert.deepEqual(await held(), []));
    });

    test("is released when the page is left, and another tab then finds the key", async () => {
      await shown();
      const path = site.route(inTurn(500, paid));
      await shop.send("order:1", path, body);
      const next = await open(context, site.url + site.page({ client: { retry } }));
      assert.equal((await next.send("order:1", path, body)).status, 201);
      assert.equal(site.keys(path).length, 1);
    });

    test("does not pass to another tab before that tab can see the key", async () => {
      await shown();
      const tabs = [shop, await open(context, site.url + site.page({ client: { retry } }))];
      for (let round = 0; round < 10; round++) {
        const path = site.route(inTurn(500, paid, () => json(201, {}, { "Idempotent-Replayed": "true" })));
        const ends = await Promise.all(tabs.map((tab) => tab.send(`order:${round}`, path, body)));
        assert.equal(site.keys(path).length, 1, JSON.stringify(ends));
      }
    });
  });
});
