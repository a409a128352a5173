// Checks the wasm that the builds made: check-wasm.mjs core FILE | worker DIR [--test-build] | www FILE
//
// core: has no imports, so it uses no environment, no browser and no clock.
// worker: imports only from its own glue, and nothing that belongs to a page. Except in a build for tests, it
// contains no faults for tests, and its size is limited.
// www: imports only from its own glue, exports its memory under a hash (scripts/www-names.mjs), and contains nothing that cannot be
// translated to JavaScript.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [kind, path, flag] = process.argv.slice(2);
const problems = [];

function importsOf(bytes) {
  return WebAssembly.Module.imports(new WebAssembly.Module(bytes));
}

if (kind === "core") {
  for (const { module, name } of importsOf(readFileSync(path))) problems.push(`the core imports ${module}.${name}`);
} else if (kind === "worker") {
  const wasm = readFileSync(join(path, "oncekey.wasm"));
  const glue = readFileSync(join(path, "glue.mjs"));
  for (const { module, name } of importsOf(wasm)) {
    if (module !== "./oncekey_bg.js") problems.push(`the Worker imports ${module}.${name}`);
  }
  // The names of imports are shortened; the functions behind them still have their full names.
  const functions = [...glue.toString().matchAll(/^ *function (\w+)\(/gm)].map(([, name]) => name);
  if (!functions.some((name) => name.startsWith("__wbg_"))) problems.push("the Worker's glue has no function of an import");
  for (const name of functions) {
    // js-sys looks for any of window, self and globalThis, so this accessor does not show that a page is needed.
    if (/localStorage|sessionStorage|_document_|instanceof_(Window|Html|Element)|_navigator_/.test(name)) {
      problems.push(`the Worker imports a binding of a page: ${name}`);
    }
  }
  const hasFaults = wasm.includes("oncekey-test-panic") || wasm.includes("Oncekey-Test-Panic");
  if (hasFaults !== (flag === "--test-build")) {
    problems.push(hasFaults ? "the deployed Worker contains the faults for tests" : "the test build does not contain the faults for tests");
  }
  const kilobytes = (bytes) => `${(bytes.length / 1000).toFixed(1)} KB`;
  console.log(`oncekey.wasm: ${kilobytes(wasm)}, gzip ${kilobytes(gzipSync(wasm, { level: 9 }))}; glue gzip ${kilobytes(gzipSync(glue))}`);
} else if (kind === "www") {
  for (const { module, name, kind } of importsOf(readFileSync(path))) {
    if (!/^v[0-9a-f]{12}$/.test(module) || kind !== "function") problems.push(`the package imports ${module}.${name}`);
  }
  const exported = WebAssembly.Module.exports(new WebAssembly.Module(readFileSync(path)));
  if (!exported.some(({ name, kind }) => kind === "memory" && /^v[0-9a-f]{12}$/.test(name))) problems.push("the package's memory has no version");
} else {
  problems.push("usage: check-wasm.mjs core FILE | worker DIR [--test-build] | www FILE");
}

for (const problem of problems) console.error(`oncekey: ${problem}`);
process.exit(problems.length ? 1 : 0);
