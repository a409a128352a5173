// Checks every crate of all lock files against deny.toml: its licence is allowed, it is not banned, it comes from
// the crates registry. cargo-deny checks this and more, but takes minutes to compile. This script takes a second.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const rules = readFileSync("deny.toml", "utf8").replace(/^\s*#.*$/gm, "");
const allowed = new Set([.../^allow = \[([^]*?)^\]/m.exec(rules)[1].matchAll(/"([^"]+)"/g)].map((match) => match[1]));
const banned = new Set([...rules.matchAll(/crate = "([^"]+)"/g)].map((match) => match[1]));
const registry = "registry+https://github.com/rust-lang/crates.io-index";

// In SPDX, AND binds more tightly than OR; "/" is an old spelling of OR.
function permits(expression) {
  const tokens = expression.replaceAll("/", " OR ").match(/\(|\)|[^\s()]+/g);
  function either() {
    let fits = both();
    while (tokens[0] === "OR") fits = (tokens.shift(), both()) || fits;
    return fits;
  }
  function both() {
    let fits = one();
    while (tokens[0] === "AND") fits = (tokens.shift(), one()) && fits;
    return fits;
  }
  function one() {
    if (tokens[0] === "(") {
      tokens.shift();
      const fits = either();
      tokens.shift();
      return fits;
    }
    let name = tokens.shift();
    if (tokens[0] === "WITH") name += ` ${tokens.shift()} ${tokens.shift()}`;
    return allowed.has(name);
  }
  return either();
}

const problems = [];
let count = 0;
for (const manifest of ["Cargo.toml", "scripts/wasm-bindgen-cli/Cargo.toml", "fuzz/Cargo.toml", "examples/axum/Cargo.toml"]) {
  const metadata = execFileSync("cargo", ["metadata", "--locked", "--format-version", "1", "--all-features", "--manifest-path", manifest], {
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "inherit"],
  });
  for (const { name, version, license, source } of JSON.parse(metadata).packages) {
    if (source === null) continue; // a crate of this repository
    count += 1;
    if (source !== registry) problems.push(`${name} ${version} comes from ${source}`);
    if (banned.has(name)) problems.push(`${name} ${version} is banned`);
    if (!license || !permits(license)) problems.push(`${name} ${version}: licence ${license} is not allowed`);
  }
}

for (const problem of problems) console.error(`oncekey: ${problem}`);
console.log(`${count} crates checked, ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
