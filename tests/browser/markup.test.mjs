// Forms that are guarded by attributes in their markup.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, error, eventually, gated, inTurn, json, open, startBrowser } from "./support.mjs";

describe("markup", () => {
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

  const form = (target, attributes = "") => `<form method="post" action="${target}" ${attributes}>
    <input name="amount" value="2990"><button id="pay">Pay</button></form>`;
  const shown = (from, body, more = {}) => open(context, site.url + site.page({ client: null, from, body, ...more }));
  const thanks = () => site.route(() => ({ headers: { "Content-Type": "text/html" }, body: "<p>Thanks" }));
  const paths = [
    ["data-oncekey-next", (next) => [`data-oncekey-next="${next}"`, `next="${next}"`, {}]],
    ["the response's Location", (next) => ["", "", { Location: next }]],
  ];

  for (const [what, going] of paths) {
    test(`a form is sent once, and then follows ${what}`, async () => {
      for (const kind of ["auto", "element"]) {
        const next = thanks();
        const [auto, element, headers] = going(next);
        const slow = gated(() => json(201, {}, headers));
        const path = site.route(slow);
        const shop =
          kind === "auto"
            ? await shown("auto", form(path, `data-oncekey="${kind}" ${auto}`))
            : await shown("element", `<once-form intent="${kind}" ${element}>${form(path)}</once-form>`);
        if (kind === "element") await shop.page.evaluate(() => window.shop.oncekey.defineElement());
        await shop.click("#pay", 2);
        await slow.reached;
        await shop.click("#pay", 2);
        slow.open();
        await shop.page.waitForURL(`**${next}`);
        assert.deepEqual([site.hits(path), site.keys(path).length], [1, 1]);
        assert.match(await shop.stored(), new RegExp(`oncekey:i:${kind}"`));
      }
    });
  }

  test("a form that is added later is guarded, too, and is unlocked after a refusal", async () => {
    const path = site.route(inTurn(() => error(402, "card_error"), () => json(201)));
    const shop = await shown("auto", "<main></main>");
    await shop.page.evaluate((html) => (document.querySelector("main").innerHTML = html), form(path, 'data-oncekey="order:1"'));
    const settled = () =>
      shop.page.evaluate(() => new Promise((resolve) => addEventListener("oncekey:settled", ({ detail }) => resolve(detail.state), { once: true })));
    for (const expected of ["refused", "succeeded"]) {
      const end = settled();
      await shop.page.locator("#pay").dblclick();
      assert.equal(await end, expected);
    }
    assert.deepEqual([site.hits(path), site.keys(path).length], [2, 2]);
  });

  test("a form that the browser posts carries its key in the field that the markup names", async () => {
    const path = thanks();
    const shop = await shown("auto", form(path, 'data-oncekey="order:1" data-oncekey-send="navigate" data-oncekey-key-field="once"'));
    await shop.click("#pay", 2);
    await shop.page.waitForURL(`**${path}`);
    await eventually(() => assert.equal(site.hits(path), 1));
    const { once, ...rest } = Object.fromEntries(new URLSearchParams(String(site.at(path)[0].body)));
    assert.match(once, /^[0-9a-f-]{36}$/);
    assert.deepEqual(rest, { amount: "2990" });
  });

  test("an element that is removed from the page is unguarded, and guarded again when it returns", async () => {
    const path = site.route(() => json(201));
    const shop = await shown("element", `<once-form intent="order:1">${form(path)}</once-form>`);
    await shop.page.evaluate(() => {
      window.shop.oncekey.defineElement();
      const element = document.querySelector("once-form");
      element.remove();
      document.body.prepend(element);
    });
    const end = shop.page.evaluate(() => new Promise((resolve) => addEventListener("oncekey:settled", ({ detail }) => resolve(detail.state))));
    await shop.page.locator("#pay").dblclick();
    assert.equal(await end, "succeeded");
    assert.equal(site.hits(path), 1);
  });
});
