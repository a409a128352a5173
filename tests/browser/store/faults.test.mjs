// Storages that throw, forget, or return other values than they were given.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

/** Returns a storage in a `Map`, with some other methods. */
function storage(methods) {
  return Page.withStorage(`const map = new Map();
    const denied = () => { throw new DOMException('no', 'SecurityError') };
    const full = () => { throw new DOMException('no', 'QuotaExceededError') };
    const good = {
      get length() { return map.size },
      key: index => [...map.keys()][index] ?? null,
      getItem: name => map.get(name) ?? null,
      setItem: (name, text) => void map.set(name, text),
      removeItem: name => void map.delete(name),
    };
    return Object.defineProperties({ map, good }, {
      ...Object.getOwnPropertyDescriptors(good),
      ...Object.getOwnPropertyDescriptors({ ${methods} }),
    });`);
}

/** Checks that one page can send, refuses another payload, can forget, and reports the loss once. */
function worksInMemory(client, loss) {
  const sent = send(client, "order:1", "{}");
  equal(client.store.takeLoss(), loss);
  equal(state(client, "order:1"), "sending");
  equal(sent.failed().do, "wait");
  equal(sent.call.waited().key, sent.key);
  equal(client.pending().length, 1);
  sent.gets(201);
  equal(state(client, "order:1"), "succeeded");
  equal(send(client, "order:1", "{}").key, sent.key);
  equal(refused(client, "order:1", "[]")[0], "payload_changed");
  client.forget("order:1");
  equal(state(client, "order:1"), "idle");
  differs(send(client, "order:1", "{}").key, sent.key);
  equal(client.store.takeLoss(), undefined);
}

test("working storage is used", inPage(async () => {
  const page = storage("");
  const key = send(page.client(), "order:1", "{}").key;
  equal(page.client().status("order:1").key, key);
  equal(page.client().store.takeLoss(), undefined);
}, storage));

test("fault 74: a storage that may not be used", inPage(async () => {
  const page = storage(
    "get length() { denied() }, key: denied, getItem: denied, setItem: denied, removeItem: denied",
  );
  worksInMemory(page.client(), "denied");
}, storage, worksInMemory));

test("fault 74: a frame whose storage may not be read", inPage(async () => {
  const page = new Page();
  const before = run(
    {},
    `const before = Object.getOwnPropertyDescriptor(window, 'localStorage');
    Object.defineProperty(window, 'localStorage', {
      configurable: true,
      get() { throw new DOMException('no', 'SecurityError') },
    });
    return before;`,
  );
  const client = page.client();
  run({ before }, "Object.defineProperty(window, 'localStorage', before)");
  equal(client.store.takeLoss(), "denied");
  ok(!client.store.isShared);
  equal(send(client, "order:1", "{}").attempt, 1);
  equal(state(client, "order:1"), "sending");
  equal(page.all(), "");
}));

test("fault 74: a host without a storage", inPage(async () => {
  const before = run(
    {},
    `const before = Object.getOwnPropertyDescriptor(window, 'localStorage');
    Object.defineProperty(window, 'localStorage', { configurable: true, value: undefined });
    return before;`,
  );
  const page = new Page();
  const client = page.client();
  run({ before }, "Object.defineProperty(window, 'localStorage', before)");
  worksInMemory(client, "unavailable");
}, worksInMemory));

test("fault 74: a storage that accepts nothing", inPage(async () => {
  worksInMemory(storage("setItem: full").client(), "quota");
  // Firefox has its own error, and other storages have no error for this.
  for (const error of ["{ name: 'NS_ERROR_DOM_QUOTA_REACHED' }", "new Error('disk')", "null", "undefined"]) {
    const loss = error.includes("QUOTA") ? "quota" : "unavailable";
    worksInMemory(storage(`setItem() { throw ${error} }`).client(), loss);
  }
}, storage, worksInMemory));

test("fault 74: a storage that keeps nothing", inPage(async () => {
  worksInMemory(storage("setItem() {}").client(), "unavailable");
}, storage, worksInMemory));

test("a storage that changes its values", inPage(async () => {
  worksInMemory(
    storage("setItem: (name, text) => void map.set(name, text.slice(1))").client(),
    "unavailable",
  );
}, storage, worksInMemory));

test("a storage that can only be read", inPage(async () => {
  const page = storage("setItem: denied, removeItem: denied");
  worksInMemory(page.client(), "denied");
}, storage, worksInMemory));

test("a storage that cannot be listed", inPage(async () => {
  const page = storage("get length() { denied() }, key: denied");
  const client = page.client();
  send(client, "order:1", "{}");
  // The entry is stored, and nothing is lost.
  equal(state(page.client(), "order:1"), "sending");
  equal(client.pending().length, 0);
  equal(client.store.takeLoss(), undefined);
}, storage));

