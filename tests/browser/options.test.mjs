// Misspelt options and options of a wrong type cause errors at once, which name the correct spelling. Namespaces and
// intents whose joined names are equal are kept apart.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { Site, eventually, gated, open, paid, startBrowser } from "./support.mjs";

let browser;
let site;
let context;
before(async () => {
  browser = await startBrowser();
  site = await Site.start();
});
after(async () => {
  await browser.close();
  await site.close();
});
beforeEach(async () => {
  context = await browser.newContext();
  return () => context.close();
});

const FORM = '<form method="post" action="/nowhere"><input name="amount" value="10"><button id="pay">Pay</button></form>';

/** Returns the name and the message of the error that a script in the page throws. */
const thrown = (shop, script) =>
  shop.page.evaluate(async (script) => {
    const { createClient, guardForm } = window.shop.oncekey;
    const form = document.querySelector("form");
    try {
      await new Function("createClient", "guardForm", "form", "client", `return ${script}`)(createClient, guardForm, form, window.shop.client);
      return "nothing";
    } catch ({ name, message }) {
      return `${name}: ${message}`;
    }
  }, script);

describe("an option", () => {
  const CASES = [
    ['createClient({ keyURL: "/k" })', /TypeError: createClient: .*"keyURL".*"keyUrl"/],
    ["createClient({ retries: 3 })", /TypeError: .*"retries".*"retry"/],
    ["createClient({ retrys: {} })", /"retrys".*"retry"/],
    ["createClient({ nameSpace: 'a' })", /"nameSpace".*"namespace"/],
    ["createClient({ colour: 1 })", /"colour".*retention.*keyUrl/],
    ['createClient({ retry: "3" })', /TypeError: .*retry.*object.*a string/],
    ["createClient({ retry: { limits: 3 } })", /retry.*"limits".*"limit"/],
    ['createClient({ retry: { limit: "3" } })', /limit must be a number, not a string/],
    ["createClient({ retry: { delays: 1000 } })", /delays must be a list/],
    ['createClient({ headers: { "X-Api-Key": "k" } })', /headers must be a function/],
    ['createClient({ credentials: "includes" })', /credentials must be one of .*"include"/],
    ["createClient({ storage: 5 })", /storage must be/],
    ['createClient({ retention: "1 day" })', /retention must be a number/],
    ["createClient({ keyHeader: 'a b' })", /TypeError/],
    ["createClient({ keyHeader: 'Sec-Key' })", /TypeError: createClient: keyHeader must be a header to set/],
    ["createClient({ keyHeader: 'Host' })", /keyHeader must be a header to set/],
    ["createClient({ retention: 0 })", /RangeError: retention must be a number from 1 to/],
    ["createClient({ retry: { limit: 101 } })", /RangeError: retry.limit must be a number from 0 to 100/],
    ["createClient({ retry: { limit: 1.5 } })", /retry.limit must be a whole number/],
    ["createClient({ retry: { delays: [] } })", /retry.delays must have at least one delay/],
    ["createClient({ retry: { delays: [1, -1] } })", /retry.delays must be a number from 0 to 2147483647/],
    ["createClient({ retry: { jitter: 'some' } })", /RangeError: retry.jitter must be "full" or "none"/],
    ["createClient({ retry: { attemptTimeout: 0 } })", /retry.attemptTimeout must be a number from 1 to/],
    ["createClient({ retry: { attemptTimeout: NaN } })", /retry.attemptTimeout must be a number from 1 to/],
    ["createClient({ retry: { attemptTimeout: 10, totalTime: 9 } })", /retry.totalTime must be a number from 10 to/],
    ["createClient({ retry: { maxRetryAfter: 2 ** 31 } })", /retry.maxRetryAfter must be a number from 0 to/],
    ['createClient("/k")', /createClient: the options must be an object, not a string/],
    ['client.intent("order:1", { ingore: ["/nonce"] })', /"ingore".*"ignore"/],
    ['client.intent("order:1", { ignore: "/nonce" })', /ignore must be a list/],
    ['client.fetch("order:1", "/r/x", { headres: {} })', /fetch: .*"headres".*"headers"/],
    ['client.fetch("order:1", "/r/x", { json: {} })', /"json".*"body"/],
    ['client.fetch("order:1", "/r/x", { ignore: ["/a"] })', /"ignore" is an option of the intent/],
    ['client.fetch("order:1", "/r/x", {}, { expect: "text/html" })', /"expect".*"expects"/],
    ['client.fetch("order:1", "/r/x", { headers: { "X-Api-Key": undefined } })', /header X-Api-Key has no value/],
    ['client.fetch("order:1", "/r/x", { headers: { Authorization: `Bearer ${undefined}` } })', /header Authorization has no value/],
    ['client.intent("order:1").resolve({ lookUp: () => {} })', /"lookUp".*"lookup"/],
    ['client.intent("order:1").abandon({ lookup: () => {} })', /"lookup".*signal/],
    ['guardForm(form, { client, intent: "order:1", onSuccess() {} })', /guardForm: .*"onSuccess".*"onResponse"/],
    ['guardForm(form, { client, intent: "order:1", onresponse() {} })', /"onresponse".*"onResponse"/],
    ['guardForm(form, { client, intent: "order:1", send: "post" })', /send must be one of "fetch", "navigate"/],
    ['guardForm(form, { client, intent: "order:1", options: { ignored: [] } })', /options.*"ignored".*"ignore"/],
    ['guardForm(form, { client, intent: "order:1", messages: { bussy: "" } })', /messages.*"bussy".*"busy"/],
    ["guardForm(form, { client })", /guardForm needs an intent/],
    ["guardForm(form)", /guardForm: the options must be an object/],
    ['guardForm(form, { intent: "order:1" })', /guardForm needs a client/],
  ];

  test("fault 77: an option with an unknown name or a wrong type causes an error that names the correct one, and nothing is sent", async () => {
    const shop = await open(context, site.url + site.page({ body: FORM }));
    const before = site.seen.length;
    for (const [script, expected] of CASES) assert.match(await thrown(shop, script), expected, script);
    assert.equal(site.seen.length, before);
    assert.equal(await shop.stored(), "{}");
    assert.equal(await thrown(shop, 'guardForm(form, { client, intent: "order:1", onResponse() {} })'), "nothing");
  });

  test("an option with a correct name is accepted, and so are the options of fetch", async () => {
    const shop = await open(context, site.url + site.page());
    const path = site.route();
    const init = '{ method: "POST", headers: [["X-Api-Key", "k"]], mode: "cors", cache: "no-store", priority: "high", referrerPolicy: "origin", redirect: "follow", integrity: "" }';
    assert.equal(await thrown(shop, `client.fetch("order:1", ${JSON.stringify(path)}, ${init})`), "nothing");
    const all = '{ retention: 1e6, storage: null, namespace: "n", retry: { limit: 1, delays: [1], jitter: "none" }, keyUrl: null, keyHeader: "X-Key", headers: () => ({}), credentials: "omit", fetch }';
    assert.equal(await thrown(shop, `createClient(${all})`), "nothing");
    // Other options of the page's own `fetch` are passed on, but misspelt options are refused.
    const own = 'createClient({ fetch: (url, init) => fetch(url, init), storage: null })';
    assert.equal(await thrown(shop, `${own}.fetch("order:2", ${JSON.stringify(path)}, { traceId: 1 })`), "nothing");
    assert.match(await thrown(shop, `${own}.fetch("order:2", ${JSON.stringify(path)}, { methd: "PUT" })`), /"methd".*"method"/);
    assert.equal(site.hits(path), 2);
  });
});

