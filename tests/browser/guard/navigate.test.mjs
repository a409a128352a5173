// A form that the browser posts itself, with the key in a hidden field.
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, inPage } = guardPages();
before(start);
after(close);

/** Runs in the page. Checks that the second submit, by the other button, got its key and was posted. */
function isResent(page) {
  equal(page.events(), [
    "entries card=4242&how=later",
    "sent 2 later card=4242&how=later",
    "entries card=4242&how=later&idempotency_key=key",
  ]);
}

test("the browser posts the key once", inPage(async () => {
  const page = new Page(FORM);
  page.js("$('iframe').onload = () => log.push('loaded')");
  await settle();
  page.events();
  const guard = page.guard("{send: 'navigate', disable: 'native', busyLabel: 'Busy'}", "'key'");
  page.click("button");
  page.click("button");
  equal(page.text("$('button').textContent + $('button').disabled"), "Payfalse");
  await page.until("log.includes('loaded')");
  page.click("[value=later]");
  page.js("form.requestSubmit()");
  equal(page.text("$('button').textContent + $('button').disabled"), "Busytrue");
  // A disabled button submits nothing, so the third submit is not even an event.
  equal(page.events(), [ENTRIES, SENT, POSTED, "blocked", "loaded", "blocked"]);
  ok(guard.locked, "the form stays locked during the navigation");
  equal(page.text("$('[name=idempotency_key]').type"), "hidden");
  guard.release();
  equal(page.text("$('[name=idempotency_key]')"), "null");
  page.click("button");
  equal(page.events()[2], POSTED, "the form has one key");
}));

test("a form whose method was changed to get is not sent", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "'key'");
  page.js("form.method = 'get'");
  const stop = page.catchErrors();
  page.click("button");
  await settle();
  stop();
  const message = "TypeError: oncekey: send \"navigate\" needs a form with method=\"post\".";
  equal(page.events(), [message], "no key is requested");
  ok(!guard.locked);
  page.js("$('button').formMethod = 'post'");
  page.click("button");
  await settle();
  equal(page.events(), [ENTRIES, "sent 2 pay card=4242&how=pay", POSTED]);
}));

test("the busy label of a submit input is not sent", inPage(async () => {
  const page = new Page(
    `<form method=POST action="about:blank" target=sink>
    <input type=submit name=how value=pay data-oncekey-busy="Just a moment"></form>`,
  );
  const guard = page.guard("{send: 'navigate', keyField: 'k', busyLabel: 'Busy'}", "'1'");
  page.click("[name=how]");
  await settle();
  equal(page.events(), ["entries how=pay", "sent 1 pay how=pay", "entries how=pay&k=1"]);
  equal(page.text("form.how.value"), "Just a moment");
  guard.release();
  equal(page.text("form.how.value"), "pay");
}));

test("a key that arrives late is posted", inPage(async () => {
  for (const label of ["{send: 'navigate', busyLabel: 'Busy'}", "{send: 'navigate', disable: 'native'}"]) {
    const page = new Page(FORM);
    const guard = page.guard(label, "number > 1 ? 'key' : null");
    page.click("[value=later]");
    await settle();
    page.click("button");
    equal(
      page.events().slice(0, 2),
      ["entries card=4242&how=later", "sent 1 later card=4242&how=later"]
    );
    ok(guard.locked, "it waits");
    guard.resubmit();
    guard.resubmit();
    isResent(page);
    await settle();
    guard.resubmit();
    ok(page.events().length === 0);
    ok(guard.locked);
    guard.release();
    equal(page.text("form.outerHTML.includes('aria-')"), "false");
    equal(
      page.text("$('[value=later]').textContent + $('[value=later]').disabled"),
      "Pay laterfalse"
    );
  }
}, isResent));

// The browser ignores a submit during the event.
test("a key that arrives during the event is posted", inPage(async () => {
  const page = new Page(FORM);
  page.js("root.result = () => { Promise.resolve().then(() => root.again()); return null }");
  const guard = page.guard(NAVIGATE, "number > 1 ? 'key' : root.result()");
  page.js("root.again = it", () => guard.resubmit());
  page.click("[value=later]");
  await settle();
  const events = page.events();
  equal(events[1], "sent 1 later card=4242&how=later");
  equal(events[4], "entries card=4242&how=later&idempotency_key=key", `${events}`);
  equal(events.length, 5);
  ok(guard.locked);
}));

test("a handler can cancel a submit that waits for its key", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "null");
  page.js("root.addEventListener('submit', e => e.preventDefault())");
  page.click("button");
  await settle();
  ok(!guard.locked);
  guard.resubmit();
  await settle();
  equal(page.events(), [ENTRIES, SENT]);

  page.js("root.again = it", () => guard.resubmit());
  page.js("root.addEventListener('submit', () => root.again(), true)");
  page.click("button");
  await settle();
  ok(!guard.locked);
}));

