// What may differ from one browser engine to another: how a page is clicked, left, restored, stored and sent. Each case
// is written once and runs in each engine. tests/browser has many more cases, for Chromium alone.
//
// `needs`: what the driver of an engine must be able to do.
import assert from "node:assert/strict";
import { begun, error, eventually, gated, inTurn, json, paid, reset } from "../browser/support.mjs";

export const CASES = [];

const add = (name, play) => CASES.push({ name, play });
const client = { retry: { limit: 2, delays: [20], jitter: "none" } };
const body = { json: { amount: 2990, card: "4242424242424242" } };
const FORM = (target, more = "") => `<form method="post" action="${target}"><input id="amount" name="amount" value="2990">
<input id="note" name="note"><button id="card" name="how" value="card">Card</button>
<button id="bank" name="how" value="bank" data-oncekey-busy="Asking your bank">Bank</button>${more}</form>`;
const FREE = ["Card,-,on", "Bank,-,on"];
const KEY = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const html = (text) => ({ headers: { "Content-Type": "text/html" }, body: text });
const bodies = (site, path) => site.at(path).map(({ body }) => String(body));
const fields = ({ body }) => Object.fromEntries(new URLSearchParams(String(body)));

/** Fails unless every request to a path had one key and the same bytes. */
function same(site, path, hits) {
  assert.equal(site.hits(path), hits);
  assert.equal(site.keys(path).length, 1);
  assert.match(site.keys(path)[0], KEY);
  for (const of of [({ body }) => body.toString("hex"), ({ headers }) => headers["content-type"]]) {
    assert.equal(new Set(site.at(path).map(of)).size, 1);
  }
}

/** Clicks that do not belong to earlier ones. An engine counts clicks at one place as one multiple click. */
async function clickAgain(shop, selector, times) {
  await shop.click("#note");
  await shop.click(selector, times);
}

// Forms that the package sends

const presses = {
  "a double click": (shop) => shop.click("#card", 2),
  "clicks on two buttons": async (shop) => {
    await shop.click("#card");
    await shop.click("#bank", 2);
  },
  "Enter in a field, several times,": async (shop) => {
    await shop.focus("#note");
    await shop.press("Enter", 3);
  },
  "Space and Enter": async (shop) => {
    await shop.focus("#card");
    await shop.press("Space");
    await shop.press("Enter");
  },
  "a script's requestSubmit": (shop) =>
    shop.evaluate(() => {
      const form = document.querySelector("form");
      for (let time = 0; time < 3; time++) form.requestSubmit(document.querySelector("#card"));
    }),
  "a held Enter in a field": async (shop) => {
    await shop.focus("#note");
    await shop.hold("Enter");
  },
  "a held Enter on a button": async (shop) => {
    await shop.focus("#card");
    await shop.hold("Enter");
  },
};
for (const [what, press] of Object.entries(presses)) {
  for (const disable of what === "a double click" ? ["aria", "native"] : ["aria"]) {
    add(`form: ${what} sends one request (${disable})`, async ({ site, shown }) => {
      const slow = gated(paid);
      const path = site.route(slow);
      const shop = await shown({ client, guard: { disable }, body: FORM(path) });
      await press(shop);
      await slow.reached;
      await press(shop);
      assert.equal(await shop.isLocked(), true);
      slow.open();
      assert.equal((await shop.end()).status, 201);
      assert.deepEqual(bodies(site, path), ["amount=2990&note=&how=card"]);
      assert.match(site.keys(path)[0], KEY);
    });
    if (what.startsWith("a held")) CASES.at(-1).needs = "repeated keys";
  }
}

add("form: the clicked button's value is sent, and the form returns to its earlier state after a refusal", async ({ site, shown }) => {
  const slow = gated(() => error(402, "card_error"));
  const path = site.route(slow);
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.focus("#bank");
  await shop.press("Enter");
  await slow.reached;
  const busy = await shop.look();
  assert.deepEqual([busy.busy, busy.buttons, busy.focus], ["true", ["Card,true,on", "Asking your bank,true,on"], "bank"]);
  slow.open();
  assert.equal((await shop.end()).status, 402);
  const free = await shop.look();
  assert.deepEqual([free.busy, free.buttons, free.focus], [null, FREE, "bank"]);
  assert.deepEqual(bodies(site, path), ["amount=2990&note=&how=bank"]);
});

