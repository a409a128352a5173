// Guarded forms that the package sends. Whatever a buyer does in the page, only one request is sent.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Site, error, gated, inTurn, open, paid, startBrowser } from "./support.mjs";

const FORM = (target, more = "") => `<form method="post" action="${target}">
<input id="amount" name="amount" value="2990"> <input id="note" name="note">
<button id="card" name="how" value="card">Pay by card</button>
<button id="bank" name="how" value="bank" data-oncekey-busy="Asking your bank">Pay by transfer</button>
<button id="old" name="how" value="old" disabled>Pay by cheque</button>${more}</form>`;

const FREE = {
  busy: null,
  buttons: ["Pay by card,-,on", "Pay by transfer,-,on", "Pay by cheque,-,off"],
  fields: "amount,note,how,how,how",
};

describe("a guarded form", () => {
  let browser, site, context;
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
  });
  after(async () => {
    await browser.close();
    await site.close();
  });

  /** Opens a page with a form, whose requests `handler` handles. */
  async function shown(handler, { guard = {}, more, retry = { limit: 1, delays: [20] }, ...page } = {}) {
    const path = site.route(handler);
    await context?.close();
    context = await browser.newContext();
    const shop = await open(context, site.url + site.page({ body: FORM(path, more), guard, client: { retry }, ...page }), page);
    return { shop, path, bodies: () => site.at(path).map(({ body }) => String(body)) };
  }
  async function looks(shop, expected) {
    const look = await shop.look();
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(look[name], value, name);
  }

  const ways = {
    "a double click": (shop) => shop.click("#card", 2),
    "clicks on two buttons": async (shop) => {
      await shop.click("#card");
      await shop.click("#bank", 2);
    },
    "a held Enter on a button": async (shop) => {
      await shop.page.focus("#card");
      await shop.hold("Enter");
    },
    "a held Enter in a field": async (shop) => {
      await shop.page.focus("#note");
      await shop.hold("Enter");
    },
    "Space and Enter": async (shop) => {
      await shop.page.focus("#card");
      await shop.page.keyboard.press("Space");
      await shop.page.keyboard.press("Enter");
    },
    "a script's requestSubmit": (shop) =>
      shop.page.evaluate(() => {
        const form = document.querySelector("form");
        for (let time = 0; time < 3; time++) form.requestSubmit(document.querySelector("#card"));
      }),
  };
  for (const [what, act] of Object.entries(ways)) {
    for (const disable of /double click|on a button/.test(what) ? ["aria", "native"] : ["aria"]) {
      test(`faults 42, 47, 51: ${what} sends one request, and the form stays locked until the page is left (${disable})`, async () => {
        const slow = gated(paid);
        const { shop, path, bodies } = await shown(slow, { guard: { disable } });
        await act(shop);
        await slow.reached;
        assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), true);
        // The form stays locked however long the request takes.
        await act(shop);
        slow.open();
        assert.equal((await shop.end()).status, 201);
        // The next page takes a while to load, and a click before that does not send a second order.
        await act(shop);
        assert.deepEqual(bodies(), ["amount=2990&note=&how=card"]);
        assert.equal(site.keys(path).length, 1);
        assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), true);
        const events = (await shop.events()).map(({ type }) => type);
        assert.deepEqual(events.filter((type) => type !== "blocked"), ["attempt", "settled"]);
        if (disable === "aria") assert.ok(events.includes("blocked"));
      });
    }
  }

  for (const disable of ["aria", "native"]) {
    test(`faults 43, 45, 46: the clicked button's value is sent, all buttons are locked, and all return to their earlier state (${disable})`, async () => {
      const slow = gated(() => error(402, "card_error"));
      const { shop, bodies } = await shown(slow, { guard: { disable, busyLabel: "One moment" } });
      await shop.click("#bank");
      await slow.reached;
      const off = disable === "aria" ? "true,on" : "-,off";
      const old = disable === "aria" ? "true,off" : "-,off";
      await looks(shop, {
        busy: "true",
        buttons: [`Pay by card,${off}`, `Asking your bank,${off}`, `Pay by cheque,${old}`],
        statusText: "Sending…",
        ...(disable === "aria" && { focus: "bank" }),
      });
      slow.open();
      assert.equal((await shop.end()).status, 402);
      await looks(shop, { ...FREE, focus: "bank" });
      assert.match((await shop.look()).statusText, /not accepted/);
      assert.deepEqual(bodies(), ["amount=2990&note=&how=bank"]);
    });
  }

  test("fault 57: after a refusal, the next submit has a new key", async () => {
    const { shop, path } = await shown(inTurn(() => error(402, "card_error"), paid));
    await shop.click("#card");
    await shop.end();
    await shop.click("#card");
    assert.equal((await shop.end(2)).status, 201);
    assert.equal(site.keys(path).length, 2);
    assert.equal((await shop.events("keyrotated")).length, 1);
  });

  test("faults 52, 60: when the outcome is unknown, the form is unlocked and the next submit has the same key", async () => {
    const { shop, path } = await shown(inTurn(500, 500, paid), { guard: { busyLabel: "One moment" } });
    await shop.click("#card");
    assert.equal((await shop.end()).error, "OutcomeUnknownError");
    await looks(shop, { ...FREE, focus: "card" });
    assert.match((await shop.look()).statusText, /don't know yet/);
    await shop.click("#card");
    assert.equal((await shop.end(2)).status, 201);
    assert.equal((await shop.look()).statusText, "Done.");
    assert.deepEqual([site.hits(path), site.keys(path).length], [3, 1]);
  });

  test("fault 44: a form with an empty required field is not locked", async () => {
    const { shop, path } = await shown(paid, { more: '<input id="name" name="name" required>' });
    await shop.click("#card", 2);
    await shop.page.waitForFunction(() => document.activeElement.id === "name");
    await looks(shop, { busy: null, buttons: FREE.buttons });
    assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), false);
    await shop.page.keyboard.type("Ada");
    await shop.click("#card", 2);
    assert.equal((await shop.end()).status, 201);
    assert.equal(site.hits(path), 1);
  });

  const prevent = (where) => `${where}.addEventListener("submit", (event) => {
    if (window.refuses ?? true) event.preventDefault();
  });`;
  for (const [what, page] of Object.entries({
    "before the guard": { first: `addEventListener("DOMContentLoaded", () => {}); new MutationObserver((_, observer) => {
      const form = document.querySelector("form");
      if (!form) return;
      observer.disconnect();
      ${prevent("form")}
    }).observe(document, { childList: true, subtree: true });` },
    "on the window": { first: prevent("window") },
    "after the guard": { last: prevent('document.querySelector("form")') },
  })) {
    test(`fault 49: a submit that a handler cancels, ${what}, is not sent and locks nothing`, async () => {
      const { shop, path } = await shown(paid, page);
      if (page.last) await shop.page.evaluate(page.last);
      await shop.click("#card", 2);
      await shop.page.waitForFunction(() => !window.shop.guard.locked);
      await looks(shop, { busy: null, buttons: FREE.buttons });
      await shop.page.evaluate(() => (window.refuses = false));
      await shop.click("#card", 2);
      assert.equal((await shop.end()).status, 201);
      assert.equal(site.hits(path), 1);
    });
  }

  test("events bubble from the form, and do not contain the values", async () => {
    const { shop } = await shown(inTurn(500, () => error(409, "idempotency_in_progress"), () => error(402, "card_error", { "Idempotency-State": "completed" })), {
      first: `window.receivedEvents = [];
        for (const type of ["attempt", "retry", "inprogress", "settled", "blocked"]) {
          addEventListener("oncekey:" + type, (event) => receivedEvents.push([type, event.target.localName, JSON.stringify(event.detail)]));
        }`,
    });
    await shop.page.fill("#note", "4242424242424242");
    await shop.click("#card", 2);
    assert.equal((await shop.end()).status, 402);
    const receivedEvents = await shop.page.evaluate(() => window.receivedEvents);
    assert.deepEqual(
      receivedEvents.map(([type]) => type).filter((type) => type !== "blocked"),
      ["attempt", "retry", "attempt", "inprogress", "attempt", "settled"],
    );
    assert.ok(receivedEvents.some(([type]) => type === "blocked"));
    assert.ok(receivedEvents.every(([, target, detail]) => target === "form" && !/4242|2990/.test(detail)));
    // This is the text that screen readers announce.
    const statusText = await shop.page.evaluate(() => window.shop.looks.map(({ statusText }) => statusText));
    assert.deepEqual(
      statusText.filter((text, at) => text !== statusText[at - 1]).map((text) => text.split(" ")[0]),
      ["", "Sending…", "No", "Still", "This"],
    );
  });

  test("an error in the page's own code after a success does not tell the buyer that it failed", async () => {
    const { shop, path } = await shown(paid, { guard: null });
    await shop.page.evaluate(() => {
      const onResponse = () => Promise.reject(new Error("the page's own"));
      window.shop.guard = window.shop.guardForm({ onResponse });
    });
    const caught = shop.page.waitForEvent("pageerror");
    await shop.click("#card");
    assert.match(String(await caught), /the page's own/);
    assert.equal((await shop.look()).statusText, "Done.");
    await shop.click("#card");
    assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), true);
    assert.equal(site.hits(path), 1);
  });

  test("faults 41, 42: after Back from the next page, the form is unlocked and sends the same key", async () => {
    const thanks = site.route(() => ({ headers: { "Content-Type": "text/html" }, body: "<p>Thanks" }));
    const { shop, path } = await shown(paid, {
      first: `let returns = 0;
        addEventListener("pageshow", ({ persisted }) => persisted && (window.returned = ++returns));
        addEventListener("oncekey:settled", () => window.stays || (location.href = "${thanks}"));`,
    });
    for (let time = 1; time <= 2; time++) {
      await shop.click("#card", 2);
      await shop.page.waitForURL(`**${thanks}`);
      await shop.page.goBack({ waitUntil: "commit" });
      await shop.page.waitForFunction((time) => window.returned === time, time);
      await looks(shop, { ...FREE, statusText: "" });
    }
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
    await shop.page.evaluate(() => (window.stays = true));
    await shop.page.fill("#note", "changed");
    await shop.click("#card", 2);
    assert.equal((await shop.end(3)).error, "PayloadChangedError");
    await looks(shop, FREE);
    assert.equal(site.hits(path), 2);
  });

  test("a body that the page builds from its form is sent; if building fails, nothing is sent and the form is unlocked", async () => {
    const { shop, path } = await shown(paid, { guard: null });
    await shop.page.evaluate((path) => {
      let fails = true;
      const request = async (form, data, submitter) => {
        if (fails) {
          fails = false;
          throw new Error("no card token");
        }
        return { url: path, init: { method: "POST", body: JSON.stringify([...data, submitter.id]) } };
      };
      window.shop.guard = window.shop.guardForm({ request });
    }, path);
    await shop.click("#bank", 2);
    assert.equal((await shop.end()).message, "no card token");
    await looks(shop, FREE);
    assert.equal(site.hits(path), 0);
    await shop.click("#bank", 2);
    assert.equal((await shop.end(2)).status, 201);
    assert.deepEqual(JSON.parse(String(site.at(path)[0].body)), [["amount", "2990"], ["note", ""], ["how", "bank"], "bank"]);
  });

  /** Opens a page whose form cannot be sent: each submit fails at once. */
  async function failing() {
    const { shop, path } = await shown(paid, { guard: null });
    await shop.page.evaluate(() => {
      const request = () => Promise.reject(new Error("no card token"));
      window.shop.guard = window.shop.guardForm({ request });
      window.submits = 0;
      addEventListener("submit", () => (window.submits += 1), true);
    });
    /** Waits for this many submit events. Returns their number, and how many of them were handled. */
    const counted = async (submits) => {
      await shop.page.waitForFunction((submits) => window.submits >= submits, submits);
      return shop.page.evaluate(() => [window.submits, window.shop.ends.length]);
    };
    /** Waits until the failure of the last handled submit was reported, and the form is unlocked. */
    const failed = async (times) => {
      await shop.end(times);
      assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), false);
    };
    return { shop, path, counted, failed, at: await shop.page.locator("#card").boundingBox() };
  }

  test("fault 42: the second click of a double click does not submit again when the first submit has failed", async () => {
    const { shop, counted, failed, at } = await failing();
    const { mouse } = shop.page;
    const click = async (clickCount) => {
      await mouse.move(at.x + 5, at.y + 5);
      await mouse.down({ clickCount });
      await mouse.up({ clickCount });
    };
    await click(1);
    await failed(1);
    await click(2);
    await click(3);
    assert.deepEqual(await counted(3), [3, 1]);
    await click(1);
    await failed(2);
    assert.deepEqual(await counted(4), [4, 2]);
    assert.ok((await shop.events("blocked")).length >= 2);
  });

  for (const [where, field] of [["a button", "#card"], ["a field", "#note"]]) {
    test(`fault 42: a held Enter on ${where} is one submit, also after that submit has failed`, async () => {
      const { shop, counted, failed } = await failing();
      const { keyboard } = shop.page;
      await shop.page.focus(field);
      await keyboard.down("Enter");
      await failed(1);
      for (let time = 0; time < 3; time++) await keyboard.down("Enter");
      assert.deepEqual(await counted(4), [4, 1]);
      await keyboard.up("Enter");
      await keyboard.press("Enter");
      await failed(2);
      assert.deepEqual(await counted(5), [5, 2]);
    });
  }

  test("fault 42: a script's submits for a double click are one submit; a later submit of the script is another", async () => {
    const { shop, counted, failed, at } = await failing();
    await shop.page.evaluate(() => {
      const pay = document.querySelector("#card");
      pay.type = "button";
      pay.addEventListener("click", () => pay.form.requestSubmit());
    });
    const { mouse } = shop.page;
    await mouse.click(at.x + 5, at.y + 5);
    await failed(1);
    await mouse.move(at.x + 5, at.y + 5);
    await mouse.down({ clickCount: 2 });
    await mouse.up({ clickCount: 2 });
    assert.deepEqual(await counted(2), [2, 1]);
    await shop.page.evaluate(() => setTimeout(() => document.querySelector("form").requestSubmit()));
    await failed(2);
    assert.deepEqual(await counted(3), [3, 2]);
  });

  test("the end of a released submit does not unlock the submit after it", async () => {
    const [first, second] = [gated(() => error(402, "card_error")), gated(paid)];
    const { shop, path } = await shown(inTurn(first, second));
    await shop.click("#card");
    await first.reached;
    await shop.page.evaluate(() => window.shop.guard.release());
    await looks(shop, { busy: null, buttons: FREE.buttons });
    await shop.page.fill("#note", "changed");
    await shop.click("#card");
    first.open();
    await shop.end();
    await second.reached;
    assert.equal(await shop.page.evaluate(() => window.shop.guard.locked), true);
    await looks(shop, { busy: "true" });
    second.open();
    assert.equal((await shop.end(2)).status, 201);
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 2]);
  });

  test("a form works in a page whose CSP forbids wasm", async () => {
    const headers = { "Content-Security-Policy": "default-src 'self'; img-src data:" };
    const { shop, path, bodies } = await shown(paid, { headers });
    await shop.click("#bank", 2);
    assert.equal((await shop.end()).status, 201);
    assert.deepEqual(bodies(), ["amount=2990&note=&how=bank"]);
    assert.equal(site.keys(path).length, 1);
    assert.equal((await shop.events("wasm-fallback")).length, 1);
    assert.deepEqual(shop.errors, []);
  });
});
