// Firefox, by puppeteer-core over WebDriver BiDi. (Playwright drives only its own build of Firefox.)
import puppeteer from "puppeteer-core";

const { FIREFOX = "/usr/bin/firefox-esr" } = process.env;

export const engine = { name: "Firefox", commands: [FIREFOX], install: "apt-get install firefox-esr" };

const KEYS = { Space: " " };

export async function start() {
  const browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: FIREFOX,
    // So long that a busy machine does not make a call fail.
    protocolTimeout: 180_000,
    timeout: 180_000,
  });
  return {
    version: (await browser.version()).replace("firefox/", "Firefox "),
    async open() {
      const page = await browser.newPage();
      page.setDefaultTimeout(180_000);
      return {
        goto: (url) => page.goto(url, { waitUntil: "domcontentloaded" }),
        evaluate: (run, ...values) => page.evaluate(`(${run})(...${JSON.stringify(values)})`),
        click: (x, y, times) => page.mouse.click(x, y, { count: times }),
        down: (key) => page.keyboard.down(KEYS[key] ?? key),
        up: (key) => page.keyboard.up(KEYS[key] ?? key),
        type: (text) => page.keyboard.type(text),
        reload: () => page.reload({ waitUntil: "domcontentloaded" }),
        // puppeteer's own goBack fails if the page comes from the cache.
        back: () => page.evaluate(() => void setTimeout(() => history.back())),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}
