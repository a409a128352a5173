// The life of a guard, and unusual pages.
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, inPage } = guardPages();
before(start);
after(close);

test("a form has one guard", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  const callback = page.callback("undefined");
  const message = "Error: oncekey: this form already has a guard. Detach the other guard first.";
  equal(thrown(() => page.guardBy("{}", callback)), message);
  guard.detach();
  page.guard("{}");
  // The first guard is detached, and detaching it again does not affect the second guard.
  guard.detach();
  equal(thrown(() => page.guardBy("{}", callback)), message);
  page.click("button");
  await settle();
  equal(page.events(), [ENTRIES, SENT]);
}));

test("a guard that is detached does nothing", inPage(async () => {
  const page = new Page(FORM);
  const before = page.text("root.innerHTML");
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.click("button");
  await settle();
  differs(page.text("root.innerHTML"), before);
  guard.detach();
  equal(page.text("root.innerHTML"), before);
  ok(!guard.locked);
  guard.detach();
  guard.release();
  guard.settle("succeeded");
  guard.resubmit();
  guard.say("Nothing");
  ok(!guard.locked);
  equal(page.text("root.innerHTML"), before);
  page.events();
  page.click("button");
  page.click("button");
  equal(page.events(), [ENTRIES, ENTRIES], "the browser posts as without a guard");
}));

test("a guard that is detached before it has sent sends nothing", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  const stop = page.catchErrors();
  page.click("button");
  guard.detach();
  await settle();
  stop();
  equal(page.events(), [ENTRIES]);
}));

test("a handler detaches the guard during a submit", inPage(async () => {
  for (const options of ["{}", "{send: 'navigate'}"]) {
    for (const place of ["form", "root"]) {
      for (const capture of ["true", "false"]) {
        const page = new Page(FORM);
        const guard = page.guard(options, "'key'");
        page.js(
          `${place}.addEventListener('submit', e => {
              it(); e.stopPropagation(); e.preventDefault() }, ${capture})`,
          () => guard.detach(),
        );
        page.click("button");
        await settle();
        ok(!guard.locked);
        equal(page.text("form.outerHTML.includes('aria-')"), "false");
        equal(page.text("$('output') || $('[name=idempotency_key]')"), "null");
      }
    }
  }
}));

test("a handler detaches the guard when a submit is blocked", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  page.js(
    "form.addEventListener('oncekey:blocked', it)",
    () => guard.detach(),
  );
  page.click("button");
  page.click("button");
  await settle();
  ok(!guard.locked);
}));

test("the guard stays when its handle is dropped", inPage(async () => {
  const page = new Page(FORM);
  page.guard("{}");
  page.click("button");
  page.click("button");
  await settle();
  equal(page.events(), [ENTRIES, "blocked", SENT]);
}));

test("invalid arguments are refused", inPage(async () => {
  const page = new Page("<p></p><form></form>");
  const callback = page.callback("undefined");
  for (const what of ["$('p')", "null", "undefined", "{}", "'form'"]) {
    equal(thrown(() => page.guardForm(page.js(`return (${what})`), undefined, callback)), "TypeError: oncekey: guardForm needs a form element.");
  }
  equal(page.text("$('output')"), "null", "the page is unchanged");
  page.guard("{}").detach();
}));

test("controls whose names hide the form's own properties", inPage(async () => {
  const names = [
    "method",
    "action",
    "elements",
    "addEventListener",
    "removeEventListener",
    "getAttribute",
    "setAttribute",
    "removeAttribute",
    "appendChild",
    "after",
    "append",
    "querySelector",
    "querySelectorAll",
    "ownerDocument",
    "parentNode",
    "getRootNode",
    "dispatchEvent",
    "target",
    "requestSubmit",
    "isConnected",
    "localName",
    "remove",
    "children",
    "length",
    "name",
    "style",
  ];
  for (const options of ["{send: 'navigate', busyLabel: 'Busy'}", "{busyLabel: 'Busy', disable: 'native'}"]) {
    const inputs = names.map((name) => `<input type=hidden name=${name}>`).join("");
    const page = new Page(`<form method=post action="about:blank" target=sink>${inputs}
      <input type=image name=image><button name=submit value=pay>Pay</button></form>`);
    const before = page.text("root.innerHTML");
    const guard = page.guard(options, "number > 1 ? 'key' : null");
    page.click("button");
    page.click("button");
    await settle();
    equal(page.text("$('[type=image]').matches('[aria-disabled],:disabled')"), "true");
    const events = page.events();
    ok(events[0].endsWith("&name=&style=&submit=pay"), `${events}`);
    ok(events.includes("blocked"));
    guard.resubmit();
    await settle();
    if (options.includes("navigate")) {
      ok(page.events()[2].endsWith("&submit=pay&idempotency_key=key"));
    }
    guard.say("Busy");
    guard.release();
    guard.detach();
    equal(page.text("root.innerHTML"), before);
  }
}));

// A listener for `unload` or `beforeunload` would keep every page of the site out of the browser's cache for Back.
test("the guard listens only to submit, pageshow, clicks and keys", inPage(async () => {
  const page = new Page(FORM);
  page.js(`root.real = EventTarget.prototype.addEventListener;
    EventTarget.prototype.addEventListener = function (kind, ...rest) {
      log.push(\`\${this === window ? 'window' : this.localName} \${kind}\`);
      return root.real.call(this, kind, ...rest);
    }`);
  const guard = page.guard("{send: 'navigate'}");
  page.click("button");
  page.js("EventTarget.prototype.addEventListener = root.real");
  const listened = page.events().filter((event) => !event.startsWith("sent") && !event.startsWith("entries"));
  const presses = ["window click", "window keydown", "window keypress", "window keyup"];
  const submit = ["form submit", "window pageshow", "form submit"];
  equal(listened, [...presses, ...submit]);
  guard.detach();
}));
