// What users see and hear of a busy form, and that it returns to its earlier state.
import { after, before, test } from "node:test";
import { guardPages } from "./support.mjs";

const { start, stop: close, inPage } = guardPages();
before(start);
after(close);

test("fault 45: only the clicked button changes its label", inPage(async () => {
  const page = new Page(
    `<form id=f><button id=a>Pay</button><button id=b>Later</button><button type=button id=no>x</button>
    <input type=submit value=In id=c><input type=image id=d></form>
    <button form=f id=e>Outside</button><input type=image form=f id=g><button id=other>Other</button>`,
  );
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.click("#a");
  const all = "[...root.querySelectorAll('[aria-disabled=true]')].map(e => e.id)";
  equal(page.text(all), "a,b,c,d,e,g", "at once");
  equal(page.text("form.getAttribute('aria-busy')"), "true");
  await settle();
  const labels = "['a', 'b', 'c', 'e', 'no', 'other'].map(id => $('#' + id)).map(e => e.value || e.textContent)";
  equal(page.text(labels), "Busy,Later,In,Outside,x,Other");
  guard.settle("refused");
  equal(page.text(labels), "Pay,Later,In,Outside,x,Other");
  equal(page.text(all), "");
  equal(page.text("form.hasAttribute('aria-busy')"), "false");
}));

test("fault 43: each control returns to its earlier state", inPage(async () => {
  for (const native of ["aria", "native"]) {
    const html = `<form aria-busy="false" id=f><button id=ok>Pay</button>
      <button disabled id=off>No</button><button aria-disabled="true" id=t>T</button>
      <button aria-disabled="false" id=u>U</button><input type=submit id=none>
      <input type=submit disabled value=""></form>
      <fieldset disabled><button form=f>In</button></fieldset>`;
    const page = new Page(html);
    const before = page.text("root.innerHTML");
    const guard = page.guard(`{disable: '${native}', busyLabel: 'Busy'}`);
    for (const id of ["#ok", "#none"]) {
      page.click(id);
      await settle();
      ok(guard.locked);
      differs(page.text("root.innerHTML"), before);
      guard.settle("unknown");
      page.js("$('output')?.remove()");
      equal(page.text("root.innerHTML"), before, `${native} ${id}`);
    }
  }
}));

test("native disabling waits for the values and restores the focus", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{disable: 'native'}");
  page.js("$('button').focus()");
  page.click("button");
  equal(page.text("$('button').disabled"), "false", "the button's name and value must be sent");
  await settle();
  equal(page.events()[1], "sent 1 pay card=4242&how=pay");
  equal(page.text("[...form.querySelectorAll('button')].every(e => e.disabled)"), "true");
  equal(page.text("$('button').hasAttribute('aria-disabled')"), "false");
  await page.until("document.activeElement === document.body");
  guard.settle("failed");
  equal(page.text("document.activeElement === $('button')"), "true");
  equal(page.text("[...form.querySelectorAll('button')].some(e => e.disabled)"), "false");

  // If the user has moved the focus meanwhile, it stays there.
  page.click("button");
  await page.until("document.activeElement === document.body");
  page.js("form.card.focus()");
  guard.settle("failed");
  equal(page.text("document.activeElement === form.card"), "true");
  page.click("button");
  await page.until("$('button').disabled");
  guard.settle("failed");
  equal(page.text("document.activeElement === form.card"), "true");
}));

test("the focus stays where it is", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.js("$('button').focus()");
  page.click("button");
  await wait(100);
  equal(page.text("document.activeElement === $('button')"), "true");
  guard.release();
  equal(page.text("document.activeElement === $('button')"), "true");
}));

test("a label is restored with its own nodes", inPage(async () => {
  const page = new Page(
    `<form><button data-oncekey-busy='One <b>moment'><b>Pay</b> <i>now</i><!-- x --></button>
    <button data-oncekey-busy=''>Quiet</button></form>`,
  );
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.js("root.bold = $('b'); root.nodes = [...$('button').childNodes]");
  page.click("button");
  await settle();
  equal(page.text("$('button').textContent"), "One <b>moment", "the label is text, not HTML");
  guard.release();
  equal(page.text("$('button').innerHTML"), "<b>Pay</b> <i>now</i><!-- x -->");
  equal(
    page.text("root.nodes.every((node, i) => node === $('button').childNodes[i])"),
    "true"
  );
  page.click("button + button");
  await settle();
  equal(page.text("$('button + button').textContent"), "Quiet");
}));

test("without a label the button keeps its text", inPage(async () => {
  const page = new Page(FORM);
  page.guard("{}");
  page.click("button");
  await settle();
  equal(page.text("$('button').textContent"), "Pay");
}));

// The lock is not part of the page, so a new render does not remove it.
test("fault 50: a form stays locked when a framework renders it again", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.click("button");
  await settle();
  page.events();
  page.js(
    `form.removeAttribute('aria-busy');
    $('button').textContent = 'Wait';
    $('[value=later]').outerHTML = '<button name=how value=new aria-disabled=false>New</button>'`,
  );
  page.click("button");
  page.click("[value=new]");
  page.js("form.innerHTML = '<input name=card value=1><button>Again</button>'");
  page.click("button");
  page.js("form.requestSubmit()");
  equal(page.events(), Array(4).fill("blocked"));
  guard.settle("refused");
  equal(
    page.text("form.innerHTML"),
    `<input name="card" value="1"><button>Again</button>`
  );
  page.click("button");
  await settle();
  equal(page.events(), ["entries card=1", "sent 2  card=1"]);
}));

