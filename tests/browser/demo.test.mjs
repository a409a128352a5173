// The demo's checkout in Chromium, against the real Worker and its sandbox.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { eventually, startBrowser, startWorker } from "./support.mjs";

const [VISA, MASTERCARD, DECLINED] = ["4242424242424242", "5555555555554444", "4000000000000002"];

describe("the demo's checkout", () => {
  let browser, worker, context, page, problems;
  before(async () => {
    [browser, worker] = await Promise.all([startBrowser(), startWorker()]);
  });
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    page = await context.newPage();
    problems = [];
    page.on("pageerror", (error) => problems.push(error.stack));
    await page.goto(`${worker.url}/`);
    await shows("#fact-state", /nothing sent/);
  });
  afterEach(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  after(async () => {
    await browser?.close();
    await worker?.dispose();
  });

  const shows = (selector, words) =>
    page.waitForFunction(([selector, words]) => new RegExp(words).test(document.querySelector(selector)?.textContent), [selector, words.source], {
      timeout: 180_000,
    });
  const status = (words) => shows("[data-oncekey-status]", words);
  const logShows = (words) => shows("#log", words);
  const pay = (options) => page.locator(".sheet .pay").click(options);
  const choose = (trouble) => page.locator(`[name=trouble][value=${trouble}]`).check();
  const take = (card) => page.locator(`[name=card][value="${card}"]`).check();
  const thanks = () => page.locator(".receipt").isVisible();
  const isPaid = async () => {
    await shows("[data-receipt=event]", /^evt_/);
    assert.ok(await thanks());
    await logShows(/The event payment\.succeeded arrived: only now the order counts as paid/);
  };

  /** Hides events from the page until the test allows them. */
  async function withoutEvents() {
    let isOpen = false;
    let requests = 0;
    await context.route("**/v1/events*", (route) => {
      requests++;
      return isOpen ? route.continue() : route.abort();
    });
    return { open: () => (isOpen = true), requests: () => requests };
  }
  /** Reads from the sandbox directly, as the page's merchant. */
  async function shop(path) {
    const apiKey = await page.evaluate(() => JSON.parse(localStorage.getItem("shop:api-key")));
    const response = await worker.fetch(path, { headers: { "X-Api-Key": apiKey } });
    assert.equal(response.status, 200, path);
    return (await response.json()).data;
  }
  const key = () => page.getAttribute("#fact-key", "title");
  const executions = async () => (await shop(`/v1/sandbox/executions/${await key()}`)).count;
  /** Returns the number of entries of all orders that brought money in. */
  const charges = async () =>
    (await shop("/v1/ledger/entries?limit=100")).filter(({ account, amount }) => account === "cash" && amount > 0).length;
  async function chargedOnce() {
    await shows("#charges", /^1$/);
    assert.equal(await charges(), 1);
  }

  test("the page says what it is in its first line, and shows all buttons without scrolling", async () => {
    const [first] = (await page.evaluate(() => document.body.innerText)).split("\n");
    assert.match(first, /^oncekey: idempotency keys/);
    assert.match(await page.title(), /^oncekey: idempotency keys/);
    for (const button of await page.locator("button:visible").all()) {
      const { y, height } = await button.boundingBox();
      assert.ok(y >= 0 && y + height <= 900, await button.textContent());
    }
  });

  for (const width of [390, 1280]) {
    test(`no text of the picture is covered by a line or another text at ${width} px`, async () => {
      await page.setViewportSize({ width, height: 900 });
      /** Runs in the page: the pairs of things in the picture that cover each other. */
      const covered = () =>
        page.evaluate(() => {
          // Without strokes. (The box of a line has no height.)
          const all = (selector) =>
            [...document.querySelectorAll(`#timeline ${selector}`)].map((node) => ({ words: node.textContent || node.className.baseVal, box: node.getBBox() }));
          const meet = (one, other) =>
            one.x < other.x + other.width && other.x < one.x + one.width && one.y < other.y + other.height && other.y <= one.y + one.height;
          const texts = all(":is(.label, .note, .invitation)");
          const marks = all(":is(.press, .swallowed)");
          const pairs = texts.flatMap((one, index) => [...texts.slice(index + 1), ...marks].map((other) => [one, other]));
          const struck = all(".invitation").flatMap((one) => all(".rail").map((other) => [one, other]));
          return [...pairs, ...struck].filter(([one, other]) => meet(one.box, other.box)).map(([one, other]) => `${one.words} and ${other.words}`);
        });
      await page.waitForSelector("#timeline .invitation");
      assert.deepEqual(await covered(), []);
      await page.locator(".pay:visible").first().click({ clickCount: 2 });
      await status(/^Paid\./);
      const second = await context.newPage();
      await second.goto(page.url());
      await second.locator(".pay:visible").first().click();
      await shows("#timeline", /tab B/);
      await logShows(/Tab B: Pay was pressed/);
      assert.deepEqual(await covered(), []);
    });
  }

  test("a double click pays once, and the page shows the order as paid only after the event", async () => {
    const events = await withoutEvents();
    await pay({ clickCount: 2 });
    await status(/accepted.*waiting for the event/);
    await shows("#fact-state", /succeeded/);
    await eventually(() => assert.ok(events.requests() > 1));
    assert.equal(await thanks(), false);
    assert.doesNotMatch(await page.textContent("[data-oncekey-status]"), /^Paid/);
    assert.equal(await page.locator("#timeline .letter").count(), 0);
    events.open();
    await status(/^Paid\./);
    await isPaid();
    assert.equal(await page.textContent("[data-receipt=response]"), "the first one");
    await page.waitForSelector("#timeline .letter", { state: "attached" });
    await chargedOnce();
    assert.equal(await executions(), 1);
    await logShows(/Another press was swallowed/);
    assert.equal(await page.textContent("#fact-sent"), "1 time");
    // A second payment gets the same response.
    await pay();
    await shows("[data-receipt=response]", /once more/);
    await status(/^Paid\./);
    await page.reload();
    await status(/^Paid, as the event says/);
    await isPaid();
    await chargedOnce();
  });

  test("after a lost response, the request is sent again and charged once", async () => {
    await choose("lost-response");
    await pay();
    await logShows(/Attempt 1 got no response/);
    await logShows(/Attempt 2 got the first response once more: 201/);
    await status(/^Paid\./);
    await isPaid();
    await chargedOnce();
    assert.equal(await executions(), 1);
  });

  test("after a reload during a payment, the event marks the order as paid, whatever happened to the response", async () => {
    const events = await withoutEvents();
    await choose("slow-response");
    await pay();
    await shows("#charges", /^1$/);
    await page.reload();
    await status(/we do not know how it ended/);
    assert.equal(await thanks(), false);
    events.open();
    await status(/^The event says that it is paid\. The response is still missing; press Find out or Pay/);
    await isPaid();
    assert.doesNotMatch(await page.textContent("#fact-state"), /succeeded/);
    await choose("none");
    await pay();
    await status(/^Paid\./);
    await shows("#fact-state", /succeeded/);
    await chargedOnce();
    assert.equal(await executions(), 1);
  });

  test("“Find out” asks for the order's payments if the state of the key is not enough", async () => {
    await choose("always-error");
    await pay();
    await logShows(/Attempt 1 ended in an error: 500/);
    await page.reload();
    await status(/^The event says that it is paid/);
    await choose("none");
    await page.click("#find-out");
    await status(/^We found out: you have paid, once/);
    await logShows(/The shop was asked for the order's payments: it has 1/);
    await chargedOnce();
  });

  test("a declined card pays nothing, and another card pays once", async () => {
    await take(DECLINED);
    await pay();
    await status(/The card was declined, and nothing was charged/);
    await shows("#fact-state", /refused/);
    const declined = await key();
    assert.equal(await charges(), 0);
    assert.equal(await page.textContent("#charges"), "0");
    assert.equal(await thanks(), false);
    await take(MASTERCARD);
    await pay();
    await status(/^Paid\./);
    await isPaid();
    await chargedOnce();
    assert.notEqual(await key(), declined);
    assert.equal(await executions(), 1);
    const order = await page.textContent("[data-receipt=order]");
    const tries = (await shop(`/v1/payments?order_id=${order}`)).map(({ status, card }) => [status, card.last4]);
    assert.deepEqual(tries, [["failed", DECLINED.slice(-4)], ["succeeded", MASTERCARD.slice(-4)]]);
  });

  test("a basket that is changed while the outcome is unknown is not charged", async () => {
    await take(VISA);
    await choose("always-error");
    await pay();
    await logShows(/Attempt 1 ended in an error: 500/);
    await page.reload();
    await status(/^The event says that it is paid/);
    await choose("none");
    const first = await key();
    await page.getByLabel("One more Sweet pea").click();
    await pay();
    await status(/^You changed the basket or the card, but the event says that it is paid as it was/);
    await isPaid();
    await page.click("#find-out");
    await status(/^We found out: you have paid, once/);
    await pay();
    await status(/^You have paid already, before you changed/);
    await chargedOnce();
    assert.equal(await key(), first);
    assert.equal(await executions(), 1);
    const made = (await shop("/v1/events")).filter(({ type }) => type === "order.created");
    assert.equal(made.length, 2, "the changed basket is another order, which is not paid");
    assert.equal(await page.textContent("[data-receipt=order]"), made.at(-1).data.id);
  });
});
