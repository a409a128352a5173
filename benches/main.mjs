// Runs all measurements of `make bench` in JavaScript: main.mjs [--only gateway,counts,sizes,page] [--rounds N] [--requests N]
// [--connections N] [--bytes N] [--contestants NAME,NAME] [--state DIR]
//
// The raw figures are written to a file in target/bench; scripts/bench-table.mjs makes the table of docs/performance.md from it.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { gzipped, packageSizes } from "../tests/packaging/sizes.mjs";
import { bytesOfKey, count } from "../tests/worker/fixtures/counts.mjs";
import { noMemory } from "../tests/worker/fixtures/support.mjs";
import { gateway } from "./gateway.mjs";
import { page } from "./page.mjs";
import { table } from "./table.mjs";

const root = new URL("../", import.meta.url).pathname;
const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: "gateway,counts,sizes,page" },
    rounds: { type: "string", default: "5" },
    requests: { type: "string", default: "1500" },
    connections: { type: "string", default: "16" },
    bytes: { type: "string", default: "1200" },
    contestants: { type: "string" },
    state: { type: "string" },
  },
});
const [rounds, requests, connections, bytes] = ["rounds", "requests", "connections", "bytes"].map((name) => Number(options[name]));
const built = join(root, "worker/build");

/** The Worker as it is uploaded: wasm, and the JavaScript in one minified file. */
async function workerSize(folder) {
  if (!existsSync(join(folder, "oncekey.wasm"))) return undefined;
  const { outputFiles } = await build({ entryPoints: [join(folder, "entry.mjs")], bundle: true, minify: true, format: "esm", external: ["cloudflare:*", "*.wasm"], write: false, logLevel: "error" });
  return gzipped(readFileSync(join(folder, "oncekey.wasm"))) + gzipped(outputFiles[0].contents);
}

const sections = {
  gateway: () => gateway({ build: built, state: options.state ?? (process.env.STATE || undefined), rounds, requests, connections, bytes, only: options.contestants?.split(",") }),
  counts: async () => ({
    ...(await count({ build: built })),
    replayByObject: (await count({ build: built, vars: noMemory })).replay,
    bytesOfKey: await bytesOfKey({ build: built }),
  }),
  sizes: async () => ({
    package: await packageSizes(join(root, "www/dist")),
    worker: await workerSize(built),
    production: await workerSize(join(root, "worker/build-production")),
  }),
  page: () => page({ rounds }),
};

const date = new Date();
const results = {
  date: date.toISOString(),
  revision: execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).trim(),
  machine: { processors: cpus().length, model: cpus()[0].model.trim(), node: process.version, load: loadavg() },
  workerd: JSON.parse(readFileSync(join(root, "node_modules/workerd/package.json"), "utf8")).version,
  settings: { rounds, requests, connections, bytes },
};
const folder = join(root, "target/bench");
const file = join(folder, `${date.toISOString().slice(0, 19).replaceAll(":", "-")}.json`);
mkdirSync(folder, { recursive: true });
for (const name of options.only.split(",")) {
  console.log(`-- ${name}`);
  results[name] = await sections[name]();
  results.machine.loadAfter = loadavg();
  // Written after each part, so that no figures are lost when the next part fails.
  for (const path of [file, join(folder, "latest.json")]) writeFileSync(path, `${JSON.stringify(results, null, 1)}\n`);
}
console.log(`\n${table(results)}\nraw figures: ${file}`);
