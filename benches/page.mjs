// Measures the package in pages: fingerprints in Chromium, and clicks in all engines.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startBrowser } from "../tests/packaging/support.mjs";
import { clicks } from "./clicks.mjs";
import { Pages, bundled } from "./pages.mjs";

const root = new URL("../", import.meta.url).pathname;
const packages = join(root, "target/bench/packages/node_modules");

/** Returns {version, fingerprints, clicks}: Chromium's version, see fingerprint-page.mjs, see clicks.mjs. */
export async function page({ rounds }) {
  return { ...(await fingerprints(rounds)), clicks: await clicks({ rounds }) };
}

async function fingerprints(rounds) {
  const pages = await Pages.open({
    "/empty.html": "<!doctype html><title>bench</title>",
    "/oncekey.wasm": readFileSync(join(root, "www/build/oncekey.wasm")),
    "/fingerprint.js": await bundled({ entryPoints: [join(root, "benches/fingerprint-page.mjs")], nodePaths: [packages] }),
  });
  const browser = await startBrowser();
  try {
    const tab = await browser.newPage();
    await tab.goto(`${pages.url}/empty.html`);
    const rows = await tab.evaluate(
      async (rounds) => {
        const { bench } = await import("/fingerprint.js");
        return bench({ wasm: await (await fetch("/oncekey.wasm")).arrayBuffer(), rounds });
      },
      rounds * 5,
    );
    return { version: browser.version(), fingerprints: rows };
  } finally {
    await browser.close();
    await pages.close();
  }
}
