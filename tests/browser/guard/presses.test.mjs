// Real taps, which a script in the page cannot create.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, open } = guardPages();
before(start);
after(close);

test("two taps on one element within half a second are a double tap, even if the first submit has failed", async () => {
  const page = await open({ hasTouch: true });
  await page.evaluate(() => {
    // The times and click counts are those of a browser that does not count taps.
    Object.defineProperty(Event.prototype, "timeStamp", { get: () => window.time });
    Object.defineProperty(UIEvent.prototype, "detail", { get: () => 1 });
    window.tested = new Page(FORM);
    window.guard = window.tested.guard("{}");
  });
  const tap = async (time, selector) => {
    await page.evaluate((time) => (window.time = time), time);
    await page.tap(selector);
    return page.evaluate(async () => {
      await settle();
      window.guard.settle("failed");
      return window.tested.events().some((event) => event.startsWith("sent")) ? "sent" : "swallowed";
    });
  };
  const found = [];
  for (const time of [1000, 1300, 1800, 2301]) found.push(await tap(time, "[value=pay]"));
  assert.deepEqual(found, ["sent", "swallowed", "swallowed", "sent"]);
  // A tap on another button is another press.
  assert.equal(await tap(2400, "[value=later]"), "sent");
});
