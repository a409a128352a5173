// Runs the cases in one engine. Each case has a site of its own, and so an origin whose storage and locks no other
// case has seen.
import { existsSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { Site } from "../browser/support.mjs";
import { CASES } from "./cases.mjs";
import { checkRow } from "./row.mjs";
import { Shop } from "./shop.mjs";

export function run({ engine, start, lacks = {} }) {
  if (!engine.commands.every((command) => existsSync(command))) {
    test(`${engine.name}: not installed, skipped: ${engine.install}`, { skip: true }, () => {});
    return;
  }
  describe(`pages in ${engine.name}`, { concurrency: false }, () => {
    let browser;
    before(async () => {
      browser = await start();
    });
    after(() => browser?.close());

    for (const { name, needs, play } of CASES) {
      test(name, { skip: lacks[needs] ?? false }, async () => {
        const site = await Site.start();
        const shops = [];
        const open = async (url, { ready = true } = {}) => {
          const shop = new Shop(await browser.open());
          shops.push(shop);
          await shop.go(url, ready);
          return shop;
        };
        try {
          await play({ site, open, shown: (page, more) => open(site.url + site.page(page), more) });
        } finally {
          await Promise.allSettled(shops.map((shop) => shop.close()));
          await site.close();
        }
      });
    }

    test("the table in www/README.md says what ran", () => checkRow(engine.name, browser.version, CASES.filter(({ needs }) => !lacks[needs]).length));
  });
}