add("form: after a refusal, the next submit has a new key", async ({ site, shown }) => {
  const path = site.route(inTurn(() => error(402, "card_error"), paid));
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.click("#card");
  assert.equal((await shop.end()).status, 402);
  await clickAgain(shop, "#card");
  assert.equal((await shop.end(2)).status, 201);
  assert.equal(site.keys(path).length, 2);
});

add("form: when the outcome is unknown, the next submit has the same key", async ({ site, shown }) => {
  const path = site.route(inTurn(500, 500, 500, paid));
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.click("#card", 2);
  assert.equal((await shop.end()).error, "OutcomeUnknownError");
  assert.deepEqual((await shop.look()).buttons, FREE);
  await clickAgain(shop, "#card");
  assert.equal((await shop.end(2)).status, 201);
  same(site, path, 4);
});

add("form: an empty required field keeps the form unlocked", async ({ site, shown }) => {
  const path = site.route();
  const shop = await shown({ client, guard: {}, body: FORM(path, '<input id="name" name="name" required>') });
  await shop.click("#card");
  await shop.until(() => document.activeElement.id === "name");
  assert.deepEqual([await shop.isLocked(), (await shop.look()).buttons], [false, FREE]);
  await shop.type("Ada");
  await clickAgain(shop, "#card", 2);
  assert.equal((await shop.end()).status, 201);
  assert.deepEqual(bodies(site, path), ["amount=2990&note=&how=card&name=Ada"]);
});

add("form: a submit that a handler of the page cancels is not sent", async ({ site, shown }) => {
  const path = site.route();
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.evaluate(() => {
    window.refuses = true;
    document.querySelector("form").addEventListener("submit", (event) => window.refuses && event.preventDefault());
  });
  await shop.click("#card", 2);
  await shop.until(() => !window.shop.guard.locked);
  await shop.evaluate(() => void (window.refuses = false));
  await clickAgain(shop, "#card", 2);
  assert.equal((await shop.end()).status, 201);
  assert.equal(site.hits(path), 1);
});

/** A form whose submits fail at once, because the page's own code fails. */
async function failing({ site, shown }) {
  const path = site.route();
  const shop = await shown({ client, guard: null, body: FORM(path) });
  await shop.evaluate(() => {
    window.shop.guard = window.shop.guardForm({ request: () => Promise.reject(new Error("no card token")) });
    window.submits = 0;
    addEventListener("submit", () => (window.submits += 1), true);
  });
  return { shop, path };
}

add("form: the second click of a double click does not submit again when the first submit has failed", async (t) => {
  const { shop, path } = await failing(t);
  await shop.click("#card", 2);
  await shop.end();
  await shop.until(() => !window.shop.guard.locked);
  assert.equal((await shop.evaluate(() => window.shop.ends)).length, 1);
  assert.equal(t.site.hits(path), 0);
});

add("form: after Back from the next page, the form is unlocked and sends the same key", async ({ site, shown }) => {
  const thanks = site.route(() => html("<title>Thanks</title>"));
  const path = site.route();
  const first = `addEventListener("oncekey:settled", () => window.stays || (location.href = "${thanks}"));`;
  const page = { client, guard: {}, body: FORM(path), first };
  const shop = await shown(page);
  const start = await shop.evaluate(() => location.pathname);
  await shop.click("#card", 2);
  await shop.at(thanks);
  await shop.back(start);
  await shop.until(() => !window.shop.guard.locked);
  assert.deepEqual((await shop.look()).buttons, FREE);
  await shop.evaluate(() => void (window.stays = true));
  await clickAgain(shop, "#card", 2);
  // Not the end of a submit: a page from the engine's cache has the end of the first one.
  await eventually(() => assert.equal(site.hits(path), 2));
  same(site, path, 2);
});

