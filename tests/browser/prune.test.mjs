// Settled intents older than the retention are removed. Pending intents, and intents in use, stay.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, gated, inTurn, json, open, paid, startBrowser } from "./support.mjs";

const DAY = 86_400_000;

/** Adds the checksum, as src/client/entry_text.rs does. */
const sealed = (text) => `${text} ${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
/** Returns an entry that was last changed this many days ago. */
function entry(state, days, { flags = ".", attempts = 1 } = {}) {
  const at = Date.now() - Math.round(days * DAY);
  return sealed(`1 ${randomUUID()} 9c31e0d2 ${state} ${flags} ${attempts} ${at} ${at} ${at + DAY - 3_600_000}`);
}

let browser, site, context, shop;
before(async () => {
  [browser, site] = await Promise.all([startBrowser(), Site.start()]);
});
after(async () => {
  await browser.close();
  await site.close();
});
beforeEach(async () => {
  await context?.close();
  context = await browser.newContext();
  shop = await open(context, site.url + site.page());
});

const body = { json: { amount: 2990 } };
const fill = (entries) =>
  shop.page.evaluate((entries) => {
    for (const [name, text] of entries) localStorage.setItem(name, text);
  }, entries);
const names = () => shop.page.evaluate(() => Object.keys(localStorage).sort());
const count = async () => (await names()).length;
const many = (number, days, state = "+201") =>
  Array.from({ length: number }, (_, at) => [`oncekey:i:order:${at}`, entry(state, days)]);
const prune = () => shop.page.evaluate(() => window.shop.client.prune());

for (const locks of ["Web Locks", "a lease in storage"]) {
  describe(`with ${locks}`, () => {
    beforeEach(async () => {
      if (locks === "Web Locks") return;
      await shop.go(site.url + site.page({ first: 'Object.defineProperty(navigator, "locks", { value: undefined })' }));
    });

    test("fault 79: a thousand old orders are removed, a few with each call and all of them by prune()", async () => {
      await fill(many(1000, 400));
      const path = site.route();
      let before = await count();
      for (const order of ["a", "b", "c"]) {
        assert.equal((await shop.send(`new:${order}`, path, body)).status, 201);
        await shop.page.waitForFunction((before) => localStorage.length < before, before);
        const gone = before + 1 - (await count());
        assert.ok(gone >= 1 && gone <= 8, `${gone} were removed with one call`);
        before = await count();
      }
      const left = (await names()).filter((name) => name.startsWith("oncekey:i:order:")).length;
      await shop.page.waitForTimeout(0);
      assert.ok((await prune()) > 0 && left > 900);
      assert.deepEqual(await names(), ["oncekey:i:new:a", "oncekey:i:new:b", "oncekey:i:new:c"]);
      assert.equal(await prune(), 0);
    });

    test("fault 79: pending, young, unreadable and other programs' entries stay", async () => {
      const stays = [
        ["oncekey:i:sending", entry("s", 400)],
        ["oncekey:i:unknown", entry("u", 400, { flags: "m" })],
        ["oncekey:i:prepared", entry("p", 400)],
        ["oncekey:i:young", entry("+201", 0.9)],
        ["oncekey:i:ahead", entry("+201", -400)],
        ["oncekey:i:damaged", `${entry("+201", 400)}0`],
        ["oncekey:i:newer", sealed(`2 ${randomUUID()} and what it will be`)],
        ["other:i:order:1", entry("+201", 400)],
        ["oncekey-cart", "1"],
      ];
      await fill([
        ...stays,
        ["oncekey:i:succeeded", entry("+201", 1.1)],
        ["oncekey:i:refused", entry("-402", 400)],
        ["oncekey:i:voided", entry("v", 400)],
      ]);
      assert.equal(await prune(), 3);
      assert.deepEqual(await names(), stays.map(([name]) => name).sort());
    });

    test("an intent that another tab is sending for is left alone, and is sent once", async () => {
      await fill([["oncekey:i:order:1", entry("-402", 400)], ["oncekey:i:order:2", entry("-402", 400)]]);
      const gate = gated(paid);
      const path = site.route(gate);
      const first = locks === "Web Locks" ? undefined : 'Object.defineProperty(navigator, "locks", { value: undefined })';
      const other = await open(context, site.url + site.page({ first }));
      const sent = await other.start("order:1", path, body);
      await gate.reached;
      assert.equal(await prune(), 1);
      assert.deepEqual(await names().then((all) => all.filter((name) => name.includes(":i:"))), ["oncekey:i:order:1"]);
      gate.open();
      assert.equal((await sent.result()).status, 201);
      assert.equal((await shop.call("status", "order:1")).state, "succeeded");
      assert.deepEqual([site.hits(path), site.keys(path).length], [1, 1]);
    });
  });
}

test("a storage of the page's own, or memory, is pruned, too", async () => {
  for (const storage of ["null", "sessionStorage"]) {
    const left = await shop.page.evaluate(async ([storage, path, later]) => {
      const client = window.shop.oncekey.createClient({ storage: storage === "null" ? null : sessionStorage });
      for (const order of ["1", "2", "3"]) await client.fetch(`order:${order}`, path, { body: "{}", headers: { "content-type": "application/json" } });
      const now = Date.now;
      Date.now = () => now() + later;
      const removed = await client.prune();
      Date.now = now;
      return [removed, client.intent("order:1").status().state];
    }, [storage, site.route(), 2 * DAY]);
    assert.deepEqual(left, [3, "idle"]);
  }
});

test("pending() reads two thousand entries once, and sees what changes", async () => {
  await fill(many(2000, 0.5));
  const path = site.route(inTurn(json(500), paid));
  const timed = () =>
    shop.page.evaluate(() => {
      const begun = performance.now();
      const found = window.shop.client.pending().map(({ intent }) => intent);
      return { found, took: performance.now() - begun };
    });
  const first = await timed();
  const again = [await timed(), await timed(), await timed()];
  assert.deepEqual([first.found, again[0].found], [[], []]);
  // The times are only printed, because a busy machine is not a fault.
  console.log(`pending(): ${first.took.toFixed(1)} ms, again ${again.map(({ took }) => took.toFixed(1)).join(", ")} ms`);
  await fill([["oncekey:i:order:7", entry("u", 0.1, { flags: "m" })], ["oncekey:i:order:8", "damaged"]]);
  assert.deepEqual((await timed()).found.sort(), ["order:7", "order:8"]);
  await fill([["oncekey:i:order:7", entry("+201", 0.1)]]);
  assert.deepEqual((await timed()).found, ["order:8"]);
});