// A failed read must not lead to a second key while the outcome of the first is unknown.
test("a storage that fails for one read or one name", inPage(async () => {
  for (const error of ["new Error('disk')", "new DOMException('no', 'SecurityError')"]) {
    const page = storage(`getItem(name) { if (this.fails?.(name)) throw ${error}; return map.get(name) ?? null }`);
    const sent = send(page.client(), "order:1", "{}");
    sent.failed();
    const fail = (when) => run({ storage: page.storage }, `storage.fails = ${when}`);
    fail("() => { storage.fails = null; return true }");
    const one = page.client();
    equal(send(one, "order:1", "{}").key, sent.key, String(error));
    equal(one.store.takeLoss(), undefined);
    fail("name => name.endsWith('order:1')");
    const client = page.client();
    equal(state(client, "order:1"), "unknown");
    equal(refused(client, "order:1", "{}"), ["unknown", "unreadable"]);
    equal(send(client, "order:2", "{}").attempt, 1);
    fail("null");
    equal(send(client, "order:1", "{}").key, sent.key);
  }
}, storage));

test("a storage that removes nothing", inPage(async () => {
  const page = storage("removeItem: denied");
  const client = page.client();
  const sent = send(client, "order:1", "{}");
  sent.gets(201);
  client.forget("order:1");
  // This page has forgotten the entry, and reports that other pages have not.
  equal(state(client, "order:1"), "idle");
  equal(client.pending().length, 0);
  equal(client.store.takeLoss(), "denied");
  equal(state(page.client(), "order:1"), "succeeded");
  // The next key replaces the entry.
  const next = send(client, "order:1", "{}");
  equal(page.client().status("order:1").key, next.key);
}, storage));

test("a newer entry in memory counts", inPage(async () => {
  // The storage accepts the first entry of an intent, and no later one.
  const page = storage("setItem(name, text) { map.has(name) ? full() : map.set(name, text) }");
  const client = page.client();
  const sent = send(client, "order:1", "{}");
  equal(client.store.takeLoss(), undefined);
  sent.gets(201);
  equal(client.store.takeLoss(), "quota");
  equal(state(client, "order:1"), "succeeded");
  equal(refused(client, "order:1", "[]")[0], "payload_changed");
  equal(client.pending().length, 0);
  // Another page sees only the attempt, so it sends the same key again.
  const other = page.client();
  equal(state(other, "order:1"), "sending");
  equal(send(other, "order:1", "{}").key, sent.key);
}, storage));

test("a storage that returns garbage", inPage(async () => {
  for (const garbage of ["'garbage'", "''", "'1 '", "String(Math.random())"]) {
    const page = storage(`getItem: () => ${garbage}`);
    const client = page.client();
    const known = client.status("order:1");
    equal(known.state, "unknown", String(garbage));
    ok(known.problem.includes("damaged"), String(garbage));
    // The entry may belong to a payment, so it is not replaced by a new key.
    equal(refused(client, "order:1", "{}"), ["unknown", "unreadable"]);
  }
}, storage));

test("a value that is not a storage", inPage(async () => {
  for (const other of ["{}", "[]", "new Map()"]) {
    const page = Page.withStorage(`return ${other}`);
    const client = page.client();
    send(client, "order:1", "{}");
    equal(client.store.takeLoss(), "unavailable", String(other));
    equal(state(client, "order:1"), "sending", String(other));
  }
}));

test("an asynchronous storage is an error, because nothing would be stored", inPage(async () => {
  const page = Page.withStorage("return { getItem: async () => null, setItem: async () => {} }");
  let message = "nothing";
  try {
    page.client();
  } catch (error) {
    message = error.message;
  }
  ok(message.startsWith("storage is asynchronous. Use asyncStore"), message);
}));

test("a storage that does not return texts", inPage(async () => {
  for (const value of ["undefined", "42", "true", "({})", "[]", "new Date(0)", "Symbol()"]) {
    worksInMemory(storage(`getItem: () => ${value}`).client(), "unavailable");
  }
}, storage, worksInMemory));

test("fault 74: a storage that breaks later", inPage(async () => {
  const page = storage(
    `setItem(name, text) { this.broken ? denied() : map.set(name, text) },
    getItem(name) { return this.broken ? denied() : map.get(name) ?? null },`,
  );
  const client = page.client();
  const sent = send(client, "order:1", "{}");
  sent.failed();
  run({ storage: page.storage }, "storage.broken = true");
  // The page remembers what it has stored, so it makes no second key.
  equal(client.status("order:1").key, sent.key);
  equal(send(client, "order:1", "{}").key, sent.key);
  equal(client.store.takeLoss(), "denied");
  const last = send(client, "order:1", "{}");
  equal(last.gets(201).end, "response");
  equal(state(client, "order:1"), "succeeded");
}, storage));
