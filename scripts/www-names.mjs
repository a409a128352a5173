// Gives what a wasm imports and exports short names, in it and in its glue: www-names.mjs WASM GLUE
//
// The glue's names are long and have a hash each; none of them compresses. What they guard against stays: the module
// that is imported from is named by a hash of the whole, so that a wasm of another build does not link.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [wasmFile, glueFile] = process.argv.slice(2);
const wasm = readFileSync(wasmFile);
const glue = readFileSync(glueFile, "utf8");
const moduleName = createHash("sha256").update(wasm).digest("hex").slice(0, 12);

let at = 8;
function number() {
  for (let value = 0, shift = 1; ; shift *= 128) {
    const byte = wasm[at++];
    value += (byte & 127) * shift;
    if (byte < 128) return value;
  }
}
const bytes = (count) => wasm.subarray(at, (at += count));
const text = () => bytes(number()).toString("utf8");

const numberBytes = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...numberBytes(Math.floor(value / 128))]);
const textBytes = (text) => [...numberBytes(text.length), ...Buffer.from(text)];

const imports = new Map();
const exports = new Map();
const short = (names, letter, name) => {
  if (!names.has(name)) names.set(name, `${letter}${names.size.toString(36)}`);
  return names.get(name);
};

function importSection() {
  const out = [];
  const count = number();
  for (let i = 0; i < count; i++) {
    const [from, name, kind] = [text(), text(), bytes(1)[0]];
    if (from !== "./oncekey_bg.js" || kind !== 0) throw new Error(`${wasmFile}: ${from} ${name} is no function of its glue`);
    out.push(...textBytes(moduleName), ...textBytes(short(imports, "i", name)), kind, ...numberBytes(number()));
  }
  return [...numberBytes(count), ...out];
}

function exportSection() {
  const out = [];
  const count = number();
  for (let i = 0; i < count; i++) {
    out.push(...textBytes(short(exports, "e", text())), bytes(1)[0], ...numberBytes(number()));
  }
  return [...numberBytes(count), ...out];
}

const sections = [wasm.subarray(0, 8)];
while (at < wasm.length) {
  const id = wasm[at++];
  const size = number();
  const rewritten = id === 2 ? importSection() : id === 7 ? exportSection() : bytes(size);
  sections.push(Buffer.from([id, ...numberBytes(rewritten.length)]), Buffer.from(rewritten));
}

const renamed = glue
  .replace(/\bwasm\.(\w+)/g, (_, name) => {
    if (!exports.has(name)) throw new Error(`${wasmFile}: ${name} is not exported`);
    return `wasm.${exports.get(name)}`;
  })
  .replace(/^export (?=function (\w+))/gm, (all, name) => (imports.has(name) ? "" : all));
const links = [...imports].map(([name, link]) => {
  if (!renamed.includes(`\nfunction ${name}(`)) throw new Error(`${glueFile}: no ${name}`);
  return `    ${name} as ${link},\n`;
});

writeFileSync(wasmFile, Buffer.concat(sections));
writeFileSync(glueFile, `${renamed}\nexport const MODULE = "${moduleName}";\nexport {\n${links.join("")}};\n`);