test("keyHeader names the header for the key, of a client and in markup", async () => {
  const shop = await open(context, site.url + site.page());
  const path = site.route();
  const client = 'createClient({ storage: null, keyHeader: "X-Idempotency-Key" })';
  assert.equal(await thrown(shop, `${client}.fetch("order:1", ${JSON.stringify(path)}, { headers: { "X-Api-Key": "k" } })`), "nothing");
  assert.equal(await thrown(shop, `${client}.fetch("order:2", ${JSON.stringify(path)}, { headers: { "x-idempotency-key": "own" } })`), "nothing");
  const [minted, own] = site.at(path).map(({ headers }) => headers);
  assert.match(minted["x-idempotency-key"], /^[0-9a-f-]{36}$/);
  assert.equal(own["x-idempotency-key"], "own");
  assert.ok(!("idempotency-key" in minted) && !("idempotency-key" in own));
  const form = site.route();
  const markup = site.route(() => ({
    headers: { "Content-Type": "text/html; charset=utf-8" },
    body: `<!doctype html><html data-oncekey-key-header="X-Key"><body><form method="post" action="${form}" data-oncekey="order:3"><button id="pay">Pay</button></form>
      <script type="module">import "/oncekey/auto.js"; window.done = true;</script>`,
  }));
  await shop.page.goto(site.url + markup);
  await shop.page.waitForFunction(() => window.done);
  await shop.page.click("#pay");
  await eventually(() => assert.equal(site.hits(form), 1));
  assert.match(site.at(form)[0].headers["x-key"], /^[0-9a-f-]{36}$/);
});

