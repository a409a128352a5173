// Measures, in each browser engine, the time from a click on the button of a form to the request that it sends.
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as chromium from "../tests/engines/drivers/chromium.mjs";
import * as firefox from "../tests/engines/drivers/firefox.mjs";
import * as webkit from "../tests/engines/drivers/webkit.mjs";
import { median } from "./gateway.mjs";
import { Pages, bundled } from "./pages.mjs";

const dist = new URL("../www/dist", import.meta.url).pathname;

const FORM = `<form method="post" action="/orders"><input name="amount" value="2990"><input name="note" value="">
<button>Pay</button></form>`;
/** A form that sends itself by fetch, and does nothing else. */
const BARE = `const form = document.forms[0];
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, { method: "POST", body });
  await response.text();
  window.done();
});
window.ready = true;`;
/** The same form with the package. It is ready when the core has been loaded, as in a page that was idle for a moment. */
const GUARDED = `import { createClient, guardForm } from "./index.js";
const form = document.forms[0];
const client = createClient();
// After a success the form stays locked and its intent is done, unless the page says otherwise.
const settled = () => setTimeout(() => (client.intent("order:1042").forget(), guard.release(), window.done()));
const guard = guardForm(form, { client, intent: "order:1042", onResponse: settled, onError: (error) => window.done(error) });
await client.ready;
window.ready = true;`;

const document = (script) => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>bench</title>${FORM}<script type="module" src="/${script}.js"></script>`;

/**
 * Returns a list with {engine, version, resolution, bare, guarded} for each engine: the smallest step of its clock, and
 * {first, later, runs} of each form, all in milliseconds. For an engine that could not be measured, {engine, missing},
 * which says why.
 */
export async function clicks({ rounds }) {
  const files = {
    "/bare.html": document("bare"),
    "/guarded.html": document("guarded"),
    "/bare.js": BARE,
    "/guarded.js": await bundled({ stdin: { contents: GUARDED, resolveDir: dist }, external: ["./translated.js"] }),
  };
  const engines = [];
  for (const { engine, start } of [chromium, firefox, webkit]) {
    console.log(`   ${engine.name}`);
    const measured = engine.commands.every((command) => existsSync(command))
      ? await start().then((browser) => clicksIn(browser, files, rounds)).catch(({ message }) => ({ missing: message }))
      : { missing: `not installed: ${engine.install}` };
    if (measured.missing) console.error(`   not measured: ${measured.missing}`);
    engines.push({ engine: engine.name, ...measured });
  }
  return engines;
}

/** Each round opens both pages again. Each page is a site of its own, so it gets a new process without compiled code. */
async function clicksIn(browser, files, rounds) {
  const runs = { bare: [], guarded: [] };
  let resolution;
  let site = 1;
  try {
    for (let round = 0; round < rounds * 3; round++) {
      for (const form of round % 2 ? ["bare", "guarded"] : ["guarded", "bare"]) {
        site += 1;
        const pages = await Pages.open(files, `127.0.${site >> 8}.${site & 255}`);
        const tab = await browser.open();
        await tab.goto(`${pages.url}/${form}.html`);
        await ready(tab, form);
        resolution ??= await tab.evaluate(clockStep);
        runs[form].push(await tab.evaluate(tenClicks));
        await tab.close();
        await pages.close();
      }
    }
  } finally {
    await browser.close();
  }
  const of = (form) => ({ first: median(runs[form].map(([first]) => first)), later: median(runs[form].map(([, ...later]) => median(later))), runs: runs[form] });
  return { version: browser.version, resolution, bare: of("bare"), guarded: of("guarded") };
}

/** Waits until a page can be clicked, and then until it has nothing else to do. */
async function ready(tab, form) {
  const deadline = Date.now() + 60_000;
  // Between two pages, a call may fail.
  while (!(await tab.evaluate(() => window.ready === true).catch(() => false))) {
    if (Date.now() > deadline) throw new Error(`the ${form} form does not load`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
}

/** In the page: the smallest step of the clock, in milliseconds. An isolated page has small steps. */
function clockStep() {
  let step = Infinity;
  for (let last = performance.now(), end = last + 50; last < end; ) {
    const now = performance.now();
    if (now > last) step = Math.min(step, now - last);
    last = now;
  }
  return Number(step.toFixed(4));
}

/** In the page: ten clicks, one after the other, each with another payload; from click to the start of the request. */
async function tenClicks() {
  const [form] = document.forms;
  const times = [];
  for (let click = 0; click < 10; click++) {
    form.elements.note.value = `click ${click}`;
    performance.clearResourceTimings();
    const done = new Promise((resolve, reject) => (window.done = (error) => (error ? reject(error) : resolve())));
    const at = performance.now();
    form.querySelector("button").click();
    await done;
    // What is measured about a request arrives after its response.
    let sent;
    while (!(sent = performance.getEntriesByType("resource").find(({ name }) => name.endsWith("/orders")))) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    times.push(sent.startTime - at);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  return times;
}