test("a field that becomes invalid before the key arrives", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "null");
  page.click("button");
  await settle();
  page.js("form.card.required = true; form.card.value = ''");
  guard.resubmit();
  ok(!guard.locked, "the buyer can correct it");
  equal(page.text("form.hasAttribute('aria-busy')"), "false");
  equal(page.events().length, 2);
}));

test("a form or a button that is removed before the key arrives", inPage(async () => {
  for (const [script, throws] of [["form.remove()", false], ["$('button').remove()", true]]) {
    const page = new Page(FORM);
    const guard = page.guard(NAVIGATE, "null");
    page.click("button");
    await settle();
    page.js(script);
    equal(thrown(() => guard.resubmit()) !== "nothing", throws, script);
    ok(!guard.locked, script);
    equal(page.events().length, 2);
  }
}));

test("another button can be submitted", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "number > 1 ? 'key' : null");
  page.js("form.requestSubmit()");
  await settle();
  page.events();
  const button = page.js("return $('[value=later]')");
  guard.resubmit(button);
  isResent(page);
}, isResent));

test("a form can be submitted without a button", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "number > 1 ? 'key' : null");
  page.js("form.requestSubmit()");
  await settle();
  guard.resubmit();
  equal(
    page.events().slice(3),
    ["sent 2 undefined card=4242", "entries card=4242&idempotency_key=key"]
  );
}));

test("the method must be post", inPage(async () => {
  for (const html of ["<form>", "<form method=get>", "<form method=dialog>", "<form method=put>"]) {
    const page = new Page(html);
    const callback = page.callback("'key'");
    const message = thrown(() => page.guardBy(NAVIGATE, callback));
    equal(
      message,
      "TypeError: oncekey: send \"navigate\" needs a form with method=\"post\"."
    );
    page.guard("{}");
  }
}));

test("a visible field with the name of the key field is an error", inPage(async () => {
  const page = new Page(FORM);
  const callback = page.callback("'key'");
  const message = "Error: oncekey: keyField must name one hidden field of the form, or none.";
  equal(thrown(() => page.guardBy("{send: 'navigate', keyField: 'card'}", callback)), message);
  const guard = page.guard(NAVIGATE, "'key'");
  page.js("form.card.name = 'idempotency_key'");
  const stop = page.catchErrors();
  page.click("button");
  await settle();
  stop();
  equal(page.events().slice(2), [message], "nothing is posted");
  ok(!guard.locked);
}));

test("the key is sent in the field that the server has rendered", inPage(async () => {
  for (const value of ["theirs", ""]) {
    const page = new Page(FORM.replace(
      "<input",
      `<input type=hidden name=idempotency_key value="${value}"><input`,
    ));
    const guard = page.guard(NAVIGATE, "'key'");
    page.click("button");
    await settle();
    const posted = "entries idempotency_key=key&card=4242&how=pay";
    equal(page.events().slice(2), [posted]);
    guard.release();
    equal(page.text("$('[name=idempotency_key]').getAttribute('value')"), value);
    equal(page.text("root.querySelectorAll('[name=idempotency_key]').length"), "1");
  }
}));

test("a value that is not a key is an error", inPage(async () => {
  const message = "TypeError: oncekey: the callback must return a key or nothing.";
  for (const result of ["''", "7", "Promise.resolve('key')", "false"]) {
    const page = new Page(FORM);
    const guard = page.guard(NAVIGATE, result);
    const stop = page.catchErrors();
    page.click("button");
    await settle();
    stop();
    equal(page.events(), [ENTRIES, SENT, message], `${result}`);
    ok(!guard.locked);
  }
}));

test("an event that a script created posts nothing", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard(NAVIGATE, "'key'");
  const script = "form.dispatchEvent(new SubmitEvent('submit', {bubbles: true, cancelable: true}))";
  page.js(script);
  await settle();
  ok(!guard.locked);
  ok(page.events().length === 0);
  page.click("button");
  page.events();
  page.js(script);
  equal(page.events(), ["blocked"]);
}));

test("the callback can settle, release or detach the guard", inPage(async () => {
  for (const does of [(guard) => guard.release(), (guard) => guard.detach(), (guard) => guard.settle("refused")]) {
    for (const options of ["{}", NAVIGATE]) {
      const page = new Page(FORM);
      const guard = page.guard(options, "(root.does(), 'key')");
      page.js("root.does = it", () => does(guard));
      page.click("button");
      await settle();
      equal(page.events(), [ENTRIES, SENT]);
      ok(!guard.locked);
      equal(page.text("form.outerHTML.includes('aria-')"), "false");
      equal(page.text("$('[name=idempotency_key]')"), "null");
    }
  }
}));
