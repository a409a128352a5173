// When a page loads each part of the package: the guard of its forms at once, everything else when the page is idle or
// needs it.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, gated, open, startBrowser } from "./support.mjs";

const FORM = (target) => `<form method="post" action="${target}" data-oncekey="order:1"><input id="amount" name="amount" value="2990">
<button id="pay" name="how" value="pay">Pay</button></form>`;
/** The chunk with the calls of clients. */
const REST = /\/lazy-[^/]*\.js/;

describe("a page", () => {
  let browser, site, context;
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
  });
  after(async () => {
    await browser.close();
    await site.close();
  });

  test("loads the core by itself when it is idle", async () => {
    const loaded = context.waitForEvent("requestfinished", (request) => REST.test(request.url()));
    await open(context, site.url + site.page({ client: null, from: "auto", body: FORM("/nowhere") }));
    await loaded;
  });

  test("loads the core when the form gets the focus, if the page was not idle before", async () => {
    const shop = await open(context, site.url + site.page({ client: null, from: "auto", body: FORM("/nowhere"), first: "window.requestIdleCallback = () => {}" }));
    await shop.page.waitForTimeout(500);
    const requested = shop.page.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name));
    assert.deepEqual((await requested).filter((url) => REST.test(url)), []);
    const loaded = context.waitForEvent("requestfinished", (request) => REST.test(request.url()));
    await shop.page.focus("#amount");
    await loaded;
  });

  for (const send of ["fetch", "navigate"]) {
    test(`guards a form before the core is loaded, and sends it once as soon as the core is loaded (${send})`, async () => {
      const coming = gated();
      await context.route(REST, async (route) => {
        await coming();
        await route.continue();
      });
      const path = site.route();
      const shop = await open(context, site.url + site.page({ guard: { send }, body: FORM(path) }), { ready: false });
      await shop.page.waitForFunction(() => window.shop?.isWaiting);
      await shop.click("#pay", 2);
      await shop.page.focus("#amount");
      await shop.hold("Enter");
      const { busy, buttons } = await shop.look();
      assert.deepEqual([busy, buttons], ["true", ["Pay,true,on"]]);
      assert.equal(site.hits(path), 0);
      coming.open();
      if (send === "fetch") assert.equal((await shop.end()).status, 201);
      else await shop.page.waitForURL(site.url + path);
      assert.equal(site.hits(path), 1);
      const [{ body, headers }] = site.at(path);
      assert.match(String(body), send === "fetch" ? /^amount=2990&how=pay$/ : /^amount=2990&how=pay&idempotency_key=[0-9a-f-]{36}$/);
      if (send === "fetch") assert.match(headers["idempotency-key"], /^[0-9a-f-]{36}$/);
    });
  }

  test("cancels and releases a form that waits for the core, and then nothing is sent", async () => {
    for (const how of ["cancel", "release", "done", "detach"]) {
      const coming = gated();
      const route = async (route) => {
        await coming();
        await route.continue();
      };
      await context.route(REST, route);
      const path = site.route();
      const shop = await open(context, site.url + site.page({ guard: {}, body: FORM(path) }), { ready: false });
      await shop.page.waitForFunction(() => window.shop?.isWaiting);
      await shop.click("#pay");
      await shop.page.waitForFunction(() => window.shop.guard.locked);
      const returned = await shop.page.evaluate((how) => window.shop.guard[how](), how);
      assert.equal(returned, how === "cancel" ? true : undefined);
      coming.open();
      await shop.ready();
      assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), how === "done");
      await shop.page.waitForTimeout(100);
      assert.equal(site.hits(path), 0, how);
      await context.unroute(REST, route);
    }
  });

  test("gets a clear error from pending, status and forget before the core is loaded, and sends bodies as they were at the call", async () => {
    const path = site.route();
    const shop = await open(context, site.url + site.page({ client: null }));
    const [errors, pending] = await shop.page.evaluate(async (path) => {
      const client = window.shop.oncekey.createClient();
      const thrown = (call) => {
        try {
          call();
        } catch ({ message }) {
          return message;
        }
      };
      const intent = client.intent("order:1");
      const errors = [() => client.pending(), () => intent.status(), () => intent.forget()].map(thrown);
      const body = new URLSearchParams({ amount: "1" });
      const data = new FormData();
      data.append("amount", "1");
      const bytes = new Uint8Array([49]);
      const sent = [body, data, bytes].map((body, at) => client.fetch(`order:${at}`, path, { body }));
      body.set("amount", "2");
      data.set("amount", "2");
      bytes[0] = 50;
      await Promise.all(sent);
      return [errors, client.pending()];
    }, path);
    for (const message of errors) assert.match(message, /Await client\.ready first/);
    assert.deepEqual(pending, []);
    const bodies = site.at(path).map(({ body }) => String(body)).sort();
    assert.equal(bodies.length, 3);
    assert.ok(bodies.every((body) => /^(amount=)?1$|\r\n\r\n1\r\n--/.test(body)), bodies.join("; "));
  });

  test("may abort a call that waits for the core", async () => {
    const coming = gated();
    await context.route(REST, async (route) => {
      await coming();
      await route.continue();
    });
    const path = site.route();
    const shop = await open(context, site.url + site.page(), { ready: false });
    await shop.page.waitForFunction(() => window.shop?.isWaiting);
    const call = await shop.start("order:1", path, { json: {} });
    const { error, outcome } = await call.abort();
    assert.deepEqual([error, outcome], ["AbortError", "unknown"]);
    coming.open();
    await shop.ready();
    assert.equal(site.hits(path), 0);
  });
});
