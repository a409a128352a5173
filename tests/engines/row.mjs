// The table of engines in www/README.md: what the tests of each engine ran.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const README = new URL("../../www/README.md", import.meta.url);

/**
 * Fails unless the row of an engine says how many cases ran. With UPDATE_DOCS=1, it writes the number and the version.
 * (The version is not compared, because another machine has another one.)
 */
export function checkRow(name, version, count) {
  const text = readFileSync(README, "utf8");
  const [row, what] = text.match(new RegExp(`^\\| ${name} (\\([^|]*\\)) \\|.*$`, "m")) ?? [];
  assert.ok(row, `the table has no row for ${name}`);
  if (process.env.UPDATE_DOCS === "1") {
    writeFileSync(README, text.replace(row, `| ${name} ${what} | ${version.split(".", 2).join(".")} | ${count} |`));
    return;
  }
  assert.ok(row.endsWith(` | ${count} |`), `${row} must say ${count}; UPDATE_DOCS=1 writes it`);
}
