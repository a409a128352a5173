// Keeps README.md true: its console sessions are typed into a shell, against a real workerd, and must come out as
// they stand there; its table of settings must name what the Worker reads.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { startWorker } from "./support.mjs";

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const readme = read("README.md");
/** Where `make start` serves by default, as the README has it. */
const SERVED = "http://127.0.0.1:8787";

/**
 * The sessions of the console blocks: {title, vars, steps: [{command, output}]}. Lines behind "$ " are commands, a
 * backslash continues them, other lines are output. A `make start` begins a new session.
 */
function sessions(text) {
  const found = [{ title: "make start", vars: {}, steps: [] }];
  for (const [, block] of text.matchAll(/^```console\n(.*?)^```$/gms)) {
    let open = false;
    for (const line of block.trimEnd().split("\n")) {
      const { steps } = found.at(-1);
      if (open) steps.at(-1).command += `\n${line}`;
      else if (line.startsWith("$ make start")) {
        const [, list = ""] = line.match(/ VARS="([^"]*)"/) ?? [];
        const vars = Object.fromEntries(list.split(" ").filter(Boolean).map((pair) => pair.split(/=(.*)/s, 2)));
        found.push({ title: line.slice(2), vars, steps: [] });
        continue;
      } else if (line.startsWith("$ ")) steps.push({ command: line.slice(2), output: [] });
      else {
        assert.ok(steps.length > 0, `output without a command: ${line}`);
        steps.at(-1).output.push(line);
        continue;
      }
      open = line.endsWith("\\");
    }
  }
  return found;
}

/** Runs the commands in one shell, so that its variables last; gives what each of them printed. */
async function typed(commands, url) {
  const script = commands.map((command) => `${command.replaceAll(SERVED, url)}\nprintf '\\036'\n`).join("");
  const shell = promisify(execFile)("bash", ["-c", `set -euo pipefail\n${script}`], { timeout: 120_000 });
  const { stdout } = await shell.catch((error) => assert.fail(`a command of the README failed (is curl installed?): ${error.message}`));
  return stdout.split("\x1e").slice(0, -1);
}

/** Of an answer that `curl -i` shows: the status, the headers that are about keys, sorted, and the body. */
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
 * Outputs without what differs from run to run. Each id becomes its number, so that it still counts which are the
 * same; each time becomes its distance in days from the session's first.
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

describe("README.md", { concurrency: false }, () => {
  const all = sessions(readme);

  test("shows the recipe", () => {
    const shown = all[0].steps.map(({ output }) => trimmed(output.join("\n")));
    for (const part of ["idempotent-replayed: true", '"type":"idempotency_error"', "HTTP/1.1 400 Bad Request"]) {
      assert.ok(shown.some((output) => output.includes(part)), part);
    }
  });

  for (const { title, vars, steps } of all) {
    test(`what it shows after "${title}" is what comes out`, async () => {
      const worker = await startWorker({ vars });
      try {
        const outputs = await typed(steps.map(({ command }) => command), worker.url);
        const real = comparable(outputs);
        comparable(steps.map(({ output }) => output.join("\n"))).forEach((shown, at) => {
          assert.equal(shown, real[at], `the output of: ${steps[at].command}`);
        });
      } finally {
        await worker.dispose();
      }
    });
  }

  test("its table of settings is the one that the Worker reads", () => {
    const code = read("worker/src/config.rs");
    const rows = new Map([...readme.matchAll(/^\| `([A-Z_]+)` \|(.*)\|$/gm)].map(([, name, row]) => [name, row]));
    const names = [...code.matchAll(/vars\s*\.(?:parse|choice|list|number|seconds|text)\(\s*"([A-Z_]+)"/g)].map(([, name]) => name);
    assert.deepEqual([...rows.keys()].sort(), [...new Set(names)].sort());
    const [, known] = read("worker/src/names.rs").match(/const NAMES: [^=]*= \[(.*?)\];/s);
    assert.deepEqual([...known.matchAll(/"([A-Z_]+)"/g)].map(([, name]) => name), [...rows.keys()].sort());
    // The numbers: `NAME`, default, least..=most, each of them as Rust writes it.
    const value = (text) => {
      const [number, shift = "0"] = text.replaceAll(/[_()\s]/g, "").split("<<");
      return Number(number) * 2 ** Number(shift);
    };
    const numbers = [...code.matchAll(/vars\.(?:number|seconds)\("([A-Z_]+)", ([^,]+), ([^.]+)\.\.=(.+?)\)\?/g)];
    assert.equal(numbers.length, 5);
    for (const [, name, standard, least, most] of numbers) {
      for (const number of [`| ${value(standard)} `, `${value(least)} to ${value(most)}`]) {
        assert.ok(`|${rows.get(name)}`.includes(number), `${name}: ${number}`);
      }
    }
  });
});
