// Problems between a page and its server: no network, CORS, no TLS, CSP, files that cannot be loaded.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, gated, inTurn, json, open, paid, startBrowser } from "./support.mjs";

const FORM = (target) => `<form method="post" action="${target}"><input id="amount" name="amount" value="2990">
<button id="card" name="how" value="card">Card</button><button id="bank" name="how" value="bank">Bank</button></form>`;

describe("between a page and its server", () => {
  let browser, site, context;
  const client = { retry: { limit: 1, delays: [20], jitter: "none" } };
  const body = { json: { amount: 2990 } };
  before(async () => {
    [browser, site] = await Promise.all([startBrowser({ hosts: ["shop.test"] }), Site.start()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
  });
  after(async () => {
    await browser.close();
    await site.close();
  });
  const shown = (page = {}, { url = site.url, ready = true } = {}) => open(context, url + site.page({ client, ...page }), { ready });

  test("a call waits while there is no network, and continues by itself", async () => {
    const shop = await shown();
    const path = site.route();
    await context.setOffline(true);
    const call = await shop.start("order:1", path, body);
    await shop.waitForEvent("retry");
    assert.equal(site.hits(path), 0);
    await context.setOffline(false);
    assert.equal((await call.result()).status, 201);
    assert.deepEqual((await shop.events("attempt")).map(({ attempt }) => attempt), [1, 2]);
    assert.equal(site.hits(path), 1);
  });

  test("a wait for the network can be aborted", async () => {
    const shop = await shown();
    await context.setOffline(true);
    const call = await shop.start("order:1", site.route(), body);
    await shop.waitForEvent("retry");
    assert.equal((await call.abort()).error, "AbortError");
  });

  describe("a server elsewhere", () => {
    let api;
    before(async () => (api = await Site.start()));
    after(() => api.close());
    /** Returns a path with these CORS headers. `responses` are for requests that are not preflights. */
    const allowing = (headers, ...responses) => {
      const next = inTurn(...responses, paid);
      return api.route((request) => {
        const response = request.method === "OPTIONS" ? { status: 204 } : next(request);
        return { ...response, headers: { ...response.headers, ...headers } };
      });
    };

    for (const [what, headers] of [
      ["allows nothing", {}],
      ["does not allow the key's header", { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Content-Type" }],
    ]) {
      test(`fault 72: a server of another origin that ${what} looks like a network error, and the error says what may be wrong`, async () => {
        const shop = await shown();
        const path = allowing(headers);
        const end = await shop.send("order:1", api.url + path, body);
        assert.deepEqual([end.error, end.unknownReason], ["OutcomeUnknownError", "network"]);
        assert.ok(end.hint.includes("Idempotency-Key") && end.hint.includes(api.url) && end.hint.includes(site.url), end.hint);
        assert.ok(end.message.includes(end.hint));
        assert.ok(api.at(path).every(({ method }) => method === "OPTIONS"));
      });
    }

    test("fault 72: a server of another origin that allows the key's header is called, and errors of the same origin have no CORS hint", async () => {
      const shop = await shown();
      const allow = { "Access-Control-Allow-Origin": site.url, "Access-Control-Allow-Headers": "Idempotency-Key, Content-Type" };
      const path = allowing(allow);
      assert.equal((await shop.send("order:1", api.url + path, body)).status, 201);
      const dead = site.route((_, response) => void response.socket.destroy());
      const end = await shop.send("order:2", dead, body);
      assert.deepEqual([end.unknownReason, end.hint], ["network", undefined]);
    });

    test("can delay retries by Retry-After, if the page may read it", async () => {
      const shop = await shown();
      const allow = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "Idempotency-Key, Content-Type" };
      const busy = () => json(503, {}, { "Retry-After": "1" });
      assert.equal((await shop.send("order:1", api.url + allowing(allow, busy), body)).status, 201);
      const exposing = { ...allow, "Access-Control-Expose-Headers": "Retry-After" };
      assert.equal((await shop.send("order:2", api.url + allowing(exposing, busy), body)).status, 201);
      assert.deepEqual((await shop.events("retry")).map(({ after }) => after), [20, 1000]);
    });
  });

  test("fault 73: a page on plain HTTP works without randomUUID and locks", async () => {
    const path = site.route(inTurn(500, paid));
    const shop = await shown({ guard: {}, body: FORM(path) }, { url: `http://shop.test:${site.port}` });
    const there = await shop.page.evaluate(() => [isSecureContext, typeof crypto.randomUUID, typeof navigator.locks]);
    assert.deepEqual(there, [false, "undefined", "undefined"]);
    await shop.click("#card", 2);
    assert.equal((await shop.end()).status, 201);
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
    assert.match(await shop.page.evaluate(() => window.shop.oncekey.mintKey()), /^[0-9a-f-]{36}$/);
    assert.deepEqual(await shop.events("storage-degraded"), []);
  });

  const nonce = "c2hvcA==";
  for (const [policy, isForbidden] of [
    ["script-src 'self'", true],
    ["default-src 'self'", true],
    [`script-src 'nonce-${nonce}' 'strict-dynamic'`, true],
    ["script-src 'self' 'wasm-unsafe-eval'", false],
    ["default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; require-trusted-types-for 'script'", false],
    ["default-src 'self'; require-trusted-types-for 'script'", true],
  ]) {
    test(`with the CSP ${policy}, ${isForbidden ? "the translation runs" : "wasm runs"}, and a double click sends one request`, async () => {
      const slow = gated(paid);
      const path = site.route(slow);
      const shop = await shown({ guard: {}, body: FORM(path), nonce, headers: { "Content-Security-Policy": policy } });
      await shop.click("#bank", 2);
      await slow.reached;
      await shop.click("#card", 2);
      slow.open();
      assert.equal((await shop.end()).status, 201);
      assert.deepEqual(site.at(path).map(({ body }) => String(body)), ["amount=2990&how=bank"]);
      assert.equal((await shop.events("wasm-fallback")).length, isForbidden ? 1 : 0);
      assert.equal((await shop.send("order:2", site.route(), body)).status, 201);
      assert.deepEqual(shop.errors, []);
    });
  }

  describe("code that must be loaded first", () => {
    /** The first request for such a file fails. The route stays, because a request that arrives while Playwright removes a route can be lost. */
    const failOnce = async (file, until = () => {}) => {
      let hasFailed = false;
      await context.route(file, async (route) => {
        if (hasFailed) return route.continue();
        hasFailed = true;
        await until();
        await route.abort();
      });
    };
    const csp = { "Content-Security-Policy": "script-src 'self'" };
    const cases = [
      ["wasm", "**/oncekey.wasm", { from: "slim", first: "window.wasm = '/oncekey/oncekey.wasm'" }],
      ["the translation", "**/translated.js", { headers: csp }],
      ["the wasm's text", "**/wasm-*.js*", {}],
      ["the rest of the package", "**/lazy-*.js*", {}],
    ];
    for (const [what, file, page] of cases) {
      test(`fault 48: a double click before ${what} is loaded sends one request, with the clicked button's value`, async () => {
        const coming = gated();
        await context.route(file, async (route) => {
          await coming();
          await route.continue();
        });
        const path = site.route();
        const shop = await shown({ ...page, guard: {}, body: FORM(path) }, { ready: false });
        await shop.page.waitForFunction(() => window.shop?.isWaiting);
        await coming.reached;
        await shop.click("#bank", 2);
        assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), true);
        assert.equal((await shop.events("blocked")).length, 1);
        coming.open();
        assert.equal((await shop.end()).status, 201);
        await shop.click("#card", 2);
        assert.deepEqual(site.at(path).map(({ body }) => String(body)), ["amount=2990&how=bank"]);
      });

      test(`fault 75: after ${what} has failed to load once, the next call loads it`, async () => {
        await failOnce(file);
        const shop = await shown(page);
        assert.equal(await shop.page.evaluate(() => window.shop.hasFailed), true);
        assert.equal((await shop.send("order:1", site.route(), body)).status, 201);
      });

      test(`fault 75: a form that is submitted while ${what} fails to load reports this, and is sent at the next submit`, async () => {
        const coming = gated();
        await failOnce(file, coming);
        const path = site.route();
        const shop = await shown({ ...page, guard: {}, body: FORM(path) }, { ready: false });
        await coming.reached;
        await shop.click("#card", 2);
        coming.open();
        assert.equal((await shop.end()).error, "TypeError");
        assert.deepEqual([site.hits(path), await shop.page.evaluate(() => window.shop.guard.locked)], [0, false]);
        await shop.click("#bank", 2);
        assert.equal((await shop.end(2)).status, 201);
        assert.deepEqual(site.at(path).map(({ body }) => String(body)), ["amount=2990&how=bank"]);
        assert.equal(site.keys(path).length, 1);
      });
    }
  });
});
