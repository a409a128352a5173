// Measures the package in Chromium: fingerprints, and the time from a click to the request that it sends.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { build } from "esbuild";
import { startBrowser } from "../tests/packaging/support.mjs";
import { median } from "./gateway.mjs";

const root = new URL("../", import.meta.url).pathname;
const packages = join(root, "target/bench/packages/node_modules");

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
const GUARDED = `import { createClient, guardForm } from "./index.js";
const form = document.forms[0];
const client = createClient();
// After a success the form stays locked and its intent is done, unless the page says otherwise.
const settled = () => setTimeout(() => (client.intent("order:1042").forget(), guard.release(), window.done()));
const guard = guardForm(form, { client, intent: "order:1042", onResponse: settled, onError: (error) => window.done(error) });
window.ready = true;`;

/** A small server of pages, which responds to each POST at once. */
class Pages {
  static async open(files) {
    const pages = new Pages();
    pages.server = createServer((request, response) => {
      // An isolated page has a clock of a few microseconds.
      response.setHeader("Cross-Origin-Opener-Policy", "same-origin");
      response.setHeader("Cross-Origin-Embedder-Policy", "require-corp");
      response.setHeader("Cache-Control", "no-store");
      if (request.method === "POST") {
        request.resume();
        response.writeHead(201, { "Content-Type": "application/json", "Idempotency-State": "completed" }).end("{}");
        return;
      }
      const content = files[request.url];
      const type = { js: "text/javascript", wasm: "application/wasm", html: "text/html; charset=utf-8" }[request.url.split(".").at(-1)];
      if (content === undefined) response.writeHead(404).end();
      else response.writeHead(200, { "Content-Type": type }).end(content);
    });
    await new Promise((resolve) => pages.server.listen(0, "127.0.0.1", resolve));
    pages.url = `http://127.0.0.1:${pages.server.address().port}`;
    return pages;
  }
  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function bundled(options) {
  const { outputFiles } = await build({ bundle: true, minify: true, format: "esm", platform: "browser", target: "es2022", write: false, logLevel: "error", ...options });
  return outputFiles[0].contents;
}

/** Returns {version, fingerprints, clicks}: see fingerprint-page.mjs; milliseconds of first and later clicks, by form. */
export async function page({ rounds }) {
  const dist = join(root, "www/dist");
  const wasm = readFileSync(join(root, "www/build/oncekey.wasm"));
  const document = (script) => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>bench</title>${FORM}<script type="module" src="/${script}.js"></script>`;
  const pages = await Pages.open({
    "/empty.html": "<!doctype html><title>bench</title>",
    "/oncekey.wasm": wasm,
    "/fingerprint.js": await bundled({ entryPoints: [join(root, "benches/fingerprint-page.mjs")], nodePaths: [packages] }),
    "/bare.html": document("bare"),
    "/guarded.html": document("guarded"),
    "/bare.js": BARE,
    "/guarded.js": await bundled({ stdin: { contents: GUARDED, resolveDir: dist }, external: ["./translated.js"] }),
  });
  const browser = await startBrowser();
  try {
    return { version: browser.version(), fingerprints: await fingerprints(browser, pages, rounds), clicks: await clicks(browser, pages, rounds) };
  } finally {
    await browser.close();
    await pages.close();
  }
}

async function fingerprints(browser, { url }, rounds) {
  const tab = await browser.newPage();
  await tab.goto(`${url}/empty.html`);
  const rows = await tab.evaluate(
    async (rounds) => {
      const { bench } = await import("/fingerprint.js");
      return bench({ wasm: await (await fetch("/oncekey.wasm")).arrayBuffer(), rounds });
    },
    rounds * 5,
  );
  await tab.close();
  return rows;
}

/** Each round opens both pages again, with empty code caches in the browser. */
async function clicks(browser, { url }, rounds) {
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
