// Key calls use exactly the credential of the request, because the same key under another credential is another key.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, json, open, startBrowser, startWorker } from "./support.mjs";

const FORM = (target) => `<form method="post" action="${target}"><input id="amount" name="amount" value="2990"><button id="card">Pay</button></form>`;

describe("the credential of key calls", () => {
  let browser, site, byHeader, byCookie, context;
  before(async () => {
    [browser, site] = await Promise.all([startBrowser(), Site.start()]);
    const vars = { ANONYMOUS: "allow", KEY_FIELD: "idempotency_key", CORS_ORIGINS: site.url, UNKNOWN_OUTCOME: "retry" };
    byHeader = await startWorker({ upstream: site.url, vars: { ...vars, SCOPE: "header:X-Api-Key,header:X-Shop,header:Authorization" } });
    byCookie = await startWorker({ upstream: site.url, vars: { ...vars, SCOPE: "cookie:session" } });
  });
  beforeEach(async () => {
    await context?.close();
    context = await browser.newContext();
  });
  after(async () => {
    await browser.close();
    await byHeader.dispose();
    await byCookie.dispose();
    await site.close();
  });

  const charge = () => json(201, { id: randomUUID() });
  const amounts = (path) => site.at(path).map(({ body }) => JSON.parse(String(body)).amount);

  /**
   * Sends a request whose response is lost, and reloads the page. Returns what the page resolves, and the result of a new
   * amount. `init` is for both requests, `headers` and `credentials` are those of the client on the second page.
   */
  async function lost({ gateway, keyUrl = `${gateway.url}/_oncekey/key`, from = site.url, init = {}, later = init, headers, credentials }) {
    const path = site.route(charge);
    const shop = await open(context, from + site.page());
    const target = `${gateway.url}${path}`;
    const ends = [];
    for (const stage of ["lost", "resolve", "abandon", "changed"]) {
      ends.push(
        await shop.page.evaluate(
          async ([stage, target, keyUrl, init, headers, credentials]) => {
            const lossy = async (...all) => {
              await (await fetch(...all)).text();
              throw new TypeError("The response is lost.");
            };
            const client = window.shop.oncekey.createClient({
              keyUrl,
              retry: { limit: 0 },
              ...(headers && { headers: () => headers }),
              ...(credentials && { credentials }),
              ...(stage === "lost" && { fetch: lossy }),
            });
            const intent = client.intent("order:1");
            const send = (amount) => {
              const all = { "content-type": "application/json", ...init.headers };
              return intent.fetch(target, { ...init, headers: all, body: JSON.stringify({ amount }) });
            };
            const call = { lost: () => send(2990), resolve: () => intent.resolve(), abandon: () => intent.abandon(), changed: () => send(1) };
            const end = await call[stage]().then(
              ({ status, state }) => state ?? status,
              ({ name, reason, outcome, message }) => [name, reason ?? outcome, message],
            );
            return { end, state: intent.status().state };
          },
          [stage, target, keyUrl, stage === "changed" ? later : init, headers, credentials],
        ),
      );
      await shop.reload();
    }
    const [first, resolved, abandoned, changed] = ends;
    assert.equal(first.end[0], "OutcomeUnknownError", JSON.stringify(first));
    return { path, resolved, abandoned, changed };
  }

  /** Fails unless nothing was settled or charged twice, and each error names the difference. */
  const refuses = ({ path, resolved, abandoned, changed }, named) => {
    for (const { end, state } of [resolved, abandoned]) {
      assert.deepEqual([end[0], end[1], state], ["OutcomeUnknownError", "credential", "unknown"], String(end));
      assert.match(end[2], named);
    }
    assert.deepEqual([changed.end[0], changed.end[1], changed.state], ["PayloadChangedError", "unknown", "unknown"], String(changed.end));
    assert.match(changed.end[2], named);
    assert.deepEqual(amounts(path), [2990]);
  };
  const finds = ({ path, resolved, abandoned, changed }) => {
    assert.deepEqual([resolved.end, abandoned.end], ["succeeded", "succeeded"]);
    assert.deepEqual([changed.end[0], changed.end[1]], ["PayloadChangedError", "succeeded"]);
    assert.deepEqual(amounts(path), [2990]);
  };

  const one = { headers: { "X-Api-Key": "one" } };

  test("the same header finds the outcome, also from another page", async () => {
    finds(await lost({ gateway: byHeader, init: one, headers: { "X-Api-Key": "one" } }));
  });

  test("headers that the request did not have are not added", async () => {
    finds(await lost({ gateway: byHeader, init: one, headers: { "X-Api-Key": "one", "X-Shop": "two", "X-Trace": "3" } }));
  });

  for (const [what, headers, later] of [
    ["another value of the header", { "X-Api-Key": "two" }, { headers: { "X-Api-Key": "two" } }],
    ["no header at all", undefined, {}],
    ["another header", { Authorization: "Basic b25lOg==" }, { headers: { Authorization: "Basic b25lOg==" } }],
  ]) {
    test(`${what}: nothing is settled, and the error names the header`, async () => {
      refuses(await lost({ gateway: byHeader, init: one, later, headers }), /"x-api-key"/);
    });
  }

  test("an unusual credential header also counts", async () => {
    const shop = { headers: { "X-Shop": "north" } };
    refuses(await lost({ gateway: byHeader, init: shop, later: {}, headers: {} }), /"x-shop"/);
  });

  test("a renewed token identifies the same caller, and another user's token does not", async () => {
    const token = (claims) => `Bearer ${[{ alg: "none" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.c2ln`;
    const ann = { headers: { Authorization: token({ sub: "ann", exp: 1, iat: 1, jti: "1" }) } };
    const renewed = { headers: { Authorization: token({ sub: "ann", exp: 2, iat: 2, jti: "2" }) } };
    const bob = { headers: { Authorization: token({ sub: "bob", exp: 2, iat: 2, jti: "2" }) } };
    // This server identifies the caller by a claim.
    const keyUrl = site.url + site.route(() => json(200, { state: "completed", http_status: 201 }));
    const more = { gateway: site, keyUrl };
    finds(await lost({ ...more, init: ann, later: renewed, headers: renewed.headers }));
    await context.close();
    context = await browser.newContext();
    refuses(await lost({ ...more, init: ann, later: bob, headers: bob.headers }), /"authorization"/);
  });

  describe("that is a cookie", () => {
    beforeEach(() => context.addCookies([{ name: "session", value: "ann", url: site.url }]));

    test("is sent as it was with the request, whatever the client's own option says", async () => {
      finds(await lost({ gateway: byCookie, init: { credentials: "include" } }));
    });

    test("is not sent if it was not sent with the request", async () => {
      finds(await lost({ gateway: byCookie, init: {}, credentials: "include" }));
    });

    test("that was omitted once and sent later allows no key call", async () => {
      const path = site.route(charge);
      const shop = await open(context, site.url + site.page());
      const ends = await shop.page.evaluate(
        async ([target, keyUrl]) => {
          const ends = [];
          for (const credentials of ["include", "omit"]) {
            const lossy = async (...all) => {
              await (await fetch(...all)).text();
              throw new TypeError("The response is lost.");
            };
            const client = window.shop.oncekey.createClient({ keyUrl, retry: { limit: 0 }, fetch: lossy });
            await client.fetch("order:1", target, { credentials, body: "{}" }).catch(() => {});
          }
          const intent = window.shop.oncekey.createClient({ keyUrl }).intent("order:1");
          for (const call of ["resolve", "abandon"]) ends.push(await intent[call]().catch(({ reason, message }) => [reason, message]));
          return ends;
        },
        [`${byCookie.url}${path}`, `${byCookie.url}/_oncekey/key`],
      );
      for (const [reason, message] of ends) {
        assert.equal(reason, "credential");
        assert.match(message, /several credentials.*cookie/);
      }
    });

    test("of another origin than that of the key calls settles nothing, and the error names the cookie", async () => {
      const path = site.route(charge);
      const shop = await open(context, byCookie.url + site.page());
      const end = await shop.page.evaluate(
        async ([path, keyUrl]) => {
          const client = window.shop.oncekey.createClient({ keyUrl, retry: { limit: 0 }, fetch: () => Promise.reject(new TypeError("lost")) });
          await client.fetch("order:1", path, { body: "{}" }).catch(() => {});
          return client.intent("order:1").abandon().catch(({ reason, message }) => [reason, message]);
        },
        [path, `${byHeader.url}/_oncekey/key`],
      );
      assert.equal(end[0], "credential");
      assert.match(end[1], /cookies to another origin/);
    });
  });

  describe("of a form that the browser posts", () => {
    /** Lets the browser post the form, and returns to its page with another amount. */
    async function posted(gateway, client) {
      const path = site.route(() => ({ status: 201, headers: { "Content-Type": "text/html" }, body: "<p>Thanks" }));
      const page = site.page({ body: FORM(path), guard: { send: "navigate" }, client: { keyUrl: "/_oncekey/key", ...client } });
      const shop = await open(context, gateway.url + page);
      await shop.click("#card");
      await shop.page.waitForURL(`**${path}`);
      await shop.go(gateway.url + page);
      await shop.page.fill("#amount", "1");
      await shop.click("#card");
      const end = await shop.end();
      return { end, paid: site.at(path).map(({ body }) => new URLSearchParams(String(body)).get("amount")) };
    }

    test("contains only what a form can send, so headers() adds nothing", async () => {
      const { end, paid } = await posted(byHeader, { credential: "one" });
      assert.deepEqual([end.error, end.outcome, paid], ["PayloadChangedError", "succeeded", ["2990"]]);
    });

    test("is the cookie of the form, whatever the client's own option says", async () => {
      await context.addCookies([{ name: "session", value: "ann", url: site.url }]);
      const { end, paid } = await posted(byCookie, { credentials: "omit" });
      assert.deepEqual([end.error, end.outcome, paid], ["PayloadChangedError", "succeeded", ["2990"]]);
    });
  });

  test("is stored only as names and 32 bits", async () => {
    const path = site.route(() => json(500));
    const shop = await open(context, site.url + site.page({ client: { retry: { limit: 0 } } }));
    const headers = { "X-Api-Key": "kuko_test_secret", Authorization: "Bearer opensesame" };
    await shop.send("order:1", path, { headers, json: {} });
    const stored = await shop.stored();
    assert.match(stored, / c,authorization:[0-9a-f]{8},x-api-key:[0-9a-f]{8} /);
    for (const secret of ["secret", "opensesame", "Bearer"]) assert.ok(!stored.includes(secret), stored);
  });
});