test("changes that the page made meanwhile are kept", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{busyLabel: 'Busy'}");
  page.click("button");
  await settle();
  page.js("$('button').textContent = 'Paid'; $('button').setAttribute('aria-disabled', 'false')");
  guard.release();
  equal(
    page.text("$('button').outerHTML.includes('aria-disabled=\"false\">Paid<')"),
    "true"
  );
}));

test("a button or a form that is removed while it is busy", inPage(async () => {
  for (const script of ["$('button').remove()", "form.remove()", "root.innerHTML = ''"]) {
    for (const options of ["{busyLabel: 'Busy'}", "{disable: 'native'}"]) {
      const page = new Page(FORM);
      const guard = page.guard(options);
      page.js("root.button = $('button'); root.button.focus()");
      page.click("button");
      page.js(script);
      await settle();
      ok(page.events().some((event) => event.startsWith("sent 1 pay card=4242")));
      guard.say("Busy");
      guard.settle("failed");
      ok(!guard.locked);
      equal(
        page.text("root.button.outerHTML"),
        `<button name="how" value="pay">Pay</button>`
      );
      guard.detach();
    }
  }
}));

test("a live region exists before the submit", inPage(async () => {
  const page = new Page(FORM);
  const guard = page.guard("{}");
  const region = `(o => [o.role, o.ariaLive, o.textContent, o.getBoundingClientRect().width,
    o.previousSibling === form, o.form].join())($('output'))`;
  equal(page.text(region), "status,polite,,1,true,");
  guard.say("Sending");
  equal(page.text("$('output').textContent"), "Sending");
  // It exists again after a new render.
  page.js("$('output').remove()");
  guard.say("Once more");
  equal(
    page.text("root.querySelectorAll('output').length + $('output').textContent"),
    "1Once more"
  );
  guard.detach();
  guard.say("Nothing");
  equal(page.text("$('output')"), "null");
}));

test("the page may bring its own live region", inPage(async () => {
  const page = new Page("<form><p data-oncekey-status role=status>-</p><button>Pay</button></form>");
  const guard = page.guard("{}");
  equal(page.text("$('output')"), "null");
  guard.say("Sending");
  equal(page.text("$('p').textContent"), "Sending");
  guard.detach();
  equal(page.text("$('p').textContent"), "Sending", "the live region is the page's own");
}));

// A policy without inline styles blocks a style attribute, but not styles that a script sets.
test("the live region is hidden under a strict policy", inPage(async () => {
  const page = new Page(FORM);
  const inside = page.js(`return new Promise(done => {
      const frame = $('iframe');
      frame.onload = () => done(frame.contentDocument.querySelector('form'));
      frame.srcdoc = \`<meta http-equiv=Content-Security-Policy content="style-src 'none'">
        <form><button>Pay</button></form>\`;
    })`);
  page.guardForm(await inside, undefined, page.callback("undefined"));
  const width = "$('iframe').contentDocument.querySelector('output').getBoundingClientRect().width";
  equal(page.text(width), "1");
}));

// Some pages keep a snapshot of themselves while a form is busy, and show it on Back.
test("a copy of a busy form is restored when it is guarded", inPage(async () => {
  for (const options of [
    "{busyLabel: 'Busy'}",
    "{busyLabel: 'Busy', disable: 'native'}",
    "{send: 'navigate', busyLabel: 'Busy'}",
  ]) {
    for (const [id, done] of [["#a", false], ["#b", false], ["#a", true]]) {
      const page = new Page(
        `<form method=post action="about:blank" target=sink aria-busy=false>
        <button id=a data-oncekey-done=Paid><b>Pay</b> now</button><input type=submit id=b value=In>
        <button disabled id=c>No</button></form>`,
      );
      const before = page.text("form.outerHTML");
      const guard = page.guard(options, "'key'");
      page.click(id);
      await settle();
      guard.say("Sending");
      if (done) {
        guard.settle("succeeded");
      }
      differs(page.text("form.outerHTML"), before);
      page.js("root.copy = root.cloneNode(true)");
      guard.detach();
      equal(page.text("form.outerHTML"), before);
      // The page has kept the copy as text.
      for (const copy of [
        "root.copy",
        "Object.assign(document.createElement('div'), {innerHTML: root.copy.innerHTML})",
      ]) {
        page.js(`root.shown = (${copy}).cloneNode(true); document.body.append(root.shown)`);
        const form = page.js("return root.shown.querySelector('form')");
        const guard = page.guardForm(form, undefined, page.callback("'key'"));
        equal(
          page.text("root.shown.querySelector('form').outerHTML"),
          before,
          `${options} ${id}`
        );
        equal(page.text("root.shown.querySelectorAll('output').length"), "1");
        equal(page.text("root.shown.querySelector('output').textContent"), "");
        guard.detach();
        page.js("root.shown.remove()");
      }
    }
  }
}));
