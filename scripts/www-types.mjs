// Copies the types that tsc wrote into www/build/types to www/dist: only the files that the entry points use, without
// folders, and each file once more for CommonJS, because a `.d.ts` of this package describes an ES module.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename } from "node:path";

const www = new URL("../www/", import.meta.url).pathname;
const { exports } = JSON.parse(readFileSync(`${www}package.json`, "utf8"));

/** Returns the targets of a condition, at any depth. */
function* targets(conditions) {
  if (typeof conditions === "string") yield conditions;
  else for (const inner of Object.values(conditions)) yield* targets(inner);
}

const RELATIVE = /(from "|import\(")\.{1,2}\/(?:[\w.-]+\/)*([\w-]+)\.js"/g;
/** The text of each module, by its name. Names are unique. */
const texts = new Map();
for (const file of readdirSync(`${www}build/types`, { recursive: true })) {
  const name = basename(file, ".d.ts");
  if (!file.endsWith(".d.ts")) continue;
  if (texts.has(name)) throw new Error(`two modules are named ${name}`);
  texts.set(name, readFileSync(`${www}build/types/${file}`, "utf8"));
}

/** Returns the modules that the package's types with this ending use. */
function reached(ending) {
  const modules = new Set();
  const follow = (name) => {
    if (modules.has(name)) return;
    modules.add(name);
    for (const [, , next] of texts.get(name).matchAll(RELATIVE)) follow(next);
  };
  for (const target of targets(exports)) {
    const [, name] = /^\.\/dist\/([\w-]+)(?=\.)/.exec(target) ?? [];
    if (name && target === `./dist/${name}${ending}`) follow(name);
  }
  return modules;
}

for (const [types, script] of [[".d.ts", ".js"], [".d.cts", ".cjs"]]) {
  for (const name of reached(types)) {
    writeFileSync(`${www}dist/${name}${types}`, texts.get(name).replace(RELATIVE, `$1./$2${script}"`));
  }
}
