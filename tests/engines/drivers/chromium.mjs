// Chromium, by playwright-core. All tabs are in one browser profile.
import { startBrowser } from "../../browser/support.mjs";

const { CHROMIUM = "/usr/bin/chromium" } = process.env;

export const engine = { name: "Chromium", commands: [CHROMIUM], install: "apt-get install chromium" };

export async function start() {
  const browser = await startBrowser();
  const context = await browser.newContext();
  return {
    version: `Chromium ${browser.version()}`,
    async open() {
      const page = await context.newPage();
      return {
        goto: (url) => page.goto(url, { waitUntil: "commit" }),
        evaluate: (run, ...values) => page.evaluate(`(${run})(...${JSON.stringify(values)})`),
        click: (x, y, times) => page.mouse.click(x, y, { clickCount: times }),
        down: (key) => page.keyboard.down(key),
        up: (key) => page.keyboard.up(key),
        type: (text) => page.keyboard.type(text),
        reload: () => page.reload({ waitUntil: "commit" }),
        back: () => page.goBack({ waitUntil: "commit" }),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}