describe("an attribute", () => {
  /** Returns the errors that a page of markup reports, and the events at its elements. */
  async function reports(html, attributes = "") {
    const listen = site.script('window.errors = []; addEventListener("oncekey:error", ({ target, detail }) => errors.push([target.localName, detail.error.message]))');
    const path = site.route(() => ({
      headers: { "Content-Type": "text/html; charset=utf-8" },
      body: `<!doctype html><html ${attributes}><script src="${listen}"></script><body>${html}<script type="module">
        import "/oncekey/auto.js"; import { defineElement } from "/oncekey/element.js"; defineElement(); window.done = true;</script>`,
    }));
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", ({ message }) => errors.push(message));
    await page.goto(site.url + path);
    await page.waitForFunction(() => window.done);
    await page.waitForFunction(() => document.querySelector("form"));
    return { errors, events: await page.evaluate(() => window.errors), page };
  }

  test("an unknown attribute of a form is reported by an event and an error, and the form is guarded", async () => {
    const path = site.route();
    const { errors, events, page } = await reports(
      `<form method="post" action="${path}" data-oncekey="order:1" data-oncekey-keyfield="k" data-oncekey-sent="x">
        <button data-oncekey-bussy="Wait">Pay</button></form>`,
      'data-oncekey-keyurl="/k"',
    );
    const expected = [
      ["html", /data-oncekey-keyurl.*data-oncekey-key-url/],
      ["form", /data-oncekey-keyfield.*data-oncekey-key-field/],
      ["form", /data-oncekey-sent.*data-oncekey-send/],
      ["form", /data-oncekey-bussy.*data-oncekey-busy/],
    ];
    assert.deepEqual(events.map(([name]) => name), expected.map(([name]) => name));
    for (const [at, [, pattern]] of expected.entries()) {
      assert.match(events[at][1], pattern);
      assert.match(errors[at], pattern);
    }
    await page.click("button");
    await page.waitForFunction(() => document.querySelector("form").hasAttribute("aria-busy") || localStorage.length > 0);
    await eventually(async () => assert.equal(site.keys(path).length, 1));
  });

  test("an unknown attribute of the element is reported if it resembles a known one", async () => {
    const { events } = await reports(
      '<once-form intent="order:1" keyurl="/k" class="big" v-if="x" data-x="1" sned="fetch"><form method="post" action="/x"><button>Pay</button></form></once-form>',
    );
    assert.equal(events.length, 2);
    assert.match(events[0][1], /"keyurl".*"key-url"/);
    assert.match(events[1][1], /"sned".*"send"/);
  });

  test("an attribute with an invalid value is reported", async () => {
    const { events } = await reports('<form method="post" action="/x" data-oncekey="order:1" data-oncekey-send="navigat"><button>Pay</button></form>');
    assert.match(events[0][1], /must be "fetch" or "navigate"/);
  });

  test("an attribute with a correct name and value reports nothing", async () => {
    const { errors, events } = await reports(
      `<form method="post" action="/x" data-oncekey="order:1" data-oncekey-send="fetch" data-oncekey-key-field="k" data-oncekey-expects="text/html" data-oncekey-next="/t">
        <button data-oncekey-busy="Wait" data-oncekey-done="Paid">Pay</button><output data-oncekey-status></output></form>`,
      'data-oncekey-key-url="/k"',
    );
    assert.deepEqual([errors, events], [[], []]);
  });
});

test("fault 78: a namespace with a colon and an intent with a colon do not wait for each other or share a key", async () => {
  const gate = gated(paid);
  const [slow, fast] = [site.route(gate), site.route()];
  const pages = [
    ["app", "order:1"],
    ["app:order", "1"],
    ["app:", "order:1"],
    ["app", ":order:1"],
  ];
  const shops = [];
  for (const [namespace] of pages) shops.push(await open(context, site.url + site.page({ client: { namespace } })));
  const first = await shops[0].start(pages[0][1], slow);
  await gate.reached;
  for (const at of [1, 2, 3]) {
    const end = await shops[at].send(pages[at][1], fast);
    assert.equal(end.status, 201, pages[at].join());
    assert.deepEqual(await shops[at].events("inprogress"), []);
  }
  gate.open();
  assert.equal((await first.result()).status, 201);
  assert.equal(new Set([...site.keys(slow), ...site.keys(fast)]).size, 4);
});
