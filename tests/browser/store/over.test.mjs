// Settled intents older than the retention are found and removed. Pending intents stay.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

/** Runs something this many days ago. */
function daysAgo(days, run) {
  const { now } = Date;
  Date.now = () => now() - days * 86_400_000;
  try {
    return run();
  } finally {
    Date.now = now;
  }
}

test("a settled intent is removed after the retention and a pending one stays", inPage(async () => {
  const page = new Page();
  const client = page.client();
  send(client, "young", "{}").gets(201);
  daysAgo(400, () => {
    for (const [intent, status] of [["done", 201], ["refused", 402]]) send(client, intent, "{}").gets(status);
    send(client, "voided", "{}").failed();
    send(client, "lost", "{}");
    send(client, "unknown", "{}").failed();
    const abandoned = page.client({ keyCalls: true }).abandon("voided");
    equal(abandoned.begin().do, "ask");
    equal(abandoned.reported(404).do, "void");
    equal(abandoned.reported(200, "voided").do, "end");
    equal(state(client, "voided"), "voided");
  });
  page.store("damaged", "?");
  const over = page.client().over(true).sort();
  equal(over, ["done", "refused", "voided"]);
  for (const intent of ["young", "lost", "unknown", "damaged", "nothing"]) {
    ok(!(await client.removeOver(intent)), intent);
  }
  for (const intent of over) {
    ok(await client.removeOver(intent));
    equal([page.stored(intent) ?? "none", state(client, intent)], ["none", "idle"]);
  }
  ok(client.over(true).length === 0);
  equal(client.pending().length, 3);
}, daysAgo));

test("an entry that was sent again meanwhile is not removed", inPage(async () => {
  const page = new Page();
  const client = page.client();
  daysAgo(2, () => send(client, "order:1", "{}").gets(402));
  equal(client.over(true), ["order:1"]);
  const again = send(page.client(), "order:1", "{}");
  ok(!(await client.removeOver("order:1")));
  equal(client.status("order:1").key, again.key);
}, daysAgo));

test("each call checks a few entries and several calls check all", inPage(async () => {
  const page = new Page();
  const client = page.client();
  daysAgo(2, () => send(client, "order:0", "{}").gets(201));
  const old = page.stored("order:0");
  for (let number = 1; number < 200; number++) {
    page.store(`order:${number}`, old);
  }
  for (let number = 0; number < 100; number++) {
    localStorage.setItem(`mine:${number}`, "x");
  }
  let rounds = 0;
  while (client.over(true).length > 0) {
    const over = client.over(false);
    ok(over.length <= 8);
    for (const intent of over) {
      await client.removeOver(intent);
    }
    rounds += 1;
    ok(rounds < 200, `${client.over(true).length} are left`);
  }
  equal(localStorage.length, 100);
}, daysAgo));

test("a settled entry that becomes pending again is listed", inPage(async () => {
  const page = new Page();
  const client = page.client();
  send(client, "order:1", "{}").gets(402);
  for (let times = 0; times < 3; times++) {
    equal(client.pending().length, 0);
  }
  // Another tab sends again, and gets no response.
  const again = send(page.client(), "order:1", "{}");
  const list = client.pending();
  equal(list.length, 1);
  equal(list[0].key, again.key);
  page.store("order:1", "?");
  equal(client.pending()[0].state, "unknown");
}));

test("a storage that breaks does not hide pending entries", inPage(async () => {
  const page = Page.withStorage(
    `const map = new Map();
    return {
      broken: null,
      get length() { return map.size },
      key: (index) => [...map.keys()][index] ?? null,
      getItem(name) { if (this.broken && name.endsWith(this.broken)) throw new Error(); return map.get(name) ?? null },
      setItem: (name, text) => void map.set(name, String(text)),
      removeItem: (name) => void map.delete(name),
    }`,
  );
  const client = page.client();
  send(client, "order:1", "{}").gets(201);
  send(client, "order:2", "{}");
  equal(client.pending().length, 1);
  run({ storage: page.storage }, "storage.broken = ':i:order:2'");
  const other = page.client();
  const intents = other.pending().map(({ intent }) => intent);
  equal(intents, ["order:2"], "an entry that cannot be read counts as unknown");
  equal(client.pending()[0].intent, "order:2");
}));
