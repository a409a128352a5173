// Two tabs without Web Locks, on one storage.
import { after, before, test } from "node:test";
import { storePages } from "./support.mjs";

const { start, stop: close, inPage } = storePages();
before(start);
after(close);

/** The name of the command, and after how long. */
function command({ do: name, after = 0 }) {
  return [name, after];
}

test("one tab sends and the other waits", inPage(async () => {
  const page = new Page();
  const [one, other] = [page.client(), page.client()];
  ok(!one.holdsLease("order:1"));
  equal(command(one.acquireLease("order:1"))[0], "confirm");
  ok(one.holdsLease("order:1"));
  ok(!other.holdsLease("order:1"));
  equal(command(other.acquireLease("order:1")), ["wait", 1000]);
  equal(command(one.acquireLease("order:1"))[0], "send");
  ok(one.renewLease("order:1"));
  ok(!other.renewLease("order:1"));
  // Another intent has its own lease.
  equal(command(other.acquireLease("order:2"))[0], "confirm");
}, command));

test("a tab that is done releases its lease", inPage(async () => {
  const page = new Page();
  const [one, other] = [page.client(), page.client()];
  one.acquireLease("order:1");
  // A tab that does not send cannot remove the lease.
  other.releaseLease("order:1");
  ok(one.holdsLease("order:1"));
  one.releaseLease("order:1");
  equal(page.all(), "");
  ok(!one.holdsLease("order:1"));
  equal(command(other.acquireLease("order:1"))[0], "confirm");
  ok(!one.renewLease("order:1"));
}, command));

test("the last of two leases that were written at once counts", inPage(async () => {
  const page = new Page();
  const [one, other] = [page.client(), page.client()];
  one.acquireLease("order:1");
  const name = `${page.namespace}:c:order:1`;
  const first = localStorage.getItem(name);
  // The other tab had read before the first lease was written.
  localStorage.removeItem(name);
  other.acquireLease("order:1");
  ok(!one.holdsLease("order:1"));
  ok(other.holdsLease("order:1"));
  // If the first tab had written last, it would have the lease.
  localStorage.setItem(name, first);
  ok(one.holdsLease("order:1"));
  ok(!other.holdsLease("order:1"));
}));

test("the lease of a closed page ends", inPage(async () => {
  const page = new Page();
  page.client().acquireLease("order:1");
  const client = page.client();
  equal(command(client.acquireLease("order:1"))[0], "wait");
  const later = run({}, "const now = Date.now; Date.now = () => now() + 15001; return now");
  const acquired = command(client.acquireLease("order:1"))[0];
  const isHeld = client.holdsLease("order:1");
  run({ now: later }, "Date.now = now");
  equal([acquired, isHeld], ["confirm", true]);
}, command));

test("garbage is not a lease", inPage(async () => {
  const page = new Page();
  const client = page.client();
  for (const garbage of ["", "?", "c1 0 0", "c1 0123456789abcdef 99999999999999 00000000"]) {
    const name = `${page.namespace}:c:order:1`;
    localStorage.setItem(name, garbage);
    ok(!client.holdsLease("order:1"));
    equal(command(client.acquireLease("order:1"))[0], "confirm", String(garbage));
    client.releaseLease("order:1");
  }
}, command));

test("with a failing storage each page has its own lease", inPage(async () => {
  const page = Page.withStorage(
    "return { setItem() { throw new DOMException('no', 'SecurityError') }, getItem: () => null }",
  );
  const [one, other] = [page.client(), page.client()];
  for (const client of [one, other]) {
    equal(command(client.acquireLease("order:1"))[0], "confirm");
    ok(client.holdsLease("order:1"));
    equal(command(client.acquireLease("order:1"))[0], "send");
  }
}, command));
