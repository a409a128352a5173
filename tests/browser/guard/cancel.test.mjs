// Other handlers of the page, which cancel a submit or stop its propagation.
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, inPage } = guardPages();
before(start);
after(close);

/** Runs in the page. Another handler prevents the submit: nothing is sent, and nothing stays locked. */
async function cancels(options, before, after) {
  const page = new Page(FORM);
  page.js(before);
  const guard = page.guard(options, "'key'");
  page.js(after);
  page.click("button");
  await settle();
  ok(!guard.locked, before + after);
  equal(page.text("form.outerHTML.includes('aria-')"), "false");
  equal(page.text("$('[name=idempotency_key]')"), "null");
  const events = page.events();
  ok(!events.some((event) => options === "{}" && event.startsWith("sent")), `${before}${after} ${events}`);
  ok(events.filter((event) => event.startsWith("entries")).length <= 1, `${events}`);
}

test("fault 49: a handler of the form cancels", inPage(async () => {
  for (const options of ["{}", NAVIGATE]) {
    const script = "form.addEventListener('submit', e => e.preventDefault())";
    await cancels(options, script, "");
    await cancels(options, "", script);
    await cancels(options, "", "form.addEventListener('submit', e => e.preventDefault(), true)");
    await cancels(options, "", "form.addEventListener('submit', e => { e.returnValue = false })");
    await cancels(options, "form.setAttribute('onsubmit', 'return false')", "");
    await cancels(options, "", "form.onsubmit = () => false");
  }
}, cancels));

test("fault 49: a handler of an ancestor cancels", inPage(async () => {
  for (const options of ["{}", NAVIGATE]) {
    for (const script of [
      "root.addEventListener('submit', e => e.preventDefault())",
      "root.addEventListener('submit', e => { e.returnValue = false })",
      "root.addEventListener('submit', e => e.preventDefault(), true)",
      "root.addEventListener('submit', e => { e.stopPropagation(); e.preventDefault() })",
    ]) {
      await cancels(options, "", script);
    }
  }
  await cancels(NAVIGATE, "", "root.onsubmit = () => false");
}, cancels));

test("fault 49: a handler stops the event and cancels", inPage(async () => {
  for (const options of ["{}", NAVIGATE]) {
    for (const stop of ["e.stopPropagation()", "e.stopImmediatePropagation()", "e.cancelBubble = true"]) {
      for (const capture of ["true", "false"]) {
        for (const body of [`e.preventDefault(); ${stop}`, `${stop}; e.preventDefault()`]) {
          const script = `form.addEventListener('submit', e => { ${body} }, ${capture})`;
          await cancels(options, script, "");
          await cancels(options, "", script);
        }
      }
    }
  }
}, cancels));

test("a submit that no handler cancels is sent", inPage(async () => {
  for (const script of [
    "",
    "root.addEventListener('submit', e => e.stopPropagation())",
    "root.addEventListener('submit', e => e.stopImmediatePropagation())",
    "root.addEventListener('submit', e => { e.cancelBubble = true })",
    "root.addEventListener('submit', e => { e.returnValue = true })",
    "root.addEventListener('submit', e => { e.returnValue; e.cancelBubble = false })",
    "form.addEventListener('submit', e => { e.returnValue = true; e.cancelBubble = false })",
  ]) {
    const page = new Page(FORM);
    const guard = page.guard("{}");
    page.js(script);
    page.click("button");
    page.click("button");
    await settle();
    equal(page.events(), [ENTRIES, "blocked", SENT], `${script}`);
    ok(guard.locked);
  }
}));

test("no handler can make the browser post without a key", inPage(async () => {
  for (const stop of ["e.stopPropagation()", "e.stopImmediatePropagation()", "e.cancelBubble = true"]) {
    for (const capture of ["true", "false"]) {
      const script = `form.addEventListener('submit', e => { ${stop} }, ${capture})`;
      for (const [before, after] of [[script, ""], ["", script]]) {
        // The event does not reach the guard.
        if (before.includes("Immediate") && capture === "true") {
          continue;
        }
        const page = new Page(FORM);
        page.js(before);
        const guard = page.guard("{}");
        page.js(after);
        page.click("button");
        page.click("button");
        await settle();
        const events = page.events();
        const sent = events.filter((event) => event === SENT).length;
        const taken = events.filter((event) => event === ENTRIES).length;
        equal([sent, taken], [1, 1], `${before}${after} ${events}`);
        ok(guard.locked);

        const other = new Page(FORM);
        other.js(before);
        const second = other.guard(NAVIGATE, "'key'");
        other.js(after);
        other.click("button");
        other.click("button");
        await settle();
        equal(other.events(), [ENTRIES, SENT, POSTED, "blocked"], before + after);
        ok(second.locked);
      }
    }
  }
}));

test("a value that the last handler fills in is sent", inPage(async () => {
  for (const script of [
    "form.card.value = 'token'",
    "e.stopPropagation(); form.card.value = 'token'",
    "e.stopImmediatePropagation(); form.card.value = 'token'",
  ]) {
    const page = new Page(FORM);
    page.js(`form.addEventListener('submit', e => { ${script} })`);
    page.guard("{}");
    page.js(`form.addEventListener('submit', e => { ${script} })`);
    page.click("button");
    await settle();
    const sent = page.events().pop();
    equal(sent, "sent 1 pay card=token&how=pay", `${script}`);
  }
}));

test("the guard decides after handlers that were added later", inPage(async () => {
  for (const options of ["{}", NAVIGATE]) {
    const page = new Page(FORM);
    const guard = page.guard(options, "'key'");
    page.click("button");
    await settle();
    guard.release();
    page.events();
    page.js("form.addEventListener('submit', () => { form.card.value = 'token' })");
    page.click("button");
    await settle();
    equal(page.events()[1], "sent 2 pay card=token&how=pay");
  }
}));

test("values filled in after the submit are not sent", inPage(async () => {
  for (const stop of ["", "e.stopPropagation();"]) {
    const page = new Page(FORM);
    page.guard("{}");
    page.js(`form.onsubmit = e => {
        ${stop}
        form.card.value = 'token';
        queueMicrotask(() => form.card.value = 'late');
      }`);
    page.click("button");
    await settle();
    equal(page.events(), ["entries card=token&how=pay", "sent 1 pay card=token&how=pay"]);
  }
}));

test("the event has its own methods again afterwards", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  page.js("form.onsubmit = e => { root.event = e }");
  const own = "Object.getOwnPropertyNames(root.event).filter(name => name !== 'isTrusted')";
  page.click("button");
  equal(
    page.text(own),
    "stopPropagation,stopImmediatePropagation,cancelBubble,preventDefault,returnValue"
  );
  await settle();
  equal(page.text(own), "");
  // The same is true if the form is unlocked or unguarded before that.
  for (const end of ["release", "detach"]) {
    guard.release();
    page.click("button");
    guard[end]();
    equal(page.text(own), "");
    page.js("root.event.preventDefault(); root.event.stopPropagation()");
  }
}));

test("a release during a submit sends nothing", inPage(async () => {
  for (const options of ["{}", NAVIGATE]) {
    const page = new Page(FORM);
    const guard = page.guard(options, "'key'");
    page.js("form.onsubmit = () => it()", () => guard.release());
    page.click("button");
    await settle();
    ok(page.events().length === 0);
    ok(!guard.locked);
    page.js("form.onsubmit = null");
    page.click("button");
    await settle();
    equal(page.events()[1], "sent 2 pay card=4242&how=pay");
  }
}));
