// Guarded forms in unusual pages, browsers and servers: pages that stay, fields with any name, other
// charsets, keys that a server has minted, copies of a page.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, error, eventually, gated, inTurn, json, open, paid, reset, startBrowser } from "./support.mjs";

describe("a guarded form", () => {
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

  const FORM = (target, { attributes = "", more = "" } = {}) => `<form method="post" action="${target}" ${attributes}>
    <input id="amount" name="amount" value="2990">${more}<button id="pay" name="how" value="card">Pay</button></form>`;
  async function shown(handler, { guard = {}, form, retry = { limit: 1, delays: [20] }, client = {}, ...page } = {}) {
    const path = site.route(handler);
    const shop = await open(context, site.url + site.page({ body: FORM(path, form), guard, client: { retry, ...client }, ...page }), page);
    return { shop, path };
  }
  const isLocked = (shop) => shop.page.evaluate(() => window.shop.guard.locked);
  const free = (shop) => shop.page.waitForFunction(() => !window.shop.guard.locked);
  const state = async (shop) => (await shop.call("status", "order:1")).state;
  const fields = ({ body }) => Object.fromEntries(new URLSearchParams(String(body)));

  describe("that the browser posts is unlocked if the page stays, and the next submit has the same key, after", () => {
    const navigate = { guard: { send: "navigate" } };
    const download = () => ({ headers: { "Content-Disposition": 'attachment; filename="a.txt"' }, body: "receipt" });
    /** Submits again, and checks that the key is the first one. */
    async function again(shop, path) {
      await free(shop);
      assert.equal((await shop.look()).busy, null);
      assert.equal(await state(shop), "unknown");
      await shop.click("#pay", 2);
      await eventually(() => assert.equal(site.hits(path), 2));
      assert.equal(new Set(site.at(path).map((request) => fields(request).idempotency_key)).size, 1);
    }
    for (const [what, handler] of [["a 204", () => ({ status: 204 })], ["a download", download]]) {
      test(what, async () => {
        const { shop, path } = await shown(handler, navigate);
        await shop.click("#pay", 2);
        await again(shop, path);
      });
    }

    for (const target of ["_blank", "frame"]) {
      test(`a response in another window (${target})`, async () => {
        const { shop, path } = await shown(() => ({ headers: { "Content-Type": "text/html" }, body: "<p>Thanks" }), {
          ...navigate,
          form: { attributes: `target="${target}"` },
          first: `addEventListener("DOMContentLoaded", () => document.body.insertAdjacentHTML("beforeend", '<iframe name="frame"></iframe>'))`,
        });
        await shop.click("#pay", 2);
        await eventually(() => assert.equal(site.hits(path), 1));
        await again(shop, path);
      });
    }

    test("Stop", async () => {
      const slow = gated(paid);
      const { shop, path } = await shown(inTurn(slow, paid), navigate);
      // A page cannot be queried while the browser leaves it.
      const devtools = await context.newCDPSession(shop.page);
      await shop.click("#pay");
      await slow.reached;
      await devtools.send("Page.stopLoading");
      await again(shop, path);
      slow.open();
    });

    test("“stay” in the dialog: nothing was sent, and the form may be changed", async () => {
      const { shop, path } = await shown(paid, {
        ...navigate,
        first: `addEventListener("beforeunload", (event) => window.leaves || event.preventDefault());`,
      });
      const dialog = shop.page.waitForEvent("dialog");
      await shop.page.mouse.move(1, 1);
      const clicked = shop.click("#pay");
      await (await dialog).dismiss();
      await clicked;
      await free(shop);
      assert.deepEqual([await state(shop), site.hits(path)], ["prepared", 0]);
      assert.match((await shop.look()).statusText, /nothing was done/);
      await shop.page.evaluate(() => (window.leaves = true));
      await shop.page.fill("#amount", "1");
      await shop.click("#pay");
      await eventually(() => assert.equal(site.hits(path), 1));
      assert.equal(fields(site.at(path)[0]).amount, "1");
    });
  });

  test("a Location that is not a page is not followed", async () => {
    for (const target of ["javascript:window.taken=1", "data:text/html,taken", "blob:taken", "about:blank#taken"]) {
      const path = site.route(() => json(201, {}, { Location: target }));
      const body = FORM(path, { attributes: 'data-oncekey="order:1"' });
      const shop = await open(context, site.url + site.page({ client: null, from: "auto", body }));
      const before = shop.page.url();
      const refused = shop.page.waitForEvent("pageerror");
      await shop.click("#pay");
      assert.match(String(await refused), /Use an http: or https: address/);
      assert.deepEqual([shop.page.url(), await shop.page.evaluate(() => window.taken)], [before, undefined]);
      await shop.page.evaluate(() => localStorage.clear());
    }
  });

  const NAMES = [
    ..."id action method submit elements target enctype dispatchEvent addEventListener removeEventListener getAttribute".split(" "),
    ..."setAttribute baseURI ownerDocument attributes requestSubmit reset after querySelector parentNode length name".split(" "),
  ];
  for (const kind of ["guardForm", "navigate", "auto"]) {
    test(`a form works whose fields have the names of a form's own properties (${kind})`, async () => {
      const more = NAMES.map((name) => `<input type="hidden" name="${name}" value="-">`).join("");
      const path = site.route(() => ({ status: 201, headers: { "Content-Type": "application/json" }, body: "{}" }));
      const body = FORM(path, { attributes: kind === "auto" ? 'data-oncekey="order:1"' : "", more });
      const shop = await open(context, site.url + site.page({ body, ...(kind === "auto" && { client: null, from: "auto" }) }));
      if (kind !== "auto") {
        await shop.page.evaluate((send) => (window.shop.guard = window.shop.guardForm({ send })), kind === "navigate" ? "navigate" : "fetch");
      }
      await shop.click("#pay", 2);
      await eventually(() => assert.equal(site.hits(path), 1));
      assert.equal(new URLSearchParams(String(site.at(path)[0].body)).get("dispatchEvent"), "-");
      assert.deepEqual(shop.errors, []);
    });
  }

  test("oncekey/auto guards a form whose attribute is added later", async () => {
    const path = site.route(() => json(201));
    const shop = await open(context, site.url + site.page({ client: null, from: "auto", body: FORM(path) }));
    await shop.page.evaluate(() => document.querySelector("form").setAttribute("data-oncekey", "order:1"));
    await shop.page.waitForSelector("output", { state: "attached" });
    await shop.click("#pay", 2);
    await eventually(() => assert.match(site.keys(path)[0] ?? "", /^[0-9a-f-]{36}$/));
    assert.equal(site.hits(path), 1);
  });

  for (const [what, attributes, headers] of [
    ["accept-charset", 'accept-charset="windows-1252"', {}],
    ["the page's charset", "", { "Content-Type": "text/html; charset=windows-1252" }],
  ]) {
    test(`a form that a browser would send in another charset is refused unless it is ASCII: ${what}`, async () => {
      const { shop, path } = await shown(paid, { form: { attributes }, headers });
      const named = (name) =>
        shop.page.evaluate((name) => document.querySelector("form").insertAdjacentHTML("beforeend", `<input name="who" value="${name}">`), name);
      // The pages of the tests declare UTF-8.
      await shop.page.evaluate(() => document.querySelector("meta[charset]")?.remove());
      await named("Müller");
      await shop.click("#pay");
      const end = await shop.end();
      assert.match(end.message, /windows-1252.*accept-charset="utf-8"/);
      assert.deepEqual([site.hits(path), await isLocked(shop)], [0, false]);
      await shop.page.evaluate(() => document.querySelector('[name="who"]').remove());
      await named("Mueller");
      await shop.click("#pay");
      await eventually(() => assert.equal(site.hits(path), 1));
    });
  }

  test("after a success, a form stays locked and is not busy", async () => {
    const { shop } = await shown(paid, { guard: { busyLabel: "One moment" } });
    await shop.page.evaluate(() => document.querySelector("#pay").setAttribute("data-oncekey-done", "Paid"));
    await shop.click("#pay");
    await shop.end();
    const look = await shop.look();
    assert.deepEqual([look.busy, look.buttons, await isLocked(shop)], [null, ["Paid,true,on"], true]);
  });

  test("the page can cancel a submit that was not sent yet, and report that it is done", async () => {
    const { shop, path } = await shown(paid, { guard: null });
    const calls = await shop.page.evaluate(async (path) => {
      const request = () => new Promise((resolve) => (window.made = () => resolve({ url: path, init: { body: "{}" } })));
      const guard = (window.shop.guard = window.shop.guardForm({ request }));
      const calls = [guard.cancel()];
      document.querySelector("#pay").click();
      await new Promise((resolve) => setTimeout(resolve));
      calls.push(guard.locked, guard.cancel(), guard.locked);
      window.made();
      guard.done();
      calls.push(guard.locked, guard.cancel());
      return calls;
    }, path);
    assert.deepEqual(calls, [false, true, true, false, true, false]);
    await shop.click("#pay");
    await shop.waitForEvent("blocked");
    assert.deepEqual([site.hits(path), (await shop.look()).busy, await state(shop)], [0, null, "idle"]);
  });

  test("a request that was sent is not cancelled", async () => {
    const slow = gated(paid);
    const { shop, path } = await shown(slow);
    await shop.click("#pay");
    await slow.reached;
    assert.equal(await shop.page.evaluate(() => window.shop.guard.cancel()), false);
    slow.open();
    assert.equal((await shop.end()).status, 201);
    assert.equal(site.hits(path), 1);
  });

  describe("with a key from its server", () => {
    const field = (key) => `<input type="hidden" name="idempotency_key" value="${key}">`;
    for (const send of ["fetch", "navigate"]) {
      for (const enctype of ["application/x-www-form-urlencoded", "multipart/form-data"]) {
        test(`keeps it (${send}, ${enctype})`, async () => {
          const { shop, path } = await shown(paid, { guard: { send }, form: { attributes: `enctype="${enctype}"`, more: field("theirs-1") } });
          await shop.click("#pay", 2);
          await eventually(() => assert.equal(site.hits(path), 1));
          const [{ headers, body }] = site.at(path);
          assert.equal(String(body).match(/theirs-1/g).length, 1);
          if (send === "fetch") assert.equal(headers["idempotency-key"], "theirs-1");
        });
      }
    }

    test("keeps the key of the first page after a lost response and a reload, and uses the next key after a refusal", async () => {
      let made = 0;
      const path = site.route(inTurn(reset, reset, () => error(402, "card_error", { "Idempotency-State": "completed" }), paid));
      const go = async () => {
        made += 1;
        const url = site.url + site.page({ body: FORM(path, { more: field(`theirs-${made}`) }), guard: {}, client: { retry: { limit: 1, delays: [20] } } });
        return open(context, url);
      };
      const first = await go();
      await first.click("#pay");
      assert.equal((await first.end()).error, "OutcomeUnknownError");
      const second = await go();
      await second.click("#pay");
      assert.equal((await second.end()).status, 402);
      assert.deepEqual(site.keys(path), ["theirs-1"]);
      assert.match(String(site.at(path).at(-1).body), /idempotency_key=theirs-1$/);
      await second.click("#pay");
      assert.equal((await second.end(2)).status, 201);
      assert.deepEqual(site.keys(path), ["theirs-1", "theirs-2"]);
    });

    test("that is not a valid key is refused", async () => {
      const { shop, path } = await shown(paid, { form: { more: field("a b") } });
      await shop.click("#pay");
      assert.equal((await shop.end()).error, "RangeError");
      assert.equal(site.hits(path), 0);
    });
  });

  test("multipart bodies follow the HTML standard in every browser engine", async () => {
    const { shop, path } = await shown(paid, {
      guard: null,
      // WebKit rejects a form with a file that a script has set.
      first: `const Own = Response;
        window.Response = class extends Own {
          constructor(body, init) {
            if (body instanceof FormData) throw new DOMException("as in WebKit", "InvalidStateError");
            super(body, init);
          }
        };`,
    });
    const end = await shop.page.evaluate(async (path) => {
      const data = new FormData();
      data.append('a"\r\nb\nc\rd', "1\n2\r3\r\n4");
      data.append("file", new File(["x\ny"], 'n"\r\n.txt', { type: "text/plain" }));
      data.append("none", new File([], ""));
      data.append("blob", new Blob([new Uint8Array([0, 255])]));
      data.append("ü", "€😀");
      const response = await window.shop.client.fetch("order:2", path, { body: data });
      return response.status;
    }, path);
    assert.equal(end, 201);
    const [{ headers, body }] = site.at(path);
    const [, boundary] = headers["content-type"].match(/^multipart\/form-data; boundary=(\S+)$/);
    const part = (head, content) => Buffer.concat([Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`), Buffer.from(content), Buffer.from("\r\n")]);
    const expected = Buffer.concat([
      part('name="a%22%0D%0Ab%0D%0Ac%0D%0Ad"', "1\r\n2\r\n3\r\n4"),
      part('name="file"; filename="n%22%0D%0A.txt"\r\nContent-Type: text/plain', "x\ny"),
      part('name="none"; filename=""\r\nContent-Type: application/octet-stream', ""),
      part('name="blob"; filename="blob"\r\nContent-Type: application/octet-stream', [0, 255]),
      part('name="ü"', "€😀"),
      Buffer.from(`--${boundary}--\r\n`),
    ]);
    assert.deepEqual(body, expected);
  });

  test("a form whose core cannot be loaded reports that, and sends nothing without a key", async () => {
    const { shop, path } = await shown(paid, {
      from: "slim",
      ready: false,
      first: `window.heardEvents = []; addEventListener("oncekey:load-failed", ({ detail }) => heardEvents.push(detail));
        window.wasm = "/no-such.wasm";`,
    });
    await shop.page.waitForFunction(() => window.shop?.isWaiting);
    await shop.click("#pay");
    assert.equal((await shop.end()).error, "Error");
    assert.deepEqual(await shop.page.evaluate(() => window.heardEvents.map(({ intent }) => intent)), ["order:1"]);
    assert.match(await shop.page.locator("output").textContent(), /nothing was done/);
    assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), false);
    assert.equal(site.hits(path), 0);
    assert.equal(new URL(shop.page.url()).pathname.startsWith("/r/"), true);
  });

  test("a copy of a busy page, as Back shows it, is unlocked when it is guarded", async () => {
    const path = site.route(inTurn(gated(paid), paid));
    const body = `<main>${FORM(path, { attributes: 'data-oncekey="order:1"' })}</main>`;
    const shop = await open(context, site.url + site.page({ client: null, from: "auto", body }));
    await shop.page.evaluate(() => document.querySelector("#pay").setAttribute("data-oncekey-busy", "One moment"));
    await shop.click("#pay");
    await shop.page.waitForFunction(() => document.querySelector("#pay").textContent === "One moment");
    await shop.page.evaluate(() => {
      const main = document.querySelector("main");
      const copy = main.cloneNode(true);
      main.replaceWith(copy);
    });
    await shop.page.waitForFunction(() => document.querySelector("#pay").textContent === "Pay");
    const form = await shop.page.evaluate(() => {
      const form = document.querySelector("form");
      return [form.outerHTML.includes("aria-"), document.querySelectorAll("output").length, document.querySelector("output").textContent];
    });
    assert.deepEqual(form, [false, 1, ""]);
  });
});
