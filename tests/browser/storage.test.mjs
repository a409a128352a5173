// Storage that is full, forbidden or damaged, and clocks that are wrong.
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, error, inTurn, json, open, paid, startBrowser } from "./support.mjs";

const HOUR = 3_600_000;
const CARD = "4242424242424242";

/** Fills the storage completely. */
const fill = `localStorage.clear();
for (let size = 1 << 22, name = 0; size >= 1; ) {
  try { localStorage.setItem("fill" + name++, "x".repeat(size)); } catch { size >>= 1; }
}`;

/** Adds the checksum, as src/client/entry_text.rs does. */
const sealed = (text) => `${text} ${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;

describe("storage", () => {
  let browser, site, context, shop;
  const client = { retry: { limit: 1, delays: [20] } };
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

  const body = { json: { amount: 2990, card: CARD } };
  const store = (name, text) => shop.page.evaluate(([name, text]) => localStorage.setItem(name, text), [name, text]);
  const state = async () => (await shop.call("status", "order:1")).state;

  test("fault 74: full storage is reported once, and the key is kept in memory", async () => {
    await shop.page.evaluate(fill);
    const path = site.route(inTurn(500, 500, paid));
    assert.equal((await shop.send("order:1", path, body)).error, "OutcomeUnknownError");
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual([site.hits(path), site.keys(path).length, await state()], [3, 1, "succeeded"]);
    await shop.send("order:2", path, body);
    assert.deepEqual((await shop.events("storage-degraded")).map(({ reason }) => reason), ["quota"]);
    assert.equal((await shop.events())[0].type, "storage-degraded");
  });

  test("entries without an unknown outcome are removed if storage is full", async () => {
    const path = site.route(inTurn(() => error(402, "card_error"), 500));
    await shop.send("order:0", path, body);
    const entry = await shop.page.evaluate(() => localStorage["oncekey:i:order:0"]);
    await shop.page.evaluate(fill);
    await shop.page.evaluate((entry) => {
      localStorage.removeItem("fill0");
      localStorage["oncekey:i:order:0"] = entry;
    }, entry);
    await shop.page.evaluate(fill.replace("localStorage.clear();", "").replaceAll("fill", "more"));
    await shop.send("order:1", path, body);
    await shop.reload();
    assert.deepEqual((await shop.call("pending")).map(({ intent }) => intent), ["order:1"]);
    assert.deepEqual(await shop.events("storage-degraded"), []);
  });

  for (const [what, headers] of [
    ["a sandboxed page", { "Content-Security-Policy": "sandbox allow-scripts allow-forms" }],
    ["a sandboxed page whose CSP forbids wasm", { "Content-Security-Policy": "sandbox allow-scripts allow-forms; script-src *" }],
  ]) {
    test(`fault 74: ${what} sends once, without storage and locks`, async () => {
      const allow = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*" };
      const responses = inTurn(() => json(500, {}, allow), () => json(201, {}, allow));
      const path = site.route((request) => (request.method === "OPTIONS" ? { status: 204, headers: allow } : responses()));
      const form = `<form method="post" action="${path}"><input name="card" value="${CARD}"><button id="pay">Pay</button></form>`;
      await shop.go(site.url + site.page({ client, guard: {}, body: form, headers }));
      assert.equal(await shop.page.evaluate(() => origin), "null");
      await shop.click("#pay", 2);
      assert.equal((await shop.end()).status, 201);
      const posts = site.at(path).filter(({ method }) => method === "POST");
      assert.equal(posts.length, 2);
      assert.equal(new Set(posts.map(({ headers }) => headers["idempotency-key"])).size, 1);
      assert.deepEqual((await shop.events("storage-degraded")).map(({ reason }) => reason), ["denied"]);
    });
  }

  test("a page that chooses memory stores nothing, and reports no degraded storage", async () => {
    const path = site.route(500);
    await shop.go(site.url + site.page({ client: { ...client, storage: null } }));
    await shop.send("order:1", path, body);
    assert.equal((await shop.call("pending")).length, 1);
    await shop.reload();
    assert.deepEqual([await shop.call("pending"), await shop.events("storage-degraded")], [[], []]);
  });

  const key = randomUUID();
  for (const [what, text, known] of [
    ["garbage", "garbage", undefined],
    ["an empty text", "", undefined],
    ["a changed entry", sealed(`1 ${key} 9c31e0d2 u m 2 1 2 3`).replace(" u m ", " p . "), undefined],
    ["an entry of an invalid version", sealed(`0 ${key} and what it was`), undefined],
    ["an entry of a newer version", sealed(`2 ${key} and what it will be`), key],
  ]) {
    test(`${what} counts as an unknown outcome: nothing is sent until the entry is forgotten`, async () => {
      await store("oncekey:i:order:1", text);
      const path = site.route();
      const end = await shop.send("order:1", path, body);
      assert.deepEqual([end.error, end.reason, end.key], ["OutcomeUnknownError", "unreadable", known]);
      const [pending] = await shop.call("pending");
      assert.deepEqual([pending.intent, pending.state, pending.key, typeof pending.problem], ["order:1", "unknown", known, "string"]);
      assert.equal((await shop.send("order:2", path, body)).status, 201);
      await shop.call("forget", "order:1");
      assert.equal((await shop.send("order:1", path, body)).status, 201);
      assert.equal(site.hits(path), 2);
    });
  }

  test("entries of other programs are left alone", async () => {
    await store("cart", "1");
    await store("oncekey-cart", "2");
    await shop.send("order:1", site.route(), body);
    await shop.call("forget", "order:1");
    assert.deepEqual(JSON.parse(await shop.stored()), { cart: "1", "oncekey-cart": "2" });
  });

  /** Sets the page's clock. */
  const move = (hours) =>
    shop.page.evaluate((by) => {
      window.realNow ??= Date.now;
      Date.now = () => window.realNow() + by;
    }, hours * HOUR);

  for (const [what, hours, sends] of [
    ["went back a little", -0.5, true],
    ["went back by more than an hour", -1.5, false],
    ["is nearly a day later", 22, true],
    ["is a day later", 24, false],
  ]) {
    test(`when the clock ${what}, a pending request is ${sends ? "sent again with the same key" : "neither sent nor given a new key"}`, async () => {
      const path = site.route(inTurn(500, 500, paid));
      await shop.send("order:1", path, body);
      await move(hours);
      const end = await shop.send("order:1", path, body);
      assert.equal(site.keys(path).length, 1);
      if (sends) assert.equal(end.status, 201);
      else assert.deepEqual([end.error, end.reason, site.hits(path)], ["OutcomeUnknownError", "too_old", 2]);
    });
  }

  test("no part of a body is stored in any state", async () => {
    const path = site.route(inTurn(500, 500, () => error(402, "card_error"), () => error(401, "authentication_error"), paid));
    const form = `<form method="post" action="${path}"><input name="card" value="${CARD}"><button id="pay">Pay</button></form>`;
    await shop.go(site.url + site.page({ client, guard: {}, body: form }));
    const clean = async () => {
      const text = await shop.stored();
      assert.match(text, /oncekey:i:/);
      for (const part of [CARD, CARD.slice(0, 10), btoa(CARD), btoa(`card=${CARD}`).slice(0, 12), "card"]) {
        assert.ok(!text.includes(part), part);
      }
    };
    for (let time = 1; time <= 4; time++) {
      await shop.click("#pay");
      await shop.end(time);
      await clean();
    }
    await shop.send("order:2", path, body);
    await shop.send("order:3", path, { form: [["card", CARD]] });
    await clean();
  });
});
