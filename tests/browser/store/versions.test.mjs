// Entries that this version cannot or must not read: they never count as absent.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

/** Returns fields with the checksum that every version adds at the end. */
async function sealed(fields) {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(fields));
  const digits = Array.from(new Uint8Array(sum, 0, 4), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${fields} ${digits}`;
}

/** Checks that nothing is sent and the stored text stays, until the entry is forgotten. */
function isLeftAlone(stored) {
  const page = new Page();
  page.store("order:1", stored);
  const client = page.client();
  equal(state(client, "order:1"), "unknown", stored);
  equal(refused(client, "order:1", "{}"), ["unknown", "unreadable"]);
  equal(client.pending().length, 1);
  equal(client.resolve("order:1", false).begin().end, "status");
  equal(client.abandon("order:1").begin().end, "status");
  equal(page.stored("order:1"), stored);
  equal(client.store.takeLoss(), undefined);
  return page;
}

function canBeForgotten(page) {
  const client = page.client();
  client.forget("order:1");
  equal(page.stored("order:1"), undefined);
  differs(send(client, "order:1", "{}").key, KEY);
}

test("garbage is left alone", inPage(async () => {
  for (const garbage of ["", " ", "1", "null", '{"key":"k"}', "1 k", "\u{0}", "🛒 1"]) {
    canBeForgotten(isLeftAlone(garbage));
  }
  canBeForgotten(isLeftAlone("1 ".repeat(100_000)));
}, isLeftAlone, canBeForgotten));

test("an entry of a newer version is left alone", inPage(async () => {
  for (const fields of [`3 ${KEY} a form of its own`, `17 ${KEY} x`, `4294967295 ${KEY} .`]) {
    const page = isLeftAlone(await sealed(fields));
    const known = page.client().status("order:1");
    // The state of its key can be requested.
    equal(known.key, KEY, String(fields));
    ok(known.problem.includes("newer version"));
    canBeForgotten(page);
  }
}, sealed, isLeftAlone, canBeForgotten));

test("an entry of an older version is left alone", inPage(async () => {
  for (const fields of [`0 ${KEY} x`, `-1 ${KEY} x`, `v1 ${KEY} x`]) {
    canBeForgotten(isLeftAlone(await sealed(fields)));
  }
}, sealed, isLeftAlone, canBeForgotten));

test("a damaged entry is left alone", inPage(async () => {
  const page = new Page();
  send(page.client(), "order:1", "{}");
  const whole = page.stored("order:1");
  for (const cut of [1, whole.length >> 1, whole.length - 1]) {
    isLeftAlone(whole.slice(0, cut));
  }
  isLeftAlone(`${whole} `);
  isLeftAlone(whole.replace("s", "v"));
  isLeftAlone(whole.toUpperCase());
  // An entry with a correct checksum is also refused if the lifecycle cannot produce it.
  const fields = whole.slice(0, whole.lastIndexOf(" "));
  equal(await sealed(fields), whole);
  for (const other of [
    fields.replace(" s ", " x "),
    fields.replace(" s ", " +500 "),
    `${fields} 1`,
  ]) {
    differs(other, fields);
    isLeftAlone(await sealed(other));
  }
}, sealed, isLeftAlone));