add("form: text of all kinds is sent in UTF-8", async ({ site, shown }) => {
  const path = site.route(inTurn(500, paid));
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.fill("#note", "Müller 訂閲 😀 \u00a0");
  await shop.click("#card", 2);
  assert.equal((await shop.end()).status, 201);
  same(site, path, 2);
  assert.equal(fields(site.at(path)[0]).note, "Müller 訂閲 😀 \u00a0");
});

add("form: an image button sends its coordinates", async ({ site, shown }) => {
  const path = site.route();
  const shop = await shown({ client, guard: {}, body: FORM(path, '<input type="image" id="map" name="map" alt="Pay">') });
  await shop.click("#map");
  assert.equal((await shop.end()).status, 201);
  assert.match(bodies(site, path)[0], /^amount=2990&note=&map\.x=\d+&map\.y=\d+$/);
});

// Forms that the browser posts

for (const disable of ["aria", "native"]) {
  add(`posted form: a double click sends one request, with its key in the body (${disable})`, async ({ site, shown }) => {
    const slow = gated(() => html("<title>Thanks</title>"));
    const path = site.route(slow);
    const shop = await shown({ guard: { send: "navigate", disable }, body: FORM(path) });
    await shop.click("#card", 2);
    await slow.reached;
    slow.open();
    await shop.at(path);
    assert.equal(site.hits(path), 1);
    const { idempotency_key: key, ...rest } = fields(site.at(path)[0]);
    assert.match(key, KEY);
    assert.deepEqual(rest, { amount: "2990", note: "", how: "card" });
  });
}

add("posted form: after Back, the form is in its earlier state and sends the same key", async ({ site, shown }) => {
  const path = site.route(() => html("<title>Thanks</title>"));
  const shop = await shown({ guard: { send: "navigate" }, body: FORM(path) });
  const start = await shop.evaluate(() => location.pathname);
  await shop.click("#card", 2);
  await shop.at(path);
  await shop.back(start);
  await shop.until(() => !window.shop.guard.locked);
  assert.deepEqual((await shop.look()).buttons, FREE);
  await clickAgain(shop, "#card", 2);
  await shop.at(path);
  const [one, two] = site.at(path).map(fields);
  assert.match(one.idempotency_key, KEY);
  assert.deepEqual(two, one);
  assert.equal(site.hits(path), 2);
});

/** Runs in the page: adds a file to the form. */
function addFile() {
  const form = document.querySelector("form");
  form.enctype = "multipart/form-data";
  form.insertAdjacentHTML("beforeend", '<input id="file" name="file" type="file">');
  const files = new DataTransfer();
  files.items.add(new File(["one"], "a b.txt", { type: "text/plain" }));
  document.querySelector("#file").files = files.files;
}

add("posted form: a file is sent completely, with the key", async ({ site, shown }) => {
  const path = site.route(() => html("<title>Thanks</title>"));
  const shop = await shown({ guard: { send: "navigate" }, body: FORM(path) });
  await shop.evaluate(addFile);
  await shop.click("#card", 2);
  await shop.at(path);
  const [text, ...others] = bodies(site, path);
  assert.deepEqual(others, []);
  assert.match(text, /name="idempotency_key"\r\n\r\n[0-9a-f-]{36}\r\n/);
  assert.match(text, /filename="a b.txt"[^]*\r\n\r\none\r\n/);
});

add("posted form: the key is in the field that the page names", async ({ site, shown }) => {
  const path = site.route(() => html("<title>Thanks</title>"));
  const shop = await shown({ guard: { send: "navigate", keyField: "once" }, body: FORM(path) });
  await shop.click("#bank");
  await shop.at(path);
  const { once, how } = fields(site.at(path)[0]);
  assert.match(once, KEY);
  assert.equal(how, "bank");
});

// Markup

const marked = (target, attributes = "") => `<form method="post" action="${target}" ${attributes}>
  <input name="amount" value="2990"><button id="pay">Pay</button></form>`;

