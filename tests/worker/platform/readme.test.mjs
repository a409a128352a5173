// Compares README.md and docs/guide/ with the code: their console sessions run in a shell against a real workerd, and
// must print what the pages show; the table of settings must match the code; links must lead to files and headings.
// `UPDATE_DOCS=1` writes the outputs of sessions that differ.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startWorker } from "../fixtures/support.mjs";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path) => readFileSync(join(root, path), "utf8");
/** Returns the Markdown files under a folder. */
const pagesIn = (folder) =>
  readdirSync(join(root, folder)).filter((name) => name.endsWith(".md")).map((name) => join(folder, name)).sort();
const GUIDE = pagesIn("docs/guide");
/** The default URL of `make start`, which the pages show. */
const SERVED = "http://127.0.0.1:8787";

/**
 * Returns the sessions of a page's console blocks: {title, vars, steps: [{command, output, from}]}. Lines after "$ " are
 * commands, a backslash continues them, other lines are output, which begins at line `from`. Each page has a new
 * Worker, and `make start` begins a new session.
 */
function sessions(lines) {
  const found = [{ title: "make start", vars: {}, steps: [] }];
  let shown = false;
  let open = false;
  for (const [at, line] of lines.entries()) {
    if (!shown || line === "```") {
      shown = line === "```console";
      continue;
    }
    const { steps } = found.at(-1);
    if (open) {
      steps.at(-1).command += `\n${line}`;
      steps.at(-1).from = at + 1;
    } else if (line.startsWith("$ make start")) {
      const [, list = ""] = line.match(/ VARS="([^"]*)"/) ?? [];
      const vars = Object.fromEntries(list.split(" ").filter(Boolean).map((pair) => pair.split(/=(.*)/s, 2)));
      found.push({ title: line.slice(2), vars, steps: [] });
      continue;
    } else if (line.startsWith("$ ")) steps.push({ command: line.slice(2), output: [], from: at + 1 });
    else {
      assert.ok(steps.length > 0, `output without a command: ${line}`);
      steps.at(-1).output.push(line);
      continue;
    }
    open = line.endsWith("\\");
  }
  for (const { output } of found.flatMap(({ steps }) => steps)) while (output.at(-1) === "") output.pop();
  return found.filter(({ steps }) => steps.length > 0);
}

/** Runs the commands in one shell, so that its variables last. Returns what each command printed. */
async function typed(commands, url) {
  const script = commands.map((command) => `${command.replaceAll(SERVED, url)}\nprintf '\\036'\n`).join("");
  const shell = promisify(execFile)("bash", ["-c", `set -euo pipefail\n${script}`], { timeout: 120_000 });
  const { stdout } = await shell.catch((error) => assert.fail(`a command of the page failed (is curl installed?): ${error.message}`));
  return stdout.split("\x1e").slice(0, -1);
}

/** Returns the status, the sorted headers about keys, and the body of a response that `curl -i` printed. */
function trimmed(output) {
  const text = output.replaceAll("\r", "").trim();
  if (!text.startsWith("HTTP/")) return text;
  const [head, ...body] = text.split("\n\n");
  const [status, ...headers] = head.split("\n");
  const pairs = headers.map((line) => line.split(/: (.*)/s, 2)).map(([name, value]) => [name.toLowerCase(), value]);
  const shown = pairs.filter(([name]) => /^(idempoten.*|retry-after|x-request-id)$/.test(name));
  return [status, ...shown.map((pair) => pair.join(": ")).sort(), "", ...body].join("\n");
}

/**
 * Returns the outputs without the parts that differ from run to run. Each id becomes its number, so that equal ids stay
 * equal. Each time becomes the number of days since the first time of the session.
 */
function comparable(outputs) {
  const ids = new Map();
  let first;
  const id = (text) => {
    if (!ids.has(text)) ids.set(text, `<id ${ids.size + 1}>`);
    return ids.get(text);
  };
  const time = (text) => {
    const at = Date.parse(text);
    first ??= at;
    return `<day ${Math.round((at - first) / 86_400_000)}>`;
  };
  const ID = /\b(?:req_[0-9a-f]{24}|ord_[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b/g;
  const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/g;
  return outputs.map((output) => trimmed(output).replace(ID, id).replace(TIME, time));
}

/** Returns the anchor of a heading, as GitHub does. */
function anchor(heading) {
  const text = heading.replaceAll("`", "").replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1");
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}\- _]/gu, "").replaceAll(" ", "-");
}

