// Which submits are sent, and with which values.
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, inPage } = guardPages();
before(start);
after(close);

test("fault 48: the first submit is sent", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("undefined");
  page.click("button");
  ok(guard.locked, "at once");
  // The values are read at the submit. Later changes of the form do not count.
  page.js("form.card.value = ''");
  await settle();
  equal(page.events(), [ENTRIES, SENT]);
  equal(page.text("frames.sink.length"), "0");
}));

test("a double click sends once", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  // Other listeners do not get the second submit, whenever they were added.
  page.js(`for (const capture of [true, false])
      form.addEventListener('submit', () => log.push('submitted'), capture)`);
  page.click("button");
  page.click("button");
  await settle();
  page.click("button");
  equal(page.events(), ["submitted", "submitted", ENTRIES, "blocked", SENT, "blocked"]);
  guard.settle("refused");
  ok(!guard.locked);
  page.click("button");
  await settle();
  equal(page.events()[3], "sent 2 pay card=4242&how=pay");
}));

test("repeats of Enter that is held down, and clicks of other buttons, are blocked", inPage(async () => {
  const page = new Page(FORM);
  page.guard("{}");
  page.js("for (let i = 0; i < 5; i++) form.requestSubmit()");
  await settle();
  page.click("[value=later]");
  page.js("form.requestSubmit($('[value=later]'))");
  page.js("form.dispatchEvent(new SubmitEvent('submit', {bubbles: true, cancelable: true}))");
  const blocked = (times) => Array(times).fill("blocked");
  equal(page.events(), ["entries card=4242", ...blocked(4), "sent 1 undefined card=4242", ...blocked(3)]);
}));

test("a blocked submit is reported to the page without its values", inPage(async () => {
  const page = new Page(FORM);
  page.guard("{}");
  page.js(`root.addEventListener('oncekey:blocked', e =>
      log.push([e.target === form, e.bubbles, e.cancelable, e.detail].join()))`);
  page.click("button");
  page.click("button");
  equal(page.events().slice(1), ["blocked", "true,true,false,"]);
}));

test("a blocked submit is reported with the detail that the page chooses", inPage(async () => {
  const page = new Page(FORM);
  page.guard("{detail: () => ({intent: 'order:1'})}");
  page.js("form.addEventListener('oncekey:blocked', e => log.push(e.detail.intent))");
  page.click("button");
  page.click("button");
  equal(page.events().slice(1), ["blocked", "order:1"]);
}));

test("fault 47: no second submit is sent while the server is slow", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  page.click("button");
  await wait(1200);
  page.click("button");
  await settle();
  equal(page.events(), [ENTRIES, SENT, "blocked"]);
  ok(guard.locked);
}));

test("fault 46: the name of the clicked button is sent", inPage(async () => {
  for (const options of ["{}", "{disable: 'native'}", "{busyLabel: 'Busy'}"]) {
    const page = new Page(
      `<form id=f><input name=card value=1><input type=submit name=how value=pay></form>
      <button form=f name=how value=outside></button>
      <input type=image form=f name=at>`,
    );
    const guard = page.guard(options);
    for (const [selector, sent] of [
      ["[type=submit]", "sent 1 pay card=1&how=pay"],
      ["button", "sent 2 outside card=1&how=outside"],
      ["[type=image]", "sent 3  card=1&at.x=0&at.y=0"],
    ]) {
      page.click(selector);
      await settle();
      equal(page.events()[1], sent, `${options}`);
      guard.release();
    }
  }
}));