for (const kind of ["auto", "element"]) {
  add(`markup: a form is sent once and then goes on (${kind})`, async ({ site, shown }) => {
    const next = site.route(() => html("<title>Thanks</title>"));
    const slow = gated(() => json(201, {}, kind === "auto" ? {} : { Location: next }));
    const path = site.route(slow);
    const form =
      kind === "auto"
        ? marked(path, `data-oncekey="order:1" data-oncekey-next="${next}"`)
        : `<once-form intent="order:1">${marked(path)}</once-form>`;
    const shop = await shown({ client: null, from: kind, body: form });
    if (kind === "element") await shop.evaluate(() => window.shop.oncekey.defineElement());
    await shop.click("#pay", 2);
    await slow.reached;
    slow.open();
    await shop.at(next);
    assert.deepEqual([site.hits(path), site.keys(path).length], [1, 1]);
  });
}

add("markup: a form that is added later is guarded", async ({ site, shown }) => {
  const path = site.route();
  const shop = await shown({ client: null, from: "auto", body: "<main></main>" });
  await shop.evaluate((html) => {
    addEventListener("oncekey:settled", ({ detail }) => (window.settled = detail.state));
    document.querySelector("main").innerHTML = html;
  }, marked(path, 'data-oncekey="order:1"'));
  await shop.evaluate(() => {
    for (let time = 0; time < 2; time++) document.querySelector("#pay").click();
  });
  await shop.until(() => window.settled === "succeeded");
  assert.equal(site.hits(path), 1);
});

add("markup: the package works as a classic <script>", async ({ site, open }) => {
  const path = site.route();
  const page = site.route(() => html(`<!doctype html><title>Shop</title><link rel="icon" href="data:,">
${FORM(path)}<script src="/oncekey/oncekey.global.js"></script><script>
const client = oncekey.createClient();
const ends = [];
const guard = oncekey.guardForm(document.forms[0], { client, intent: "order:1", onResponse: ({ status }) => void ends.push({ status }) });
window.shop = { isReady: true, ends, guard };
</script>`));
  const shop = await open(site.url + page);
  await shop.click("#card", 2);
  assert.equal((await shop.end()).status, 201);
  assert.equal(site.hits(path), 1);
});

// Retries

const losses = {
  "a reset before any response": reset,
  // WebKitGTK passes on what has arrived, as if it were the whole body.
  "a body shorter than its length": begun({ "Content-Length": 40 }, '{"id":', (socket) => socket.destroy()),
  "a chunked body without its end": begun({}, '{"id":', (socket) => socket.destroy()),
};
for (const [what, lose] of Object.entries(losses)) {
  add(`retries: after ${what}, the same bytes are sent again with the same key`, async ({ site, shown }) => {
    const path = site.route(inTurn(lose, paid));
    const shop = await shown({ client });
    const end = await shop.send("order:1", path, body);
    assert.equal(end.status, 201, end.message);
    same(site, path, 2);
    assert.equal((await shop.call("status", "order:1")).state, "succeeded");
  });
}

add("retries: a multipart body with a file keeps its boundary", async ({ site, shown }) => {
  const path = site.route(inTurn(500, reset, paid));
  const shop = await shown({ client, guard: {}, body: FORM(path) });
  await shop.evaluate(addFile);
  await shop.click("#card", 2);
  assert.equal((await shop.end()).status, 201);
  same(site, path, 3);
  const { headers } = site.at(path)[0];
  const [, boundary] = headers["content-type"].match(/^multipart\/form-data; boundary=(.+)$/);
  const [text] = bodies(site, path);
  assert.ok(text.startsWith(`--${boundary}\r\n`));
  assert.match(text, /filename="a b.txt"[^]*\r\n\r\none\r\n/);
});

