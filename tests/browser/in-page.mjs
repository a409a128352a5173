// Helpers for tests that run in a page, with a part of the package that is bundled from its source.
import { build } from "esbuild";
import { Site, startBrowser } from "./support.mjs";

/** Starts Chromium, with an empty page for each test in which `script` has run. */
export function pagesWith(script, plugins = []) {
  let browser;
  let site;
  let url;
  async function open(options) {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(url);
    return page;
  }
  return {
    async start() {
      const [{ outputFiles }] = await Promise.all([
        build({ entryPoints: [new URL(script, import.meta.url).pathname], bundle: true, format: "iife", write: false, plugins }),
        (async () => ([browser, site] = await Promise.all([startBrowser(), Site.start()])))(),
      ]);
      url = site.url + site.page({ client: null, first: outputFiles[0].text });
    },
    async stop() {
      await browser.close();
      await site.close();
    },
    open,
    /** Runs a function in a page, with what the script offers and with these functions of the test file. */
    inPage: (run, ...helpers) => async () => {
      const page = await open();
      await page.evaluate(`(() => {\n${helpers.join("\n")}\nreturn (${run})();\n})()`);
      await page.context().close();
    },
  };
}
