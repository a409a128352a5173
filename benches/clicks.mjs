// Measures the time from a click on the button of a form to the request that it sends.
import { median } from "./gateway.mjs";

export const FORM = `<form method="post" action="/orders"><input name="amount" value="2990"><input name="note" value="">
<button>Pay</button></form>`;
/** A form that sends itself by fetch, and does nothing else. */
export const BARE = `const form = document.forms[0];
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form));
  const response = await fetch(form.action, { method: "POST", body });
  await response.text();
  window.done();
});
window.ready = true;`;
export const GUARDED = `import { createClient, guardForm } from "./index.js";
const form = document.forms[0];
const client = createClient();
// After a success the form stays locked and its intent is done, unless the page says otherwise.
const settled = () => setTimeout(() => (client.intent("order:1042").forget(), guard.release(), window.done()));
const guard = guardForm(form, { client, intent: "order:1042", onResponse: settled, onError: (error) => window.done(error) });
window.ready = true;`;

/** Each round opens both pages again, with empty code caches in the browser. */
export async function clicks(browser, { url }, rounds) {
  const all = { bare: [], guarded: [] };
  for (let round = 0; round < rounds * 3; round++) {
    for (const form of round % 2 ? ["bare", "guarded"] : ["guarded", "bare"]) {
      const context = await browser.newContext();
      const tab = await context.newPage();
      tab.setDefaultTimeout(30_000);
      tab.on("pageerror", (error) => console.error(`${form}: ${error}`));
      tab.on("console", (message) => console.error(`${form}: ${message.text()}`));
      await tab.goto(`${url}/${form}.html`);
      await tab.waitForFunction(() => window.ready);
      await tab.waitForTimeout(200);
      all[form].push(await tab.evaluate(tenClicks));
      await context.close();
    }
  }
  return Object.fromEntries(
    Object.entries(all).map(([form, runs]) => [form, { first: median(runs.map(([first]) => first)), later: median(runs.map(([, ...later]) => median(later))), runs }]),
  );
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
