// Measures the package in Chromium: fingerprints, and the time from a click to the request that it sends.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startBrowser } from "../tests/packaging/support.mjs";
import { BARE, FORM, GUARDED, clicks } from "./clicks.mjs";
import { Pages, bundled } from "./pages.mjs";

const root = new URL("../", import.meta.url).pathname;
const packages = join(root, "target/bench/packages/node_modules");

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
