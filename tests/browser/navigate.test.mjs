// Guarded forms that the browser posts itself, with the key in a field.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Site, error, eventually, gated, json, open, startBrowser, startWorker } from "./support.mjs";

const thanks = () => ({ status: 201, headers: { "Content-Type": "text/html" }, body: `<p>Thanks, ${randomUUID()}</p>` });
const FORM = (target) => `<form method="post" action="${target}">
<input id="amount" name="amount" value="2990">
<button id="card" name="how" value="card" data-oncekey-busy="One moment">Pay by card</button>
<button id="bank" name="how" value="bank">Pay by transfer</button></form>`;

const fields = ({ body }) => Object.fromEntries(new URLSearchParams(String(body)));

describe("a form that the browser posts", () => {
  let browser, site, gateway, context;
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
    const vars = { KEY_FIELD: "idempotency_key", ANONYMOUS: "allow" };
    gateway = await startWorker({ upstream: site.url, vars });
  });
  after(async () => {
    await browser.close();
    await gateway.dispose();
    await site.close();
  });

  /** Opens a page with a form, directly or through the gateway. */
  async function shown(handler, { from = site.url, guard = {}, client, ...page } = {}) {
    const path = site.route(handler);
    await context?.close();
    context = await browser.newContext();
    const shop = await open(context, from + site.page({ body: FORM(path), guard: { send: "navigate", ...guard }, client, ...page }));
    return { shop, path, arrived: () => shop.page.waitForURL(`**${path}`) };
  }
  /** Goes back to the page in the cache. */
  async function back(shop) {
    await shop.page.goBack({ waitUntil: "commit" });
    await shop.page.waitForFunction(() => window.returned);
  }
  const first = `addEventListener("pageshow", (event) => (window.returned = event.persisted));`;

  const ways = {
    "a double click": (shop) => shop.click("#card", 2),
    "a held Enter": (shop) => shop.hold("Enter"),
    "clicks on two buttons": async (shop) => {
      await shop.click("#card");
      await shop.click("#bank", 2);
    },
  };
  for (const [what, act] of Object.entries(ways)) {
    for (const disable of ["aria", "native"]) {
      test(`${what} sends one request, with its key in the body (${disable})`, async () => {
        const slow = gated(thanks);
        const { shop, path, arrived } = await shown(slow, { guard: { disable } });
        await shop.page.focus("#card");
        await act(shop);
        await slow.reached;
        await act(shop);
        slow.open();
        await arrived();
        assert.equal(site.hits(path), 1);
        const [sent] = site.at(path);
        const { idempotency_key: key, ...rest } = fields(sent);
        assert.match(key, /^[0-9a-f-]{36}$/);
        assert.deepEqual(rest, { amount: "2990", how: "card" });
        assert.equal(sent.target, path);
        assert.ok(!shop.page.url().includes(key));
      });
    }
  }

  for (const disable of ["aria", "native"]) {
    test(`fault 41: after Back, the form is in its earlier state and sends the same key (${disable})`, async () => {
      const { shop, path, arrived } = await shown(thanks, { guard: { disable }, first });
      const before = await shop.look();
      await shop.page.focus("#card");
      await shop.click("#card");
      await arrived();
      await back(shop);
      // Chromium removes the focus of a page in its cache.
      assert.deepEqual(await shop.look(), { ...before, focus: "card" });
      assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), false);
      const busy = await shop.page.evaluate(() => window.shop.looks.find(({ buttons: [first] }) => first.startsWith("One moment")));
      assert.deepEqual([busy.busy, busy.buttons.map((look) => look.split(",").slice(1).join())], [
        "true",
        Array(2).fill(disable === "aria" ? "true,on" : "-,off"),
      ]);
      await shop.click("#card", 2);
      await arrived();
      const [one, two] = site.at(path).map(fields);
      assert.deepEqual(two, one);
      assert.equal(site.hits(path), 2);
    });
  }

  test("a form with a file is sent completely, with its key", async () => {
    const { shop, path, arrived } = await shown(thanks, { first });
    await shop.page.evaluate(() => {
      const form = document.querySelector("form");
      form.enctype = "multipart/form-data";
      form.insertAdjacentHTML("beforeend", '<input id="file" name="file" type="file">');
    });
    await shop.page.setInputFiles("#file", { name: "a.txt", mimeType: "text/plain", buffer: Buffer.from("one") });
    await shop.click("#card", 2);
    await arrived();
    const text = String(site.at(path)[0].body);
    assert.match(text, /name="idempotency_key"\r\n\r\n[0-9a-f-]{36}\r\n/);
    assert.match(text, /filename="a.txt"[^]*\r\n\r\none\r\n/);
    assert.equal(site.hits(path), 1);
  });

  test("the key is sent in the field that the page names", async () => {
    const { shop, path, arrived } = await shown(thanks, { guard: { keyField: "once" } });
    await shop.click("#card");
    await arrived();
    assert.match(fields(site.at(path)[0]).once, /^[0-9a-f-]{36}$/);
  });

  describe("when it was sent before", () => {
    /** Opens a page whose intent has the entry of an earlier post, with these fields changed. */
    async function left(changes, { amount = "2990", client, aged = 0 } = {}) {
      const { shop, path, arrived } = await shown(thanks, { first, client });
      await shop.click("#card");
      await arrived();
      await back(shop);
      await shop.page.fill("#amount", amount);
      const name = "oncekey:i:order:1";
      const fields = (await shop.page.evaluate((name) => localStorage[name], name)).split(" ").slice(0, -1);
      for (const [place, value] of Object.entries(changes)) fields[place] = value;
      for (const time of [6, 7, 8]) fields[time] -= aged;
      const text = fields.join(" ");
      const sum = createHash("sha256").update(text).digest("hex").slice(0, 8);
      await shop.page.evaluate(([name, text]) => localStorage.setItem(name, text), [name, `${text} ${sum}`]);
      await shop.click("#card", 2);
      return { end: await shop.end(), look: await shop.look(), hits: site.hits(path) };
    }
    const DAYS = 48 * 3_600_000;
    const unknown = "We don't know yet whether this went through. You can try again: nothing will be done twice.";

    test("a success whose response has expired is reported as done, and not as a changed payload", async () => {
      const { end, look, hits } = await left({ 3: "+201" }, { aged: DAYS });
      assert.deepEqual([end.error, end.httpStatus, look.statusText, look.busy, hits], ["ResponseGoneError", 201, "Done.", null, 1]);
    });

    test("an unknown outcome that is too old is not reported as a changed payload", async () => {
      const { end, look, hits } = await left({}, { aged: DAYS });
      assert.deepEqual([end.error, end.reason, look.statusText, look.busy, hits], ["OutcomeUnknownError", "too_old", unknown, null, 1]);
    });

    test("a changed payload is not sent without key calls", async () => {
      const { end, look, hits } = await left({}, { amount: "1" });
      assert.deepEqual([end.error, end.outcome, look.busy, hits], ["PayloadChangedError", "unknown", null, 1]);
    });

    test("key calls that fail are made once for each submit", async () => {
      const keyUrl = site.route(() => error(500, "api_error"));
      const { end, hits } = await left({ 3: "p" }, { amount: "1", client: { keyUrl } });
      assert.deepEqual([end.error, end.outcome, hits, site.hits(keyUrl)], ["PayloadChangedError", "unknown", 1, 1]);
    });

    test("a request that resolves as succeeded is reported as done", async () => {
      const keyUrl = site.route(() => json(200, { state: "completed", http_status: 201 }));
      const { end, look } = await left({}, { aged: DAYS, client: { keyUrl } });
      assert.deepEqual([end.error, look.statusText], ["ResponseGoneError", "Done."]);
    });
  });

  describe("through the gateway", () => {
    const through = (handler, more = {}) =>
      shown(handler, { from: gateway.url, client: { keyUrl: "/_oncekey/key" }, first, ...more });
    const textOf = (shop) => shop.page.evaluate(() => document.body.textContent);

    test("a double click is executed once, and the origin gets the key in a header", async () => {
      const slow = gated(thanks);
      const { shop, path, arrived } = await through(slow);
      await shop.click("#card", 2);
      await slow.reached;
      await shop.click("#card", 2);
      slow.open();
      await arrived();
      assert.equal(site.hits(path), 1);
      const [sent] = site.at(path);
      assert.deepEqual(fields(sent), { amount: "2990", how: "card" });
      assert.match(sent.headers["idempotency-key"], /^[0-9a-f-]{36}$/);
    });

    test("faults 41, 70: a submit after Back, and a reload of the response, get the first response again", async () => {
      const { shop, path, arrived } = await through(thanks);
      await shop.click("#card");
      await arrived();
      const response = await textOf(shop);
      await back(shop);
      await shop.click("#card", 2);
      await arrived();
      assert.equal(await textOf(shop), response);
      // The browser posts the form again.
      await shop.page.reload();
      assert.equal(await textOf(shop), response);
      assert.equal(site.hits(path), 1);
    });

    test("fault 55: an amount that is changed after Back is not sent, with the old key or another", async () => {
      const { shop, path, arrived } = await through(thanks);
      await shop.click("#card");
      await arrived();
      await back(shop);
      await shop.page.fill("#amount", "1");
      await shop.click("#card", 2);
      const end = await shop.end();
      assert.deepEqual([end.error, end.outcome, end.httpStatus], ["PayloadChangedError", "succeeded", 201]);
      assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), false);
      assert.equal(site.hits(path), 1);
    });

    test("fault 55: an amount that is changed after a refusal is sent with a new key, and the clicked button's value", async () => {
      const declined = () => ({ ...thanks(), status: 402 });
      const { shop, path, arrived } = await through(declined);
      await shop.click("#card");
      await arrived();
      await back(shop);
      await shop.page.fill("#amount", "1");
      await shop.click("#bank", 2);
      await eventually(() => assert.equal(site.hits(path), 2));
      await arrived();
      const [one, two] = site.at(path);
      assert.deepEqual(fields(two), { amount: "1", how: "bank" });
      assert.notEqual(one.headers["idempotency-key"], two.headers["idempotency-key"]);
      assert.equal(site.hits(path), 2);
    });
  });
});