const date = (ahead) => new Date(Date.now() - 60_000 + ahead).toUTCString();
for (const [what, headers, after] of [
  ["seconds", () => ({ "Retry-After": "1" }), 1000],
  ["a date, on the server's clock", () => ({ "Retry-After": date(1000), Date: date(0) }), 1000],
  ["an invalid value", () => ({ "Retry-After": "1.5" }), 20],
]) {
  add(`retries: Retry-After with ${what} leads to the expected wait`, async ({ site, shown }) => {
    const path = site.route(inTurn(() => error(503, "rate_limit_error", headers()), paid));
    const shop = await shown({ client });
    assert.equal((await shop.send("order:1", path, body)).status, 201);
    assert.deepEqual((await shop.events("retry")).map((event) => event.after), [after]);
    same(site, path, 2);
  });
}

add("retries: a request in progress is sent again", async ({ site, shown }) => {
  const path = site.route(inTurn(() => error(409, "idempotency_in_progress", { "Retry-After": "1" }), paid));
  const shop = await shown({ client });
  assert.equal((await shop.send("order:1", path, body)).status, 201);
  assert.equal((await shop.events("inprogress")).length, 1);
  same(site, path, 2);
});

add("retries: an attempt that takes too long is ended, and sent again", async ({ site, shown }) => {
  const never = gated();
  const path = site.route(inTurn(never, paid));
  const shop = await shown({ client: { retry: { ...client.retry, attemptTimeout: 300 } } });
  assert.equal((await shop.send("order:1", path, body)).status, 201);
  same(site, path, 2);
  never.open();
});

add("retries: a call that is aborted reports an unknown outcome, and the next call has the same key", async ({ site, shown }) => {
  const slow = gated();
  const path = site.route(inTurn(slow, paid));
  const shop = await shown({ client });
  const call = await shop.start("order:1", path, body);
  await slow.reached;
  const end = await call.abort();
  assert.deepEqual([end.error, end.outcome], ["AbortError", "unknown"]);
  slow.open();
  assert.equal((await shop.send("order:1", path, body)).status, 201);
  same(site, path, 2);
});

// Reloads

add("reload: after a reload during a send, the intent is pending, and the same key is sent", async ({ site, shown }) => {
  const slow = gated();
  const path = site.route(slow);
  const shop = await shown({ client });
  await shop.start("order:1", path, body);
  await slow.reached;
  await shop.reload();
  const [pending] = await shop.call("pending");
  assert.deepEqual([pending.intent, pending.key], ["order:1", site.keys(path)[0]]);
  // An engine may report a failure to the page that it unloads. Firefox even lets that page send once more.
  assert.ok(["sending", "unknown"].includes(pending.state), pending.state);
  slow.open();
  assert.equal((await shop.send("order:1", path, body)).status, 201);
  same(site, path, site.hits(path));
  assert.ok(site.hits(path) >= 2);
});

add("reload: after a reload during a send, another amount is not sent", async ({ site, shown }) => {
  const slow = gated();
  const path = site.route(slow);
  const shop = await shown({ client });
  await shop.start("order:1", path, body);
  await slow.reached;
  await shop.reload();
  const end = await shop.send("order:1", path, { json: { amount: 1 } });
  assert.deepEqual([end.error, end.outcome], ["PayloadChangedError", "unknown"]);
  slow.open();
  same(site, path, site.hits(path));
  assert.match(bodies(site, path)[0], /2990/);
});

add("reload: an unknown outcome is resolved without sending the request again", async ({ site, shown }) => {
  const path = site.route(500);
  const keyUrl = site.route(() => json(200, { state: "completed", http_status: 201 }, { "Idempotency-State": "completed" }));
  const shop = await shown({ client: { ...client, keyUrl } });
  const { error: name, key } = await shop.send("order:1", path, body);
  assert.equal(name, "OutcomeUnknownError");
  const hits = site.hits(path);
  await shop.reload();
  const found = await shop.call("resolve", "order:1");
  assert.deepEqual([found.state, found.httpStatus, site.hits(path), site.keys(keyUrl)], ["succeeded", 201, hits, [key]]);
});

