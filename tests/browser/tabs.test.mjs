// Several tabs that send for one intent: one sends, and the others wait for its response.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { executions, merchant, order } from "../worker/fixtures/merchant.mjs";
import { Site, error, eventually, gated, inTurn, open, startBrowser, startWorker } from "./support.mjs";

let browser, site, worker, gateway;
before(async () => {
  [browser, site, worker] = await Promise.all([startBrowser(), Site.start(), startWorker()]);
  // The gateway is in front of the site, so that pages and API have one origin.
  gateway = await startWorker({ upstream: site.url, vars: { ANONYMOUS: "allow" } });
});
after(async () => {
  await browser.close();
  await gateway.dispose();
  await worker.dispose();
  await site.close();
});

for (const locks of [true, false]) {
  describe(locks ? "tabs with Web Locks" : "tabs without Web Locks", () => {
    let context, tabs, call, credential, page;
    beforeEach(async () => {
      await context?.close();
      context = await browser.newContext();
      if (!locks) await context.addInitScript(() => Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined }));
      credential = `kuko_test_${randomUUID()}`;
      call = merchant(worker, credential);
      page = site.url + site.page({ client: { credential, keyUrl: `${worker.url}/_oncekey/key`, retry: { delays: [20] } } });
      tabs = await Promise.all([open(context, page), open(context, page)]);
      assert.equal(await tabs[0].page.evaluate(() => navigator.locks !== undefined), locks);
    });
    after(() => context?.close());

    const request = (json, fault) => ({ headers: { "x-api-key": credential, ...(fault && { "sandbox-fault": fault }) }, json });
    const events = async (type) => (await Promise.all(tabs.map((tab) => tab.events(type)))).flat();
    const keys = async () => [...new Set((await events("attempt")).map(({ key }) => key))];

    test("faults 52, 70, 71: all tabs get the response of one execution", async () => {
      const content = order();
      const send = (tab) => tab.send("order:1", `${worker.url}/v1/orders`, request(content, "delay=300"));
      const ends = await Promise.all([...tabs, ...tabs].map(send));
      for (const { status, text, message } of ends) assert.deepEqual([status, text], [201, ends[0].text], message);
      const [key, ...others] = await keys();
      assert.deepEqual(others, []);
      assert.equal(await executions(call, key), 1);
      assert.ok((await events("inprogress")).some(({ elsewhere }) => elsewhere));
      // The tabs that waited get the same response as the tab that sent.
      assert.equal(ends.filter(({ replayed }) => !replayed).length, 1);
    });

    test("a tab that waited gets the same refusal, and does not pay a second time", async () => {
      const declined = () => ({ ...error(402, "card_error"), body: JSON.stringify({ type: "card_error", charge: randomUUID() }) });
      const slow = gated(declined);
      const path = site.route(inTurn(slow, declined));
      await Promise.all(tabs.map((tab) => tab.go(gateway.url + site.page())));
      const send = (tab) => tab.send("pay:1", path, { json: { amount: 2990 } });
      const first = send(tabs[0]);
      await slow.reached;
      const second = send(tabs[1]);
      await tabs[1].waitForEvent("inprogress");
      slow.open();
      const ends = await Promise.all([first, second]);
      for (const { status, text, message } of ends) assert.deepEqual([status, text], [402, ends[0].text], message);
      assert.deepEqual(ends.map(({ replayed }) => replayed), [false, true]);
      assert.deepEqual([site.hits(path), (await keys()).length, await events("keyrotated")], [1, 1, []]);
      // A later call tries again.
      assert.notEqual((await send(tabs[1])).text, ends[0].text);
      assert.deepEqual([site.hits(path), (await keys()).length], [2, 2]);
    });

    for (const leave of ["closed", "loaded anew"]) {
      test(`fault 70: when the sending tab is ${leave}, the other tab takes over with the same key`, async () => {
        const content = order();
        const [first, second] = tabs;
        const send = (tab, fault) => tab.start("order:1", `${worker.url}/v1/orders`, request(content, fault));
        await send(first, "delay=700");
        await first.waitForEvent("attempt");
        const [{ key }] = await first.events("attempt");
        const waiting = await send(second);
        await second.waitForEvent("inprogress");
        await eventually(async () => assert.equal((await call("GET", "/_oncekey/key", { key })).json?.state, "in_progress"));
        await (leave === "closed" ? first.page.close() : first.reload());
        const end = await waiting.result();
        assert.equal(end.status, 201, end.message);
        assert.ok((await second.events("attempt")).every((attempt) => attempt.key === key));
        assert.equal(await executions(call, key), 1);
      });
    }

    test("a wait for another tab can be aborted, and leaves no unknown outcome", async () => {
      const slow = gated();
      const path = site.route(slow);
      const first = await tabs[0].start("order:1", path, { json: 1 });
      await slow.reached;
      const second = await tabs[1].start("order:1", path, { json: 1 });
      await tabs[1].waitForEvent("inprogress");
      const end = await second.abort();
      assert.equal(end.error, "AbortError");
      slow.open();
      assert.equal((await first.result()).status, 201);
      assert.equal(site.hits(path), 1);
    });

    test("other intents do not wait", async () => {
      const slow = gated();
      const path = site.route(slow);
      const first = await tabs[0].start("order:1", path, { json: 1 });
      await slow.reached;
      assert.equal((await tabs[1].send("order:2", site.route(), { json: 1 })).status, 201);
      slow.open();
      assert.equal((await first.result()).status, 201);
    });
  });
}