test("a browser whose form data does not support submitters", inPage(async () => {
  const page = new Page(
    `<form><input name=card value=1><button name=how value=pay></button>
    <button id=nameless></button><input type=image><input type=image name=at></form>`,
  );
  const guard = page.guard("{}");
  const old = page.js(`const real = FormData;
    window.FormData = function (form) { return new real(form) };
    return real`);
  for (const [selector, sent] of [
    ["button", "sent 1 pay card=1&how=pay"],
    ["#nameless", "sent 2  card=1"],
    ["[type=image]:not([name])", "sent 3  card=1&x=0&y=0"],
    ["[name=at]", "sent 4  card=1&at.x=0&at.y=0"],
  ]) {
    page.click(selector);
    await settle();
    equal(page.events().at(-1), sent);
    guard.release();
  }
  page.js("window.FormData = it", old);
}));

test("fault 44: a form with an empty required field is not locked", inPage(async () => {
  const page = new Page("<form><input name=card required><button>Pay</button></form>");
  const guard = page.guard("{}");
  page.click("button");
  await settle();
  ok(!guard.locked);
  equal(page.text("form.hasAttribute('aria-busy')"), "false");
  page.js("form.card.value = 1");
  page.click("button");
  await settle();
  equal(page.events(), ["entries card=1", "sent 1  card=1"]);
}));

test("fault 42: a form stays locked after a success", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  page.click("button");
  await settle();
  guard.settle("succeeded", 1);
  for (const outcome of ["refused", "unknown", "failed"]) {
    guard.settle(outcome);
  }
  page.click("button");
  await settle();
  equal(page.events(), [ENTRIES, SENT, "blocked"]);
  ok(guard.locked);
  guard.release();
  ok(!guard.locked);
}));

test("fault 41: a form is unlocked when its page returns from the cache", inPage(async () => {
  for (const outcome of [undefined, "succeeded"]) {
    const page = new Page(FORM);
    const guard = page.guard("{disable: 'native', busyLabel: 'Busy'}");
    page.click("button");
    await settle();
    if (outcome) {
      guard.settle(outcome);
    }
    const show = "window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: it}))";
    page.js(show, false);
    ok(guard.locked, "the first load is not a return");
    // After a success, the form is locked and not busy.
    const look = outcome ? "truePayfalse" : "trueBusytrue";
    const shown = "$('button').disabled + $('button').textContent + form.hasAttribute('aria-busy')";
    equal(page.text(shown), look);
    page.js(show, true);
    ok(!guard.locked);
    equal(page.text("$('button').disabled + $('button').textContent"), "falsePay");
    equal(page.text("form.hasAttribute('aria-busy')"), "false");
    page.events();
    page.click("button");
    await settle();
    equal(page.events()[1], "sent 2 pay card=4242&how=pay");
  }
}));

test("each result except a success unlocks the form", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  for (const outcome of ["refused", "unknown", "failed"]) {
    page.click("button");
    await settle();
    guard.settle(outcome);
    ok(!guard.locked, `${outcome}`);
  }
}));

test("the result of an earlier submit does not unlock a later one", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  page.click("button");
  await settle();
  guard.release();
  page.click("button");
  // The second submit was not sent yet, so this is not its result.
  guard.settle("failed");
  ok(guard.locked);
  await settle();
  guard.settle("failed", 1);
  ok(guard.locked);
  guard.settle("failed", 2);
  ok(!guard.locked);
}));

test("an error of the callback unlocks the form and is reported", inPage(async () => {
  const page = new Page(FORM);
  const throws = "(() => { throw new RangeError('no') })()";
  for (const options of ["{}", "{send: 'navigate'}"]) {
    const guard = page.guard(options, throws);
    const stop = page.catchErrors();
    page.click("button");
    await settle();
    ok(!guard.locked);
    equal(page.events(), [ENTRIES, SENT, "RangeError: no"], "the browser does not post either");
    equal(page.text("form.hasAttribute('aria-busy')"), "false");
    stop();
    guard.detach();
  }
}));