add("reload: an unknown outcome is given up by voiding its key", async ({ site, shown }) => {
  const path = site.route(500);
  const keyUrl = "/r/key";
  for (const [one, state] of [[keyUrl, "unknown"], [`${keyUrl}/void`, "voided"]]) {
    site.route(() => json(200, { state }, { "Idempotency-State": state }), one);
  }
  const shop = await shown({ client: { ...client, keyUrl } });
  const { key } = await shop.send("order:1", path, body);
  await shop.reload();
  assert.equal((await shop.call("abandon", "order:1")).state, "voided");
  assert.deepEqual(site.keys(`${keyUrl}/void`), [key]);
});

// Storage

const fill = () => {
  localStorage.clear();
  for (let size = 1 << 22, name = 0; size >= 1; ) {
    try {
      localStorage.setItem(`fill${name++}`, "x".repeat(size));
    } catch {
      size >>= 1;
    }
  }
};

add("storage: when it is full, the key is kept in memory, and the page is told once", async ({ site, shown }) => {
  const path = site.route(inTurn(500, 500, 500, paid));
  const shop = await shown({ client });
  await shop.evaluate(fill);
  assert.equal((await shop.send("order:1", path, body)).error, "OutcomeUnknownError");
  assert.equal((await shop.send("order:1", path, body)).status, 201);
  same(site, path, 4);
  assert.deepEqual((await shop.events("storage-degraded")).map(({ reason }) => reason), ["quota"]);
});

for (const [what, policy] of [
  ["refused", "sandbox allow-scripts allow-forms"],
  ["refused, and so is wasm", "sandbox allow-scripts allow-forms; script-src *"],
]) {
  add(`storage: when it is ${what}, a double click sends one key`, async ({ site, shown }) => {
    const allow = { "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Headers": "*" };
    const responses = inTurn(() => json(500, {}, allow), () => json(201, {}, allow));
    const path = site.route((request) => (request.method === "OPTIONS" ? { status: 204, headers: allow } : responses()));
    const shop = await shown({ client, guard: {}, body: FORM(path), headers: { "Content-Security-Policy": policy } });
    await shop.click("#card", 2);
    assert.equal((await shop.end()).status, 201);
    const posts = site.at(path).filter(({ method }) => method === "POST");
    assert.equal(posts.length, 2);
    assert.equal(new Set(posts.map(({ headers }) => headers["idempotency-key"])).size, 1);
    assert.deepEqual((await shop.events("storage-degraded")).map(({ reason }) => reason), ["denied"]);
  });
}

add("storage: an entry that cannot be read counts as an unknown outcome", async ({ site, shown }) => {
  const path = site.route();
  const shop = await shown({ client });
  await shop.evaluate(() => localStorage.setItem("oncekey:i:order:1", "garbage"));
  const end = await shop.send("order:1", path, body);
  assert.deepEqual([end.error, end.reason, site.hits(path)], ["OutcomeUnknownError", "unreadable", 0]);
  await shop.call("forget", "order:1");
  assert.equal((await shop.send("order:1", path, body)).status, 201);
});

add("storage: no part of a body is stored", async ({ site, shown }) => {
  const path = site.route(500);
  const shop = await shown({ client });
  await shop.send("order:1", path, body);
  const text = await shop.stored();
  assert.match(text, /oncekey:i:order:1/);
  // Not the amount: a time or a key may contain its four digits by chance.
  for (const part of ["4242424242", "amount", "card"]) assert.ok(!text.includes(part), part);
});

// Tabs

async function twoTabs({ site, open }, { locks = true } = {}) {
  const first = locks ? undefined : `Object.defineProperty(Navigator.prototype, "locks", { get: () => undefined });`;
  const url = site.url + site.page({ client, first });
  const tabs = [await open(url), await open(url)];
  assert.equal(await tabs[0].evaluate(() => navigator.locks !== undefined), locks);
  return tabs;
}

