// Links the Worker's wasm with its glue under short names, and removes what the Worker does not use: worker-glue.mjs FOLDER OUT
//
// FOLDER contains the output of wasm-bindgen, oncekey_bg.js and oncekey_bg.wasm. A crate's classes for JavaScript are exports,
// whether anything uses them or not. Exports that neither worker/entry.mjs nor the wasm uses are removed from both. OUT
// gets oncekey.wasm and glue.mjs: a function in place of a module, called once for each wasm instance.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { relink, shortNames } from "./wasm-links.mjs";
import { namedInOrder } from "./wasm-order.mjs";

const [folder, out] = process.argv.slice(2);
const wasmFile = join(folder, "oncekey_bg.wasm");
const glueFile = join(folder, "oncekey_bg.js");
const outFile = join(out, "oncekey.wasm");
const entry = readFileSync(new URL("../worker/entry.mjs", import.meta.url), "utf8");

// The features that the Rust compiler uses, so wasm-opt must accept them. Every current engine has them.
const FEATURES = ["bulk-memory", "mutable-globals", "nontrapping-float-to-int", "reference-types", "sign-ext", "multivalue"];
const optimize = (from, to, ...flags) => execFileSync("wasm-opt", [from, "-o", to, ...flags, ...FEATURES.map((name) => `--enable-${name}`)]);

/** The names that the entry module takes from the wasm and from the glue. */
const used = (pattern) => [...new Set([...entry.matchAll(pattern)].map(([, name]) => name))];
const ofWasm = used(/#exports\.(\w+)/g);

// The registries of unused classes can be left out, and so can their support for `using`.
const glue = readFileSync(glueFile, "utf8")
  .replaceAll("new FinalizationRegistry(", "/* @__PURE__ */ new FinalizationRegistry(")
  .replace(/^if \(Symbol\.dispose\) \w+\.prototype\[Symbol\.dispose\] = .*;$/gm, "");
writeFileSync(glueFile, glue);
// A build without the sandbox lacks these.
const ofSandbox = [...used(/\bdurable\("(\w+)"\)/g), "oncekeySandbox"];
const isThere = (name) => new RegExp(`^export (class|function) ${name}\\b`, "m").test(glue);
const ofGlue = [...new Set([...used(/\.glue\.(\w+)/g), ...ofSandbox])].filter((name) => !ofSandbox.includes(name) || isThere(name));

/** Returns the part of the glue that `names` use, with its exports by their names inside. */
async function bundle(names, options) {
  const list = Object.entries(names).map(([outside, inside]) => `${inside} as ${outside}`);
  const { outputFiles } = await build({
    stdin: { contents: `export { ${list.join(", ")} } from "./oncekey_bg.js";`, resolveDir: folder },
    bundle: true,
    charset: "utf8",
    logLevel: "warning",
    write: false,
    ...options,
  });
  return outputFiles[0].text;
}
const imports = (wasm) => WebAssembly.Module.imports(new WebAssembly.Module(wasm)).map(({ name }) => name);
const same = (names) => Object.fromEntries(names.map((name) => [name, name]));

let wasm = readFileSync(wasmFile);
for (let before = 0; wasm.length !== before; ) {
  before = wasm.length;
  const text = await bundle({ ...same(ofGlue), ...same(imports(wasm)) }, { format: "esm" });
  const reached = new Set([...ofWasm, ...[...text.matchAll(/\bwasm\.(\w+)/g)].map(([, name]) => name)]);
  writeFileSync(outFile, relink(wasm, (from, name) => [from, name], (name) => (reached.has(name) ? name : undefined)));
  optimize(outFile, outFile, "-g", "--remove-unused-module-elements");
  wasm = readFileSync(outFile);
}

const inward = shortNames("i");
const outward = shortNames("e");
for (const name of ofWasm) outward.names.set(name, name);
writeFileSync(outFile, relink(wasm, (from, name) => [from, inward.of(name)], outward.of));
optimize(outFile, outFile, "-Oz", "--strip-debug", "--strip-producers");
writeFileSync(outFile, namedInOrder(readFileSync(outFile)));
optimize(outFile, outFile, "--reorder-functions-by-name", "--strip-debug");
// Functions that are no longer exported belong to the parts that were removed.
writeFileSync(glueFile, glue.replace(/\bwasm\.(\w+)/g, (all, name) => (outward.names.has(name) ? `wasm.${outward.names.get(name)}` : all)));
const names = { ...same(ofGlue), ...Object.fromEntries([...inward.names].map(([name, short]) => [short, name])) };
// The glue uses the names `host` (worker/platform/src/panic.rs and sql.rs) and `queueMicrotask` (wasm-bindgen).
const text = await bundle(names, {
  format: "iife",
  globalName: "glue",
  banner: { js: "export default function makeGlue(host, queueMicrotask) {" },
  footer: { js: "return glue; }" },
});
const missing = [...text.matchAll(/\bwasm\.(\w+)/g)].map(([, name]) => name).filter((name) => ![...outward.names.values()].includes(name));
if (missing.length > 0) throw new Error(`${outFile}: ${missing.join(", ")} not exported`);
writeFileSync(join(out, "glue.mjs"), text);
