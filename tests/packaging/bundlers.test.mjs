// The package in the bundles of four bundlers, run in a browser: with its wasm, and with a CSP that forbids wasm.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import * as vite from "vite";
import webpack from "webpack";
import { BUY, Consumer, Shop, html, reported, startBrowser } from "./support.mjs";

let consumer;
let shop;
let browser;
before(async () => {
  consumer = await Consumer.make("bundlers");
  consumer.write("default.js", `import { createClient } from "oncekey";${BUY}`);
  // Each bundler has its own way to name an asset.
  const slim = (wasm) => `import { createClient, init } from "oncekey/slim";${wasm}${BUY}`;
  consumer.write("slim-import.js", slim('import wasm from "oncekey/wasm"; init(new URL(wasm, import.meta.url));'));
  consumer.write("slim-url.js", slim('init(new URL("oncekey/wasm", import.meta.url));'));
  consumer.write("slim-query.js", slim('import wasm from "oncekey/wasm?url"; init(wasm);'));
  [shop, browser] = await Promise.all([Shop.open(consumer.path), startBrowser()]);
});
after(() => Promise.all([shop.close(), browser.close()]));

/** Resolves modules as Node does, instead of a plugin from the registry. */
const resolution = {
  name: "resolution",
  resolveId(id) {
    const { exports } = JSON.parse(readFileSync(join(consumer.package, "package.json"), "utf8"));
    const conditions = exports[id.replace(/^oncekey/, ".")];
    return conditions ? join(consumer.package, conditions.import.default) : null;
  },
};

const BUNDLERS = {
  esbuild: {
    slim: "slim-import",
    bundle: (entry, outdir) =>
      esbuild.build({
        entryPoints: [entry],
        outdir,
        entryNames: "page",
        bundle: true,
        minify: true,
        splitting: true,
        format: "esm",
        loader: { ".wasm": "file" },
        logLevel: "silent",
      }),
  },
  rollup: {
    // Rollup needs a plugin for assets.
    async bundle(entry, dir) {
      const bundle = await rollup({ input: { page: entry }, plugins: [resolution], onwarn: (warning) => assert.fail(warning.message) });
      await bundle.write({ dir, format: "es" });
      await bundle.close();
    },
  },
  webpack: {
    slim: "slim-url",
    bundle: (entry, path) =>
      new Promise((resolve, reject) => {
        const settings = {
          mode: "production",
          entry: { page: entry },
          output: { path, publicPath: "auto" },
          context: consumer.path,
          performance: false,
          // Minifying takes seconds, and the package is already minified.
          optimization: { minimize: !entry.includes("slim") },
        };
        webpack(settings, (error, stats) => {
          if (error ?? stats.hasErrors()) reject(error ?? new Error(stats.toString()));
          else resolve();
        });
      }),
  },
  vite: {
    slim: "slim-query",
    bundle: (entry, outDir) =>
      vite.build({
        root: consumer.path,
        configFile: false,
        logLevel: "error",
        base: "./",
        build: { outDir, rollupOptions: { input: entry, output: { entryFileNames: "page.js" } } },
      }),
  },
};

for (const [name, { slim, bundle }] of Object.entries(BUNDLERS)) {
  describe(name, () => {
    const built = async (entry) => {
      const folder = `out/${name}-${entry}`;
      mkdirSync(consumer.at(folder), { recursive: true });
      await bundle(consumer.at(`${entry}.js`), consumer.at(folder));
      writeFileSync(consumer.at(`${folder}/index.html`), html('<script type="module" src="page.js"></script>'));
      return folder;
    };
    const buys = async (folder) => {
      const report = await reported(browser, `${shop.url}/${folder}/index.html`);
      assert.equal(report.status, 201, JSON.stringify(report));
      assert.deepEqual(report.body, { id: "order" });
      assert.equal(report.state, "succeeded");
      assert.equal(shop.orders.at(-1).key, report.key);
      return report;
    };

    test("the default entry", async () => {
      const folder = await built("default");
      assert.equal((await buys(folder)).fallback, null);
      const { fallback } = await buys(`strict/${folder}`);
      assert.match(fallback, /CompileError/);
      // The translation is a separate file, because it is loaded only with such a CSP.
      const files = readdirSync(consumer.at(folder), { recursive: true }).filter((file) => file.endsWith(".js"));
      assert.ok(files.length > 1, files.join());
    });

    if (slim) {
      test("the slim entry with the wasm as an asset", async () => {
        const folder = await built(slim);
        const files = readdirSync(consumer.at(folder), { recursive: true });
        assert.equal(files.filter((file) => file.endsWith(".wasm")).length, 1, files.join());
        assert.equal((await buys(folder)).fallback, null);
        assert.match((await buys(`strict/${folder}`)).fallback, /CompileError/);
      });
    }
  });
}

test("vite's server for development", async () => {
  consumer.write("dev.html", html('<script type="module" src="/default.js"></script>'));
  const server = await vite.createServer({
    root: consumer.path,
    configFile: false,
    logLevel: "error",
    cacheDir: consumer.at("vite-cache"),
    server: { port: 0, host: "127.0.0.1", proxy: { "/orders": shop.url } },
  });
  try {
    await server.listen();
    const report = await reported(browser, `${server.resolvedUrls.local[0]}dev.html`);
    assert.equal(report.status, 201, JSON.stringify(report));
    assert.equal(report.fallback, null);
  } finally {
    await server.close();
  }
});
