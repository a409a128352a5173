// Mistakes in a page's own code, and unusual pages: no call hangs, and no second key is made.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, error, inTurn, json, open, paid, reset, startBrowser } from "./support.mjs";

describe("a page's own code", () => {
  let browser, site, context, shop;
  const client = { retry: { limit: 1, delays: [20], attemptTimeout: 300, totalTime: 1200 } };
  const body = { json: { amount: 2990 } };
  /** A response of a server that has the key calls. */
  const proven = () => json(201, {}, { "Idempotency-State": "completed" });
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
    shop = await open(context, site.url + site.page({ client }));
  });
  after(async () => {
    await browser.close();
    await site.close();
  });

  /**
   * Runs a script with `create` (a client with further settings), `init` (a request), `end` (the result of a
   * promise, "hangs" after three minutes), and the values of `more`.
   */
  const run = (script, more = {}) =>
    shop.page.evaluate(
      ([script, client, more]) => {
        const described = ({ name, message, reason, unknownReason, outcome, hint, key, attempts }) => ({
          ...{ error: name, message, reason, unknownReason, outcome, hint, key, attempts },
        });
        const end = (promise) =>
          Promise.race([
            promise.then((value) => (value instanceof Response ? value.status : value), described),
            new Promise((resolve) => setTimeout(resolve, 180_000, "hangs")),
          ]);
        const { oncekey } = window.shop;
        const create = (settings) => oncekey.createClient({ ...client, ...settings });
        const init = { method: "POST", headers: { "content-type": "application/json" }, body: '{"amount":2990}' };
        const names = ["oncekey", "create", "init", "end", ...Object.keys(more)];
        return new Function(...names, `return (async () => { ${script} })()`)(oncekey, create, init, end, ...Object.values(more));
      },
      [script, client, more],
    );
  const state = async () => (await shop.call("status", "order:1")).state;

  describe("looks up the outcome of an intent", () => {
    const looked = (found, path) =>
      run(`const intent = create().intent("order:1");
        await end(intent.fetch(path, init));
        return [await end(intent.resolve({ lookup: () => found })), intent.status().state]`, { found, path });

    for (const found of [{ state: "pending" }, { state: "unknown" }, {}, { state: "succeeded", httpStatus: 404 }, { state: "refused", httpStatus: 200 }]) {
      test(`${JSON.stringify(found)} is not a valid result: it causes an error, and the key stays`, async () => {
        const path = site.route(inTurn(500, 500, paid));
        const [end, known] = await looked(found, path);
        assert.deepEqual([end.error, known], ["RangeError", "unknown"]);
        assert.equal((await shop.send("order:1", path, body)).status, 201);
        assert.equal(site.keys(path).length, 1);
      });
    }

    for (const [found, known] of [
      [{ state: "succeeded" }, "succeeded"],
      [{ state: "refused", httpStatus: 402 }, "refused"],
      [null, "unknown"],
    ]) {
      test(`${JSON.stringify(found)} means ${known}`, async () => {
        assert.deepEqual((await looked(found, site.route(reset)))[1], known);
      });
    }

    test("resolve waits while a request is in progress, because the result of a look-up could be out of date", async () => {
      const path = site.route(paid);
      const seen = await run(`const intent = create().intent("order:1");
        let called = "not yet";
        let respond;
        const held = create({ fetch: (...all) => new Promise((go) => (respond = () => go(fetch(...all)))) });
        const sent = held.fetch("order:1", path, init);
        while (!respond) await new Promise((resolve) => setTimeout(resolve, 5));
        const looked = intent.resolve({ lookup: () => ((called = "called"), { state: "refused" }) });
        await new Promise((resolve) => setTimeout(resolve, 50));
        const before = called;
        respond();
        return [before, (await sent).status, (await looked).state, called]`, { path });
      assert.deepEqual(seen, ["not yet", 201, "succeeded", "not yet"]);
    });

    test("a result of a look-up for one key is not reported for the next key", async () => {
      const refuse = () => error(402, "card_error", { "Idempotency-State": "completed" });
      const path = site.route(inTurn(500, 500, refuse, reset, reset, paid));
      const known = await run(`const intent = create().intent("order:1");
        await end(intent.fetch(path, init));
        let found, looked;
        await new Promise((asked) => {
          looked = intent.resolve({ lookup: () => new Promise((resolve) => asked((found = resolve))) });
        });
        await end(intent.fetch(path, init));
        await end(intent.fetch(path, init));
        found({ state: "refused" });
        return (await looked).state`, { path });
      assert.equal(known, "unknown");
      assert.equal((await shop.send("order:1", path, body)).status, 201);
      assert.equal(site.keys(path).length, 2);
    });
  });

  test("the state of the key under another credential does not settle this key", async () => {
    const key = site.route(() => json(200, { state: "completed", http_status: 402 }));
    const path = site.route(inTurn(500, 500, proven));
    const ended = (own, headers) =>
      run(`const like = (value, amount) => ({ ...init, headers: { ...init.headers, ...value }, body: JSON.stringify({ amount }) });
        if (localStorage.length === 0) await end(create({ keyUrl: key }).fetch("order:1", path, like({ "X-Api-Key": "one" }, 1)));
        // In another page, the first body is not in memory.
        return end(create({ keyUrl: key, headers: () => (headers) }).fetch("order:1", path, like(own, 2)))`, { key, path, own, headers });
    for (const wrong of [{ "X-Api-Key": "two" }, {}]) {
      const { error, outcome, hint } = await ended(wrong, wrong);
      assert.deepEqual([error, outcome], ["PayloadChangedError", "unknown"]);
      assert.match(hint, /"x-api-key"/);
    }
    assert.equal(site.hits(key), 0);
    assert.equal(await ended({ "X-Api-Key": "one" }, {}), 201);
    assert.deepEqual(site.at(key).map(({ headers }) => headers["x-api-key"]), ["one"]);
  });

  describe("never ends", () => {
    const unknown = ({ error, reason, unknownReason }) => assert.deepEqual([error, reason, unknownReason], ["OutcomeUnknownError", "retries_used_up", "timed_out"]);

    test("in validate: the attempt and the call end at their time limits", async () => {
      unknown(await run(`return end(create().intent("order:1", { validate: () => new Promise(() => {}) }).fetch(path, init))`, { path: site.route() }));
    });

    test("in its own fetch that ignores the signal: the attempt ends at its time limit", async () => {
      unknown(await run(`return end(create({ fetch: () => new Promise(() => {}) }).fetch("order:1", "/", init))`));
    });

    test("in headers: the signal ends a key call", async () => {
      const end = await run(`const headers = { ...init.headers, "X-Api-Key": "one" };
        await end(create({ keyUrl: "/key" }).fetch("order:1", path, { ...init, headers }));
        // Another page has no request in memory, so it calls headers().
        const intent = create({ keyUrl: "/key", headers: () => new Promise(() => {}) }).intent("order:1");
        return end(intent.resolve({ signal: AbortSignal.timeout(100) }))`, { path: site.route(reset) });
      assert.deepEqual([end.error, end.outcome], ["AbortError", "unknown"]);
    });

    test("in a look-up: the signal ends the call", async () => {
      const end = await run(`const intent = create().intent("order:1");
        await end(intent.fetch(path, init));
        return end(intent.resolve({ signal: AbortSignal.timeout(100), lookup: () => new Promise(() => {}) }))`, { path: site.route(reset) });
      assert.deepEqual([end.error, end.outcome], ["AbortError", "unknown"]);
    });

    test("in the body's stream: the signal ends the call before anything was sent", async () => {
      const end = await run(`return end(create().fetch("order:1", "/", { body: new ReadableStream({}), signal: AbortSignal.timeout(100) }))`);
      assert.deepEqual([end.error, end.outcome], ["AbortError", "not_sent"]);
    });

    test("in another tab that holds the lock: the wait ends at the total time", async () => {
      await shop.page.evaluate(() => {
        navigator.locks.request("oncekey:oncekey:order:1", () => new Promise(() => {}));
      });
      const end = await shop.send("order:1", site.route(), body);
      assert.deepEqual([end.error, end.reason], ["OutcomeUnknownError", "time_used_up"]);
      assert.deepEqual((await shop.events()).map(({ type }) => type), ["inprogress", "unknown"]);
    });
  });

  test("a signal that is already aborted stops key calls, too", async () => {
    const path = site.route(reset);
    const key = site.route();
    await run(`const intent = create({ keyUrl: key }).intent("order:1");
      await end(intent.fetch(path, init));
      for (const call of ["resolve", "abandon"]) await end(intent[call]({ signal: AbortSignal.abort() }))`, { path, key });
    assert.deepEqual([site.hits(key), site.hits(`${key}/void`), await state()], [0, 0, "unknown"]);
  });

  test("a caller that aborts while the body of a success is read gets an error which says that the request succeeded", async () => {
    const path = site.route(inTurn(paid, (_, response) => void setTimeout(() => response.end(), 1000)));
    await shop.send("order:1", path, body);
    const again = await shop.start("order:1", path, body);
    await shop.waitForEvent("attempt", 2);
    const end = await again.abort();
    assert.deepEqual([end.error, end.outcome, await state()], ["AbortError", "succeeded", "succeeded"]);
  });

  test("a refusal after a redirect does not count as the response of the key", async () => {
    const order = site.route(inTurn(() => error(404, "not_found"), () => json(200, {}, { "Idempotency-State": "completed" })));
    const path = site.route(() => ({ status: 303, headers: { Location: order } }));
    assert.equal((await shop.send("order:1", path, body)).status, 200);
    assert.deepEqual([site.hits(path), site.keys(path).length, await state()], [2, 1, "succeeded"]);
  });

  test("after storage is cleared during a call, the error contains the key and says not to call again", async () => {
    const path = site.route(500);
    const end = await run(`const client = create();
      client.addEventListener("retry", () => localStorage.clear());
      return end(client.fetch("order:1", path, init))`, { path });
    assert.deepEqual([end.reason, end.key, end.attempts], ["overtaken", site.keys(path)[0], 1]);
    assert.match(end.message, /before you call again/);
  });

  test("each call right after a refusal has a new key", async () => {
    const path = site.route(() => error(402, "card_error"));
    const took = await run(`const client = create(), begun = performance.now();
      for (let time = 0; time < 8; time++) await client.fetch("order:1", path, init);
      return performance.now() - begun`, { path });
    assert.deepEqual([site.hits(path), site.keys(path).length], [8, 8]);
    assert.ok(took < 700, `${took} ms`);
  });

  test("the error names an unexpected media type", async () => {
    const path = site.route(() => ({ status: 200, headers: { "Content-Type": "text/html" }, body: "<p>Thanks</p>" }));
    assert.match((await shop.send("order:1", path, body)).hint, /text\/html.*expects/);
  });

  test("a Request as the URL is refused", async () => {
    const end = await run(`return end(create().fetch("order:1", new Request("/", { method: "POST" })))`);
    assert.equal(end.error, "TypeError");
  });

  test("relative URLs are resolved as in fetch", async () => {
    const path = site.route();
    const [dir, name] = [path.slice(0, 3), path.slice(3)];
    await shop.page.evaluate((dir) => {
      const base = document.createElement("base");
      base.href = dir;
      document.head.append(base);
    }, dir);
    assert.equal((await shop.send("order:1", name, body)).status, 201);
  });

  test("relative URLs in a srcdoc frame use the base of its page", async () => {
    const status = await shop.page.evaluate(async (path) => {
      const frame = document.createElement("iframe");
      frame.srcdoc = "<p>Pay";
      const loaded = new Promise((resolve) => (frame.onload = resolve));
      document.body.append(frame);
      await loaded;
      const { createClient } = await frame.contentWindow.eval(`import("${location.origin}/oncekey/index.js")`);
      const client = createClient({ keyUrl: "/key" });
      return (await client.fetch("order:1", path, { body: "{}" })).status;
    }, site.route(proven));
    assert.equal(status, 201);
  });

  describe("the client's own signals decide why an attempt ended, whatever the error says", () => {
    /** Errors of engines and of wrappers of `fetch`. */
    const errors = {
      Chromium: 'new TypeError("Failed to fetch")',
      Firefox: 'new TypeError("NetworkError when attempting to fetch resource.")',
      Safari: 'new TypeError("Load failed")',
      "another language": 'new TypeError("網路連線中斷")',
      "a time-out of another signal": 'new DOMException("signal timed out", "TimeoutError")',
      "an abort of another signal": 'new DOMException("The user aborted a request.", "AbortError")',
      "a text": '"timeout"',
      nothing: "undefined",
    };
    for (const [what, error] of Object.entries(errors)) {
      test(`fault 65: ${what} counts as a lost connection, and the key is sent again`, async () => {
        const path = site.route();
        const [status, end] = await run(
          `let lost = 2;
          const flaky = create({ retry: { ...client.retry, limit: 2 }, fetch: (...all) => lost-- > 0 ? Promise.reject(${error}) : fetch(...all) });
          const dead = create({ fetch: () => Promise.reject(${error}) });
          return [await end(flaky.fetch("order:1", path, init)), await end(dead.fetch("order:2", path, init))]`,
          { path, client },
        );
        assert.deepEqual([status, end.error, end.reason, end.unknownReason], [201, "OutcomeUnknownError", "retries_used_up", "network"]);
        assert.equal(site.hits(path), 1);
      });

      test(`fault 65: ${what} after a time-out or an abort by the caller counts as that time-out or abort`, async () => {
        const [late, left] = await run(
          `const heeds = (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(${error})));
          const client = create({ fetch: heeds });
          const controller = new AbortController();
          client.addEventListener("attempt", ({ detail }) => detail.intent === "order:2" && setTimeout(() => controller.abort(), 20));
          return [await end(client.fetch("order:1", "/", init)), await end(client.fetch("order:2", "/", { ...init, signal: controller.signal }))]`,
        );
        assert.deepEqual([late.error, late.unknownReason], ["OutcomeUnknownError", "timed_out"]);
        assert.deepEqual([left.error, left.outcome], ["AbortError", "unknown"]);
      });
    }
  });

  describe("guards a form", () => {
    const FORM = (path) => `<form method="post" action="${path}"><textarea name="note"></textarea><button id="pay">Pay</button></form>`;
    const guarded = async (path, guard = {}) => {
      shop = await open(context, site.url + site.page({ client, body: FORM(path), guard }));
    };
    const statusText = async () => (await shop.look()).statusText;

    for (const send of ["fetch", "navigate"]) {
      test(`an intent without a name is an error, and nothing is sent (${send})`, async () => {
        const path = site.route();
        await guarded(path, null);
        await shop.page.evaluate((send) => (window.shop.guard = window.shop.guardForm({ send, intent: () => "" })), send);
        await shop.click("#pay");
        assert.equal((await shop.end()).error, "TypeError");
        assert.deepEqual([site.hits(path), await statusText()], [0, "This could not be sent, and nothing was done. You can try again."]);
        assert.equal((await shop.look()).busy, null);
      });
    }

    test("oncekey:blocked contains the intent's name, like the other events", async () => {
      await guarded(site.route((_, response) => void setTimeout(() => response.destroy(), 500)));
      await shop.page.evaluate(() => {
        window.blocked = [];
        document.addEventListener("oncekey:blocked", ({ detail }) => window.blocked.push(detail));
      });
      await shop.click("#pay", 2);
      assert.deepEqual(await shop.page.evaluate(() => window.blocked), [{ intent: "order:1" }]);
      assert.deepEqual(await shop.events("blocked"), [{ type: "blocked", intent: "order:1" }]);
    });

    test("line breaks in fields are sent as a browser sends them", async () => {
      const path = site.route();
      await guarded(path);
      await shop.page.evaluate(() => (document.querySelector("textarea").value = "a\nb"));
      await shop.click("#pay");
      assert.equal((await shop.end()).status, 201);
      assert.equal(String(site.at(path)[0].body), "note=a%0D%0Ab");
    });

    test("a form whose server responds with pages declares that in its markup", async () => {
      const path = site.route(() => ({ status: 200, headers: { "Content-Type": "text/html" }, body: "<p>Thanks</p>" }));
      const next = site.route(() => ({ headers: { "Content-Type": "text/html" }, body: "<p>Done</p>" }));
      const form = FORM(path).replace("<form", `<form data-oncekey="order:1" data-oncekey-expects="text/html" data-oncekey-next="${next}"`);
      shop = await open(context, site.url + site.page({ client, body: form, from: "auto" }), { ready: false });
      await shop.page.waitForSelector("output", { state: "attached" });
      await shop.click("#pay");
      await shop.page.waitForURL(`**${next}`);
      assert.equal(site.hits(path), 1);
    });
  });
});
