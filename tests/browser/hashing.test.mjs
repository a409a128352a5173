// Who hashes a body: the platform a large one, the core any other. The result is the same.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, open, reset, startBrowser } from "./support.mjs";

/** Counts the platform's hashes. */
const COUNTING = `window.hashes = 0;
const { digest } = SubtleCrypto.prototype;
SubtleCrypto.prototype.digest = function (...given) {
  window.hashes += 1;
  return digest.apply(this, given);
};`;
const FAILING = `SubtleCrypto.prototype.digest = () => Promise.reject(new Error("no hash"));`;
/** As in an insecure context. */
const MISSING = `Object.defineProperty(crypto, "subtle", { value: undefined });`;

describe("the platform", () => {
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
  const shown = (first) => open(context, site.url + site.page({ client: { retry: { limit: 0 } }, first }));

  const large = "é".repeat(50_000);
  const BODIES = {
    "a text": (note) => ({ body: `${large}${note}` }),
    "bytes of no known type": (note) => ({ body: `${large}${note}`, headers: { "content-type": "application/octet-stream" } }),
    JSON: (note) => ({ json: { note, large, amount: 1 } }),
    "a form of pairs": (note) => ({ body: `large=${"a".repeat(5000)}&note=${note}`, headers: { "content-type": "application/x-www-form-urlencoded" } }),
    "a multipart form": (note) => ({ form: [["large", large], ["note", note]] }),
  };
  for (const [what, of] of Object.entries(BODIES)) {
    test(`hashes ${what}, and the core gets the same hash where the platform cannot`, async () => {
      const path = site.route(reset);
      const unknown = async (shop) => assert.equal((await shop.send("order:1", path, of("x"))).error, "OutcomeUnknownError");
      const counting = await shown(COUNTING);
      await unknown(counting);
      assert.equal(await counting.page.evaluate(() => window.hashes), 1);
      for (const first of [FAILING, MISSING, COUNTING]) {
        const shop = await shown(first);
        await unknown(shop);
        // The first payload is sent again to find out its outcome, under its key. The other payload is not sent.
        assert.equal((await shop.send("order:1", path, of("y"))).error, "PayloadChangedError");
      }
      assert.equal(site.hits(path), 7);
      assert.equal(site.keys(path).length, 1);
    });
  }

  test("hashes no small body", async () => {
    const shop = await shown(COUNTING);
    assert.equal((await shop.send("order:1", site.route(), { json: { amount: 1 } })).status, 201);
    assert.equal(await shop.page.evaluate(() => window.hashes), 0);
  });

  test("hashes the body while an earlier call of the intent is in progress, and the page may abort the wait", async () => {
    const shop = await shown(COUNTING);
    const path = site.route(() => {});
    await shop.start("order:1", path, { json: { amount: 1 } });
    await shop.waitForEvent("attempt");
    const second = await shop.start("order:1", path, BODIES.JSON("x"));
    await shop.page.waitForFunction(() => window.hashes === 1);
    assert.deepEqual([(await second.abort()).error, site.hits(path)], ["AbortError", 1]);
  });
});
