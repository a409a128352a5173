// The check of versions before a release, in a copy of the files that it reads.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { root } from "./support.mjs";

const FILES = [
  ...["Cargo.toml", "worker/Cargo.toml", "worker/platform/Cargo.toml", "worker/sandbox/Cargo.toml", "www/wasm/Cargo.toml"],
  ...["package-lock.json", "www/package.json", "worker/npm/package.json", "worker/npm/self-hosting/Dockerfile", "CHANGELOG.md"],
];
const version = JSON.parse(readFileSync(join(root, "www/package.json"), "utf8")).version;

let copy;
before(() => (copy = mkdtempSync(join(tmpdir(), "oncekey-release-"))));
after(() => rmSync(copy, { recursive: true, force: true }));

/** Runs the check on a fresh copy, in which `edits` have replaced texts. Returns its exit code and its output. */
function check(edits = [], tag) {
  for (const file of FILES) cpSync(join(root, file), join(copy, file));
  for (const [file, from, to] of edits) {
    const text = readFileSync(join(copy, file), "utf8");
    assert.ok(text.includes(from), `${file}: ${from}`);
    writeFileSync(join(copy, file), text.replace(from, to));
  }
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/check-versions.mjs"), ...(tag ? [tag] : [])], { cwd: copy, encoding: "utf8" });
  return { status, stderr };
}

test("the versions of this checkout agree", () => {
  assert.deepEqual(check(), { status: 0, stderr: "" });
});

for (const [file, text] of [
  ["www/package.json", `"version": "${version}"`],
  ["worker/npm/package.json", `"version": "${version}"`],
  ["worker/sandbox/Cargo.toml", `version = "${version}"`],
  ["worker/npm/self-hosting/Dockerfile", `oncekey-worker@${version}`],
]) {
  test(`another version in ${file} is found`, () => {
    const { status, stderr } = check([[file, text, text.replace(version, "9.9.9")]]);
    assert.equal(status, 1);
    assert.ok(stderr.includes(file) && stderr.includes("9.9.9"), stderr);
  });
}

test("a release needs a section of the changelog with a date, and a tag with the version", () => {
  const dated = [["CHANGELOG.md", /^## \[.*$/m.exec(readFileSync(join(root, "CHANGELOG.md"), "utf8"))[0], `## [${version}] - 2026-12-31`]];
  assert.equal(check(dated).status, 0);
  assert.equal(check(dated, `v${version}`).status, 0);
  assert.match(check(dated, "v9.9.9").stderr, /the tag is v9\.9\.9/);
  const undated = [[...dated[0].slice(0, 2), `## [${version}]`]];
  assert.match(check(undated, `v${version}`).stderr, /must be "## \[.*\] - YYYY-MM-DD" in a release/);
});