test("a get button or a dialog button does not lock the form", inPage(async () => {
  for (const options of ["{}", "{send: 'navigate'}"]) {
    const page = new Page(
      `<form method=post action="about:blank" target=sink>
      <button id=pay>Pay</button>
      <button id=get formmethod=get formaction="about:blank">Back</button></form>`,
    );
    const guard = page.guard(options, "'key'");
    page.click("#get");
    await settle();
    ok(!guard.locked);
    equal(page.events(), ["entries "], "the browser sends the GET itself");
    page.click("#pay");
    page.events();
    page.click("#get");
    equal(page.events(), ["blocked"], "the GET would cancel the payment");
  }
  // The browser closes the dialog itself.
  const page = new Page(
    "<dialog><form><button>Pay</button><button id=no formmethod=dialog>No</button></form></dialog>",
  );
  const guard = page.guard("{}");
  page.js("$('dialog').showModal()");
  page.click("#no");
  await settle();
  equal(page.text("$('dialog').open"), "false");
  ok(!guard.locked);
  ok(page.events().length === 0);
}));

test("a listener of an earlier submit does not handle a later one", inPage(async () => {
  const page = new Page(
    `<form method=post action="about:blank" target=sink><button id=pay>Pay</button>
    <button id=get formmethod=get>Back</button></form>`,
  );
  const guard = page.guard("{}");
  page.js("form.onsubmit = e => { if (e.submitter.id === 'pay') e.stopImmediatePropagation() }");
  page.click("#pay");
  await settle();
  guard.settle("failed");
  page.events();
  page.click("#get");
  equal(page.events(), ["entries "]);
}));

test("forms in a frame and in a shadow tree can be guarded", inPage(async () => {
  const page = new Page(FORM);
  const inner = page.js(`const inside = $('iframe').contentDocument;
    inside.body.innerHTML = '<form><button name=how value=pay></button></form>';
    return inside.querySelector('form')`);
  const shadow = page.js(
    `const tree = root.appendChild(document.createElement('div')).attachShadow({mode: 'closed'});
    tree.innerHTML = '<form><button name=how value=pay></button></form>';
    return tree.querySelector('form')`,
  );
  for (const form of [inner, shadow]) {
    const callback = page.callback("undefined");
    const guard = page.guardForm(form, undefined, callback)
      ;
    form.elements[0].click();
    form.elements[0].click();
    await settle();
    equal(page.events(), ["sent 1 pay how=pay"]);
    guard.release();
    form.elements[0].click();
    await settle();
    equal(page.events(), ["sent 2 pay how=pay"]);
    guard.detach();
  }
}));

test("after a success a form is locked and not busy", inPage(async () => {
  for (const [options, label] of [
    ["{busyLabel: 'Busy'}", "Paid"],
    ["{busyLabel: 'Busy', disable: 'native'}", "Paid"],
    ["{}", "Pay"],
  ]) {
    const page = new Page(FORM);
    const before = page.text("root.innerHTML");
    if (label === "Paid") {
      page.js("$('button').setAttribute('data-oncekey-done', 'Paid')");
    }
    const guard = page.guard(options);
    page.click("button");
    await settle();
    guard.settle("succeeded");
    equal(page.text("form.hasAttribute('aria-busy')"), "false");
    equal(page.text("$('button').textContent"), label);
    equal(page.text("$('button').matches('[aria-disabled=true], :disabled')"), "true");
    page.js("form.requestSubmit()");
    equal(page.events(), [ENTRIES, SENT, "blocked"]);
    guard.release();
    page.js("$('button').removeAttribute('data-oncekey-done')");
    guard.detach();
    equal(page.text("root.innerHTML"), before);
  }
}));

test("the page can report that it is done", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  guard.done();
  ok(guard.locked);
  equal(page.text("form.hasAttribute('aria-busy')"), "false");
  page.click("button");
  await settle();
  equal(page.events(), ["blocked"]);
  guard.release();
  // A submit that was not sent yet is not sent.
  page.click("button");
  guard.done();
  await settle();
  equal(page.events(), [ENTRIES]);
  ok(guard.locked);
  guard.settle("failed");
  ok(guard.locked);
}));
