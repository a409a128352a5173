// Fails unless the crates and the npm packages have one version, and CHANGELOG.md has a section for it:
// node scripts/check-versions.mjs [TAG]. With the tag of a release, such as v0.1.0, that section must have a date.
import { readFileSync } from "node:fs";
import { argv } from "node:process";

const problems = [];
const read = (path) => readFileSync(path, "utf8");
const ofCrate = (path) => read(path).match(/^\[package\]\n(?:.+\n)*?version = "(.*)"$/m)?.[1];
const ofPackage = (path) => JSON.parse(read(path)).version;

const version = ofCrate("Cargo.toml");
const others = [
  ...["worker", "worker/platform", "worker/sandbox", "www/wasm"].map((folder) => [`${folder}/Cargo.toml`, ofCrate(`${folder}/Cargo.toml`)]),
  ...["www", "worker/npm"].map((folder) => [`${folder}/package.json`, ofPackage(`${folder}/package.json`)]),
];
for (const [path, other] of others) {
  if (other !== version) problems.push(`${path} has the version ${other}; Cargo.toml has ${version}`);
}

// The container installs the release, and the workerd with which the tests ran.
const [, installed, workerd] = read("worker/npm/self-hosting/Dockerfile").match(/oncekey-worker@(\S+) workerd@(\S+)/);
const tested = JSON.parse(read("package-lock.json")).packages["node_modules/workerd"].version;
if (installed !== version) problems.push(`worker/npm/self-hosting/Dockerfile installs oncekey-worker ${installed}; Cargo.toml has ${version}`);
if (workerd !== tested) problems.push(`worker/npm/self-hosting/Dockerfile installs workerd ${workerd}; the tests run on ${tested}`);

const changes = read("CHANGELOG.md");
const first = changes.match(/^## \[(.*?)\](?: - (\d{4}-\d\d-\d\d))?\n\n(.*)$/m) ?? [];
const [, title, date, line = ""] = first;
const [, , tag] = argv;
if (tag !== undefined) {
  if (tag !== `v${version}`) problems.push(`the tag is ${tag}; Cargo.toml has the version ${version}`);
  if (title !== version || !date) problems.push(`the first section of CHANGELOG.md must be "## [${version}] - YYYY-MM-DD" in a release`);
} else if (title !== version && !(title === "Unreleased" && line.includes(` ${version}`))) {
  problems.push(`the first section of CHANGELOG.md must be [${version}], or [Unreleased] with a first line that says "This will be ${version}"`);
}

for (const problem of problems) console.error(`oncekey: ${problem}`);
process.exit(problems.length > 0 ? 1 : 0);