for (const page of ["README.md", ...GUIDE]) {
  describe(page, { concurrency: false }, () => {
    const lines = read(page).split("\n");
    /** The outputs to replace in the page. */
    const updates = [];

    for (const { title, vars, steps } of sessions(lines)) {
      test(`the session after "${title}" prints what the page shows`, async () => {
        const worker = await startWorker({ vars });
        try {
          const outputs = await typed(steps.map(({ command }) => command), worker.url);
          const real = comparable(outputs);
          const shown = comparable(steps.map(({ output }) => output.join("\n")));
          if (process.env.UPDATE_DOCS === "1" && real.some((output, at) => output !== shown[at])) {
            for (const [at, { output, from }] of steps.entries()) {
              const text = trimmed(outputs[at]);
              updates.push({ from, count: output.length, text: text === "" ? [] : text.split("\n") });
            }
            return;
          }
          for (const [at, { command }] of steps.entries()) assert.equal(shown[at], real[at], `the output of: ${command}`);
        } finally {
          await worker.dispose();
        }
      });
    }

    after(() => {
      if (updates.length === 0) return;
      for (const { from, count, text } of updates.toSorted((one, other) => other.from - one.from)) {
        lines.splice(from, count, ...text);
      }
      writeFileSync(join(root, page), lines.join("\n"));
    });
  });
}

describe("the documentation", () => {
  const rowsOf = (page) => new Map([...read(page).matchAll(/^\| `([A-Z_]+)` \|(.*)\|$/gm)].map(([, name, row]) => [name, row]));
  const rows = rowsOf("docs/guide/settings.md");

  test("README shows a replay and a mismatch, and has at most 200 lines", () => {
    const lines = read("README.md").trimEnd().split("\n");
    assert.ok(lines.length <= 200, `${lines.length} lines`);
    const shown = sessions(lines)[0].steps.map(({ output }) => trimmed(output.join("\n")));
    for (const part of ["idempotent-replayed: true", '"type":"idempotency_error"', "HTTP/1.1 400 Bad Request"]) {
      assert.ok(shown.some((output) => output.includes(part)), part);
    }
  });

  test("README's settings are rows of the table of all settings", () => {
    const few = rowsOf("README.md");
    assert.equal(few.size, 8);
    for (const [name, row] of few) assert.equal(row, rows.get(name), name);
  });

  test("the table of settings contains the settings of the Worker, with their defaults and bounds", () => {
    const code = read("worker/src/config.rs");
    const names = [...code.matchAll(/(?:vars|self)\s*\.(?:parse|choice|list|number|seconds|seconds_by_route|text|unless_none)\(\s*"([A-Z_]+)"/g)].map(([, name]) => name);
    assert.deepEqual([...rows.keys()].sort(), [...new Set(names)].sort());
    const [, known] = read("worker/src/config/names.rs").match(/const NAMES: [^=]*= \[(.*?)\];/s);
    assert.deepEqual([...known.matchAll(/"([A-Z_]+)"/g)].map(([, name]) => name), [...rows.keys()].sort());
    // The numbers: `NAME`, default, least..=most, each in Rust's spelling.
    const value = (text) => {
      const [number, shift = "0"] = text.replaceAll(/[_()\s]/g, "").split("<<");
      return Number(number) * 2 ** Number(shift);
    };
    const numbers = [...code.matchAll(/vars\s*\.(?:number|seconds|seconds_by_route)\("([A-Z_]+)", ([^,]+), ([^.]+)\.\.=(.+?)\)/g)];
    assert.equal(numbers.length, 8);
    for (const [, name, standard, least, most] of numbers) {
      for (const number of [`| ${value(standard)} `, `${value(least)} to ${value(most)}`]) {
        assert.ok(`|${rows.get(name)}`.includes(number), `${name}: ${number}`);
      }
    }
    const choices = [...code.matchAll(/vars\s*\.choice\(\s*"([A-Z_]+)",[^&]*&\[(.*?)\],?\s*\)/gs)];
    assert.equal(choices.length, code.match(/vars\s*\.choice\(/g).length);
    for (const [, name, list] of choices) {
      for (const [choice] of list.matchAll(/(?<=")[a-z]+(?=")/g)) {
        assert.ok(rows.get(name).includes(`\`${choice}\``), `${name}: ${choice}`);
      }
    }
  });

  test("links lead to files and headings", () => {
    const pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "www/README.md", "worker/npm/README.md", ...GUIDE];
    for (const page of [...pages, ...["docs", "docs/proof", "docs/decisions"].flatMap(pagesIn)]) {
      for (const [, link] of read(page).matchAll(/\]\(([^)\s]+)\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        const [file, part] = link.split("#");
        const path = file === "" ? page : join(dirname(page), file);
        assert.ok(existsSync(join(root, path)), `${page}: ${link} leads to a file that does not exist`);
        if (!part || !path.endsWith(".md")) continue;
        const headings = [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchor(heading));
        assert.ok(headings.includes(part), `${page}: ${link} leads to a heading that does not exist`);
      }
    }
  });
});
