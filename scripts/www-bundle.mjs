// Bundles the npm package's entry points from www/src and www/build into www/dist: ES modules, CommonJS, and one
// file for a script tag. Sizes are printed.
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { deflateSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const root = new URL("../www/", import.meta.url).pathname;

const packedWasm = deflateSync(readFileSync(`${root}build/oncekey.wasm`), { level: 9 }).toString("base64");

/** Resolves `oncekey:…` in an import (www/src/modules.d.ts). `own`: how the package's own entry points are resolved. */
function parts(translated, own) {
  return {
    name: "oncekey",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^oncekey:wasm$/ }, () => ({ path: "wasm", namespace: "oncekey" }));
      // Text that is compressed already stays small in any host, whatever it compresses.
      onLoad({ filter: /.*/, namespace: "oncekey" }, () => ({
        contents: `import { unpacked } from "./bytes.ts"; export default () => unpacked("${packedWasm}");`,
        resolveDir: `${root}src/entrypoints`,
        loader: "ts",
      }));
      onResolve({ filter: /^oncekey:module$/ }, () => ({ path: "./oncekey.wasm", external: true }));
      // Loaded only where wasm may not run.
      onResolve({ filter: /^oncekey:translated$/ }, () => ({ path: translated, external: true }));
      onResolve({ filter: /^oncekey(\/|$)/ }, ({ path }) => own(path));
      onResolve({ filter: /^react$/ }, ({ path }) => ({ path, external: true }));
    },
  };
}

/**
 * Members that no page uses, that no object of the platform has, and that are not in the core's JSON. Each has the same
 * short name in every bundle.
 */
const MEMBERS =
  "acquireLease addField bodyWith contentType credentialFrom errorCode errorType fallback fullJitter holdsLease isJson " +
  "isOwnFetch isShared keepTurn keyCallCredential keyCalls keyed longest lookedUp notSent offeredKey onWait ownKey preimage preload prepared " +
  "releaseLease removeOver renewLease reported responded sender rehearse settings stopWatch summary takeLoss unseen unsent waitedSince";
const SHORT = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

const shared = {
  absWorkingDir: root,
  bundle: true,
  minify: true,
  mangleProps: new RegExp(`^(${MEMBERS.replaceAll(" ", "|")})$`),
  mangleCache: Object.fromEntries(MEMBERS.split(" ").map((name, at) => [name, SHORT[at]])),
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  outdir: "dist",
};
const entries = (...names) => names.map((name) => `src/entrypoints/${name}.ts`);
const names = ["index", "slim", "react", "element", "auto"];
/** The entry points for hosts that are not pages. */
const stores = ["store", "node"];
const asFile = (path) => ({ path: `${root}src/entrypoints/${path.slice("oncekey/".length) || "index"}.ts` });
const asPackage = (path) => ({ path, external: true });

await Promise.all([
  // Code that entry points share is a file of its own. So a page with two entry points has one class of clients, and a
  // page that does not use the wasm does not bundle it.
  build({
    ...shared,
    format: "esm",
    splitting: true,
    entryPoints: entries(...names),
    plugins: [parts("./translated.js", asFile)],
  }),
  // They share nothing with the others, so that no page loads a part of them.
  build({ ...shared, format: "esm", splitting: true, platform: "node", entryPoints: entries(...stores), plugins: [parts("", asFile)] }),
  // This entry point is bundled separately, because it imports at once what the others load later.
  build({ ...shared, format: "esm", entryPoints: entries("workerd"), plugins: [parts("./translated.js")] }),
  build({
    ...shared,
    format: "cjs",
    platform: "node",
    entryPoints: entries(...names, ...stores),
    outExtension: { ".js": ".cjs" },
    plugins: [parts("./translated.cjs", asPackage)],
  }),
  build({
    ...shared,
    format: "iife",
    // A browser reads modules as UTF-8, but scripts in the encoding of the page.
    charset: "ascii",
    globalName: "oncekey",
    entryPoints: [{ in: "src/entrypoints/index.ts", out: "oncekey.global" }],
    plugins: [parts("./translated.js")],
  }),
  build({ ...shared, format: "esm", entryPoints: ["build/translated.js"] }),
  build({
    ...shared,
    format: "cjs",
    entryPoints: ["build/translated.js"],
    outExtension: { ".js": ".cjs" },
    // For `import()`, the default export of a CommonJS module is the whole module.
    footer: { js: "module.exports=module.exports.default;" },
  }),
]);
// A bundler must ignore an import whose URL is known only in the page (src/core.ts). esbuild removes the comments that
// say so when it minifies.
for (const file of readdirSync(`${root}dist`).filter((name) => /\.c?js$/.test(name))) {
  const text = readFileSync(`${root}dist/${file}`, "utf8");
  const marked = text.replace(/\bimport\((?=\w+\.href\))/, "import(/* webpackIgnore: true *//* @vite-ignore */");
  if (marked !== text) writeFileSync(`${root}dist/${file}`, marked);
}
copyFileSync(`${root}build/oncekey.wasm`, `${root}dist/oncekey.wasm`);

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} KB`;
for (const file of readdirSync(`${root}dist`).sort()) {
  if (!/\.(js|wasm)$/.test(file)) continue;
  const bytes = readFileSync(`${root}dist/${file}`);
  console.log(`${file}: ${kilobytes(bytes.length)}, gzip ${kilobytes(gzipSync(bytes, { level: 9 }).length)}`);
}
