// A storage that is full: entries that are no longer needed are removed, otherwise memory is used.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

/** Fills what is left of the browser's storage, to the last character. */
function fill() {
  let text = "x".repeat(2 ** 23);
  for (let number = 0; text.length > 0; number++) {
    try {
      localStorage.setItem(`filler-${number}`, text);
    } catch {
      text = text.slice(0, text.length / 2);
    }
  }
}

function empty() {
  for (const name of Object.keys(localStorage)) if (name.startsWith("filler-")) localStorage.removeItem(name);
}

test("fault 74: memory replaces storage and the page is warned once", inPage(async () => {
  const page = new Page();
  const client = page.client();
  fill();
  const sent = send(client, "order:1", "{}");
  equal(page.stored("order:1"), undefined);
  equal(client.store.takeLoss(), "quota");
  // This page continues as before.
  equal(state(client, "order:1"), "sending");
  equal(sent.failed().do, "wait");
  equal(send(client, "order:1", "{}").key, sent.key);
  equal(client.pending().length, 1);
  send(client, "order:2", "{}");
  equal(client.store.takeLoss(), undefined);
  // A reload finds nothing, as the page was warned.
  equal(state(page.client(), "order:1"), "idle");
}, fill));

test("an entry is stored once the storage has space", inPage(async () => {
  const page = new Page();
  const client = page.client();
  fill();
  const sent = send(client, "order:1", "{}");
  empty();
  sent.failed();
  equal(page.client().status("order:1").key, sent.key);
  // After that, the stored entry counts, whichever page stores it.
  send(page.client(), "order:1", "{}").gets(201);
  equal(state(client, "order:1"), "succeeded");
}, fill, empty));

test("entries of refused requests are removed", inPage(async () => {
  const page = new Page();
  const client = page.client();
  const kept = [];
  for (const number of [0, 1, 2, 3]) {
    send(client, `refused:${number}`, "{}").gets(402);
    send(client, `done:${number}`, "{}").gets(201);
    kept.push(`done:${number}`);
    send(client, `open:${number}`, "{}").failed();
    kept.push(`open:${number}`);
  }
  // An unreadable entry may belong to a payment.
  page.store("damaged", "?");
  kept.push("damaged");
  // Entries of other namespaces and of the page are not removed.
  const neighbour = new Page();
  send(neighbour.client(), "refused", "{}").gets(402);
  localStorage.setItem("cart", "2 apples");
  fill();
  const sent = send(client, "order:new", "{}");
  equal(page.client().status("order:new").key, sent.key);
  equal(client.store.takeLoss(), undefined);
  ok(!page.all().includes("refused"), page.all());
  for (const intent of kept) {
    ok(page.stored(intent) !== undefined, intent);
  }
  ok(neighbour.stored("refused") !== undefined);
  equal(localStorage.getItem("cart"), "2 apples");
}, fill));
