// CSRF tokens, which are new with each page load. A form with a new token is still the same request.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, inTurn, open, paid, reset, startBrowser } from "./support.mjs";

let browser, site, context;
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
});

const client = { retry: { limit: 0 } };

/** Returns the path of a page whose form has this token and this amount. */
function page(path, { name, token, enctype = "", amount = 10, guard = {} }) {
  const body = `<form method="post" action="${path}" ${enctype && `enctype="${enctype}"`}><input type="hidden" name="${name}" value="${token}">
    <input name="amount" value="${amount}"><button id="pay">Pay</button></form>`;
  return site.url + site.page({ body, client, guard });
}

describe("after a lost response and a reload, without key calls,", () => {
  for (const name of ["authenticity_token", "csrfmiddlewaretoken", "_token", "__RequestVerificationToken", "payment[_token]"]) {
    for (const enctype of ["", "multipart/form-data"]) {
      test(`fault 76: a form with a new ${name} is sent under the same key (${enctype || "urlencoded"})`, async () => {
        const path = site.route(inTurn(reset, paid));
        const shop = await open(context, page(path, { name, token: "one=", enctype }));
        await shop.click("#pay");
        assert.equal((await shop.end()).error, "OutcomeUnknownError");
        await shop.go(page(path, { name, token: "two=", enctype }));
        await shop.click("#pay");
        assert.equal((await shop.end()).status, 201);
        assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
        // The server gets the token of the reloaded page.
        assert.match(site.at(path)[1].body.toString(), /two/);
      });
    }
  }

  test("fault 76: only fields that `ignore` names may change", async () => {
    for (const enctype of ["", "multipart/form-data"]) {
      const path = site.route(inTurn(reset, paid));
      const guard = { intent: `order:${enctype}`, options: { ignore: ["/stamp"] } };
      const shop = await open(context, page(path, { name: "stamp", token: 1, enctype, guard }));
      await shop.click("#pay");
      await shop.end();
      await shop.go(page(path, { name: "stamp", token: 2, enctype, amount: 11, guard }));
      await shop.click("#pay");
      assert.equal((await shop.end()).error, "PayloadChangedError");
      await shop.go(page(path, { name: "stamp", token: 3, enctype, guard }));
      await shop.click("#pay");
      assert.equal((await shop.end()).status, 201);
      assert.deepEqual([site.hits(path), site.keys(path).length], [2, 1]);
    }
  });

  for (const enctype of ["", "multipart/form-data"]) {
    test(`fault 76: a form that the browser posts keeps its key, too (${enctype || "urlencoded"})`, async () => {
      const keyIn = ({ body }) => /idempotency_key"?(?:=|\r\n\r\n)([0-9a-f-]{36})/.exec(body.toString())?.[1];
      const path = site.route(inTurn({ status: 500, headers: { "Content-Type": "text/html" }, body: "?" }, { headers: { "Content-Type": "text/html" }, body: "paid" }));
      const guard = { send: "navigate", options: { ignore: ["/stamp"] } };
      const shop = await open(context, page(path, { name: "_token", token: "one", enctype, guard }));
      await shop.click("#pay");
      await shop.page.waitForURL(site.url + path);
      const sent = site.hits(path);
      await shop.go(page(path, { name: "_token", token: "two", enctype, guard }));
      await shop.click("#pay");
      while (site.hits(path) === sent) await shop.page.waitForTimeout(10);
      const keys = new Set(site.at(path).filter(({ method }) => method === "POST").map(keyIn));
      assert.equal(keys.size, 1, [...keys].join());
      assert.match([...keys][0], /^[0-9a-f-]{36}$/);
    });
  }
});
