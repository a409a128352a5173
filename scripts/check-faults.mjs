// Compares docs/reported-faults.md with the tests: every fault must have tests, and its row lists them.
// `--update` writes the last column again.
//
// A test names its faults at the start of its title: `fault 7: …` or `faults 7, 13: …`. A test in Rust names them at
// the start of its function's name: `fault_7_…` or `faults_7_13_…`.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const COUNT = 79;
const page = "docs/reported-faults.md";
const problems = [];

/** The faults that a title or a name starts with, and the rest of it; undefined for a title without faults. */
function read(title, where) {
  const [, word, list, rest] = /^(faults?)[ _](\d+(?:(?:, |_)\d+)*)(?:: |_)(.+)$/s.exec(title) ?? [];
  if (list === undefined) return undefined;
  const numbers = list.split(/, |_/).map(Number);
  if ((word === "faults") !== numbers.length > 1) problems.push(`${where}: write "fault" for one number, and "faults" for several`);
  if (numbers.some((number, at) => number < 1 || number > COUNT || number <= (numbers[at - 1] ?? 0)))
    problems.push(`${where}: the numbers of "${title}" are not 1 to ${COUNT} in ascending order`);
  return { numbers, rest };
}

/**
 * Returns the titles of a file's tests. A fault number elsewhere than at the start of a title is an error, because the
 * table would not list the test.
 */
function titles(file, text) {
  const found = file.endsWith(".rs")
    ? text.matchAll(/#\[(?:wasm_bindgen_)?test\]\s*(?:async )?fn (\w+)/g)
    : text.matchAll(/^\s*test\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`)/gm);
  const all = Array.from(found, ([, one, other]) => one ?? other);
  const stray = text.match(file.endsWith(".rs") ? /fn faults?_\d+_/g : /["'`]faults? \d/g)?.length ?? 0;
  const named = all.filter((title) => /^faults?[ _]\d/.test(title)).length;
  if (stray !== named) problems.push(`${file}: ${stray} texts start like the title of a fault's test, but only ${named} of them are titles of tests`);
  return all;
}

const files = readdirSync("tests", { recursive: true })
  .filter((name) => /\.test\.mjs$|\.rs$/.test(name) && !/(^|\/)target\//.test(name))
  .map((name) => join("tests", name))
  .sort();
/** Returns, for each fault, the lines of its cell: one for each test. */
const tests = Array.from({ length: COUNT + 1 }, () => []);
for (const file of files) {
  for (const title of titles(file, readFileSync(file, "utf8"))) {
    const named = read(title, file);
    if (!named) continue;
    const shown = file.endsWith(".rs") ? `\`${named.rest}\`` : named.rest.replaceAll(/[|<*_]/g, "\\$&");
    const short = relative("tests", file).replace(/(\.test)?\.\w+$/, "");
    for (const number of named.numbers) tests[number]?.push(`[${short}](${relative(dirname(page), file)}): ${shown}`);
  }
}

let next = 1;
const lines = readFileSync(page, "utf8").split("\n").map((line) => {
  const [, number, words] = /^\| (\d+) (\| .+? \| .+? \|) .*\|$/.exec(line) ?? [];
  if (number === undefined) return line;
  if (Number(number) !== next) problems.push(`${page}: expected fault ${next}, found ${number}`);
  next = Number(number) + 1;
  if (!tests[number]?.length) problems.push(`${page}: no test names fault ${number}`);
  const whole = `| ${number} ${words} ${tests[number]?.join("<br>")} |`;
  if (whole !== line && !process.argv.includes("--update"))
    problems.push(`${page}: the listed tests of fault ${number} are out of date: run node scripts/check-faults.mjs --update`);
  return whole;
});
if (next !== COUNT + 1) problems.push(`${page}: it ends before fault ${COUNT}`);

if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
if (process.argv.includes("--update")) writeFileSync(page, lines.join("\n"));
console.log(`${COUNT} faults, each with its tests, ${new Set(tests.flat()).size} in all`);
