// Which entries are stored, when, and for which client.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

test("a key is stored before it is sent", inPage(async () => {
  const page = new Page();
  const client = page.client();
  equal(state(client, "order:1"), "idle");
  const sent = send(client, "order:1", "{}");
  // The request was not sent yet.
  const stored = page.stored("order:1");
  ok(stored.startsWith(`2 ${sent.key} `), String(stored));
  equal(state(client, "order:1"), "sending");
  equal(client.store.takeLoss(), undefined);
  ok(client.store.isShared);
}));

test("a reload sends the same key", inPage(async () => {
  const page = new Page();
  const before = send(page.client(), "order:1", `{"a":1}`);
  const client = page.client();
  equal(state(client, "order:1"), "sending");
  // The same request in another spelling.
  const after = send(client, "order:1", `{ "a": 1.0 }`);
  equal([after.key, after.attempt], [before.key, 2]);
}));

test("every attempt is stored before it is sent", inPage(async () => {
  const page = new Page();
  const client = page.client();
  const sent = send(client, "order:1", "{}");
  for (const attempt of [2, 3, 4]) {
    equal(sent.failed().do, "wait");
    equal(state(page.client(), "order:1"), "unknown");
    const again = sent.call.waited();
    equal(again.key, sent.key);
    const known = page.client().status("order:1");
    equal(known.attempts, attempt);
    equal(known.state, "sending");
  }
}));

test("a response is stored for all tabs", inPage(async () => {
  const page = new Page();
  const sent = send(page.client(), "order:1", "{}");
  const end = sent.gets(201);
  equal(end.end, "response");
  const other = page.client();
  const known = other.status("order:1");
  equal([known.state, known.key], ["succeeded", sent.key]);
  equal(known.httpStatus, 201);
  // The first response is returned again, and another payload is refused.
  equal(send(other, "order:1", "{}").key, sent.key);
  equal(refused(other, "order:1", `{"a":2}`)[0], "payload_changed");
}));

test("no part of a body is stored", inPage(async () => {
  const page = new Page();
  const client = page.client();
  const body = `{"card":"4242424242424242","holder":"Ada Lovelace"}`;
  const sent = send(client, "order:1", body);
  const before = page.all();
  sent.failed();
  sent.call.waited();
  const between = page.all();
  sent.gets(402);
  for (const all of [before, between, page.all()]) {
    for (const part of ["4242424242", "Ada", "card", "shop.example", "/v1/orders"]) {
      ok(!all.includes(part), String(all));
    }
  }
}));

test("a forgotten entry is removed", inPage(async () => {
  const page = new Page();
  const client = page.client();
  const first = send(client, "order:1", "{}");
  const other = send(client, "order:2", "{}");
  client.forget("order:1");
  equal(page.stored("order:1"), undefined);
  equal(state(client, "order:1"), "idle");
  differs(send(client, "order:1", "{}").key, first.key);
  equal(send(client, "order:2", "{}").key, other.key);
  // An absent entry can be forgotten, too.
  client.forget("order:3");
  equal(client.store.takeLoss(), undefined);
}));

test("an intent that another tab has forgotten is not sent again", inPage(async () => {
  const page = new Page();
  const sent = send(page.client(), "order:1", "{}");
  equal(sent.failed().do, "wait");
  page.client().forget("order:1");
  const end = sent.call.waited();
  equal([end.end, end.why], ["unknown", "overtaken"]);
  // A late response is returned to the page, and stores nothing.
  const late = send(page.client(), "order:2", "{}");
  localStorage.clear();
  equal(late.gets(201).end, "response");
  equal(page.all(), "");
}));

test("pending intents are listed", inPage(async () => {
  const page = new Page();
  const client = page.client();
  const lost = send(client, "order:lost", "{}");
  const unknown = send(client, "order:unknown", "{}");
  unknown.failed();
  send(client, "order:done", "{}").gets(201);
  send(client, "order:refused", "{}").gets(402);
  page.store("order:damaged", "?");
  // The list contains no entries of other clients or of the page itself.
  const neighbour = new Page();
  send(neighbour.client(), "order:other", "{}");
  for (const name of ["order:mine", page.namespace, `${page.namespace}:c:order:claim`]) {
    localStorage.setItem(name, "?");
  }
  const open = page.client().pending().map(({ intent, state, key = "" }) => [intent, state, key]).sort();
  equal(open, [
    ["order:damaged", "unknown", ""],
    ["order:lost", "sending", lost.key],
    ["order:unknown", "unknown", unknown.key],
  ]);
}));

test("an intent may have any name", inPage(async () => {
  const page = new Page();
  const names = ["__proto__", "length", "a b\n\t\u{0}", "заказ № 1 🛒", "order:i:1", "x".repeat(5000)];
  const keys = names.map((name) => send(page.client(), name, "{}").key);
  const client = page.client();
  for (const [at, name] of names.entries()) equal(client.status(name).key, keys[at], name);
  equal(client.pending().length, names.length);
}));

test("namespaces are separate", inPage(async () => {
  const [one, other] = [new Page(), new Page()];
  const key = send(one.client(), "order:1", "{}").key;
  equal(state(other.client(), "order:1"), "idle");
  differs(send(other.client(), "order:1", "{}").key, key);
}));

test("a namespace with colons is separate from an intent with colons", inPage(async () => {
  const [outer, inner] = [new Page(), new Page()];
  inner.namespace = `${outer.namespace}:i:b`;
  const key = send(inner.client(), "c", "{}").key;
  equal(state(outer.client(), "b:i:c"), "idle");
  differs(send(outer.client(), "b:i:c", "{}").key, key);
  equal([inner.client().pending().length, outer.client().pending().length], [1, 1]);
}));

test("without storage everything is in memory", inPage(async () => {
  const page = new Page(null);
  const client = page.client();
  const sent = send(client, "order:1", "{}");
  equal(send(client, "order:1", "{}").key, sent.key);
  equal(client.pending().length, 1);
  sent.gets(201);
  equal(state(client, "order:1"), "succeeded");
  ok(!client.store.isShared);
  // The page chose this, so there is no event.
  equal(client.store.takeLoss(), undefined);
  equal(page.all(), "");
  equal(state(page.client(), "order:1"), "idle");
  client.forget("order:1");
  equal(state(client, "order:1"), "idle");
}));

test("a session storage can be used", inPage(async () => {
  const page = new Page(sessionStorage);
  const key = send(page.client(), "order:1", "{}").key;
  equal(page.client().status("order:1").key, key);
  equal(page.all(), "");
  sessionStorage.clear();
  equal(state(page.client(), "order:1"), "idle");
}));
