// Shortens the names of a wasm's imports and exports, in the wasm and in its glue: www-names.mjs WASM GLUE
//
// The glue's names are long, and each has a hash that does not compress. The hashes make sure that a wasm is linked
// only with the glue of its own build. Instead of them, the exported memory is named by a hash of the wasm, which
// www/src/core.ts checks, and so is the imported module, if anything is imported.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { relink, shortNames } from "./wasm-links.mjs";

const [wasmFile, glueFile] = process.argv.slice(2);
const wasm = readFileSync(wasmFile);
const glue = readFileSync(glueFile, "utf8");
const version = `v${createHash("sha256").update(wasm).digest("hex").slice(0, 12)}`;

const imports = shortNames("i");
const exports = shortNames("e");
exports.names.set("memory", version);
const relinked = relink(wasm, (_, name) => [version, imports.of(name)], exports.of);

const renamed = glue
  .replace(/\bwasm\.(\w+)/g, (_, name) => {
    if (!exports.names.has(name)) throw new Error(`${wasmFile}: ${name} is not exported`);
    return `wasm.${exports.names.get(name)}`;
  })
  .replace(/^export (?=function (\w+))/gm, (all, name) => (imports.names.has(name) ? "" : all));
const links = [...imports.names].map(([name, link]) => {
  if (!renamed.includes(`\nfunction ${name}(`)) throw new Error(`${glueFile}: no ${name}`);
  return `    ${link}: ${name},\n`;
});

writeFileSync(wasmFile, relinked);
writeFileSync(glueFile, `${renamed}\nexport const VERSION = "${version}";\nexport const imports = {\n${links.join("")}};\n`);