for (const locks of [true, false]) {
  const by = locks ? "Web Locks" : "storage";
  add(`tabs: by ${by}, one tab sends at a time, and both get the response of the key`, async (t) => {
    const tabs = await twoTabs(t, { locks });
    // A server replays the response of a key.
    const response = paid();
    const slow = gated(() => response);
    const path = t.site.route(slow);
    const first = await tabs[0].start("order:1", path, body);
    await slow.reached;
    const second = await tabs[1].start("order:1", path, body);
    await tabs[1].waitForEvent("inprogress");
    assert.equal(t.site.hits(path), 1);
    slow.open();
    const ends = [await first.result(), await second.result()];
    for (const { status, text, message } of ends) assert.deepEqual([status, text], [201, response.body], message);
    same(t.site, path, t.site.hits(path));
  });

  add(`tabs: by ${by}, a tab takes over with the same key when the sending tab is closed`, async (t) => {
    const [first, second] = await twoTabs(t, { locks });
    const never = gated();
    const path = t.site.route(inTurn(never, paid));
    await first.start("order:1", path, body);
    await never.reached;
    const waiting = await second.start("order:1", path, body);
    await second.waitForEvent("inprogress");
    await first.close();
    const end = await waiting.result();
    assert.equal(end.status, 201, end.message);
    same(t.site, path, 2);
    never.open();
  });
}

add("tabs: a wait for another tab can be aborted", async (t) => {
  const tabs = await twoTabs(t);
  const slow = gated();
  const path = t.site.route(slow);
  const first = await tabs[0].start("order:1", path, body);
  await slow.reached;
  const second = await tabs[1].start("order:1", path, body);
  await tabs[1].waitForEvent("inprogress");
  assert.equal((await second.abort()).error, "AbortError");
  slow.open();
  assert.equal((await first.result()).status, 201);
  assert.equal(t.site.hits(path), 1);
});

add("tabs: other intents do not wait", async (t) => {
  const tabs = await twoTabs(t);
  const slow = gated();
  const path = t.site.route(slow);
  const first = await tabs[0].start("order:1", path, body);
  await slow.reached;
  assert.equal((await tabs[1].send("order:2", t.site.route(), body)).status, 201);
  slow.open();
  assert.equal((await first.result()).status, 201);
});

// Policies and origins

for (const [policy, isForbidden] of [
  ["script-src 'self'", true],
  ["default-src 'self'; img-src data:", true],
  ["script-src 'self' 'wasm-unsafe-eval'", false],
  ["default-src 'self'; require-trusted-types-for 'script'", true],
]) {
  add(`policy: with ${policy}, ${isForbidden ? "the translation" : "wasm"} runs`, async ({ site, shown }) => {
    const path = site.route();
    const shop = await shown({ client, guard: {}, body: FORM(path), headers: { "Content-Security-Policy": policy } });
    await shop.click("#bank", 2);
    assert.equal((await shop.end()).status, 201);
    assert.deepEqual(bodies(site, path), ["amount=2990&note=&how=bank"]);
    assert.equal((await shop.events("wasm-fallback")).length, isForbidden ? 1 : 0);
  });
}

add("origin: a server of another origin that allows nothing leaves the outcome unknown, with a hint", async ({ site, shown }) => {
  const shop = await shown({ client });
  const elsewhere = site.url.replace("127.0.0.1", "localhost");
  const path = site.route(() => ({ status: 204 }));
  const end = await shop.send("order:1", elsewhere + path, body);
  assert.deepEqual([end.error, end.unknownReason], ["OutcomeUnknownError", "network"]);
  assert.ok(end.hint.includes("Idempotency-Key") && end.hint.includes(elsewhere), end.hint);
  assert.ok(site.at(path).every(({ method }) => method === "OPTIONS"));
});

add("origin: a server of another origin that allows the key is called", async ({ site, shown }) => {
  const shop = await shown({ client });
  const elsewhere = site.url.replace("127.0.0.1", "localhost");
  const allow = { "Access-Control-Allow-Origin": site.url, "Access-Control-Allow-Headers": "Idempotency-Key, Content-Type" };
  const path = site.route(({ method }) => (method === "OPTIONS" ? { status: 204, headers: allow } : json(201, {}, allow)));
  assert.equal((await shop.send("order:1", elsewhere + path, body)).status, 201);
  assert.match(site.at(path).at(-1).headers["idempotency-key"], KEY);
});
