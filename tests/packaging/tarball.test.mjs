// What is in the package: all that it leads to, and nothing of the machine that built it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { hasSmallStd, packageSizes } from "./sizes.mjs";
import { Consumer, pack, root } from "./support.mjs";

let consumer;
let files;
before(async () => {
  consumer = await Consumer.make("tarball");
  files = readdirSync(consumer.package, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(consumer.package.length + 1))
    .sort();
});
const read = (file) => readFileSync(join(consumer.package, file), "latin1");

function* targets(conditions) {
  if (typeof conditions === "string") yield conditions;
  else for (const inner of Object.values(conditions)) yield* targets(inner);
}

test("the licence and the description come along", (t) => {
  assert.ok(files.includes("LICENSE"));
  assert.equal(read("LICENSE"), readFileSync(join(root, "LICENSE"), "latin1"));
  if (!files.includes("README.md")) t.diagnostic("there is no README.md yet");
});

test("every entry point is there, and every file is led to", () => {
  const { exports, main, module, types, unpkg, jsdelivr } = JSON.parse(read("package.json"));
  const reached = new Set(["package.json", "LICENSE", "README.md"]);
  const follow = (file) => {
    if (reached.has(file)) return;
    assert.ok(files.includes(file), `${file} is not packed`);
    reached.add(file);
    if (file.endsWith(".wasm")) return;
    const imports = /(?:from\s*|import\s*\(?\s*|require\()"(\.[^"]+)"/g;
    for (const [, path] of read(file).matchAll(imports)) {
      let next = join(dirname(file), path);
      // In types, `./x.js` stands for x.d.ts.
      if (/\.d\.c?ts$/.test(file)) next = next.replace(/\.(c?)js$/, ".d.$1ts");
      follow(next);
    }
  };
  for (const target of [...targets(exports), main, module, types, unpkg, jsdelivr]) follow(target.replace("./", ""));
  assert.deepEqual(files.filter((file) => !reached.has(file)), []);
});

test("no file knows the machine that built it", () => {
  const machine = [root, homedir(), process.env.CARGO_HOME, tmpdir(), "/home/", "/Users/", "\\Users\\", "file://", "sourceMappingURL"]
    .filter((path) => path && path !== "/")
    .map((path) => path.replace(/\/$/, ""));
  for (const file of files) {
    const content = read(file);
    for (const path of machine) {
      const at = content.indexOf(path);
      assert.equal(at, -1, `${file} holds ${path}: ${content.slice(at - 40, at + 80)}`);
    }
  }
});

test("npm installs it, without anything else", async () => {
  const { tarball } = await pack("installed");
  const folder = new Consumer(dirname(tarball));
  folder.write("package.json", { private: true, type: "module" });
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", "--ignore-scripts", tarball], { cwd: folder.path, stdio: "pipe" });
  assert.deepEqual(readdirSync(folder.at("node_modules")).filter((name) => !name.startsWith(".")), ["oncekey"]);
  assert.ok(existsSync(folder.at("node_modules/oncekey/dist/index.js")));
});

/** Bytes, gzip -9. They go down as the package gets lighter and never up; the goals are in docs/performance.md. */
const BOUNDS = { whole: 85_000, waits: 85_000, client: 81_900, slim: 19_100, wasm: 60_800, translated: 85_600, global: 85_700 };

test("sizes", { skip: hasSmallStd() ? false : "built without the source of the standard library" }, async (t) => {
  const dist = join(consumer.package, "dist");
  const sizes = await packageSizes(dist);
  for (const [name, bound] of Object.entries(BOUNDS)) {
    t.diagnostic(`${name}: ${(sizes[name] / 1000).toFixed(1)} KB (gzip)`);
    assert.ok(sizes[name] <= bound, `${name} has grown: ${sizes[name]} bytes, at most ${bound} are allowed`);
  }
});
