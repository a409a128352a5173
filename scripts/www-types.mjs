// What tsc wrote into www/dist, made fit to be shipped: only what the entry points lead to, and a twin of each file
// for CommonJS, because a `.d.ts` of this package describes an ES module.
import { readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const dist = new URL("../www/dist/", import.meta.url).pathname;
const { exports } = JSON.parse(readFileSync(`${dist}../package.json`, "utf8"));

/** The targets of a condition, however deep it stands. */
function* targets(conditions) {
  if (typeof conditions === "string") yield conditions;
  else for (const inner of Object.values(conditions)) yield* targets(inner);
}

const RELATIVE = /(from "|import\(")\.\/([\w-]+)\.js"/g;
/** The modules that the package's types with this ending lead to. */
function reached(ending) {
  const modules = new Set();
  const follow = (name) => {
    if (modules.has(name)) return;
    modules.add(name);
    for (const [, , next] of readFileSync(`${dist}${name}.d.ts`, "utf8").matchAll(RELATIVE)) follow(next);
  };
  for (const target of targets(exports)) {
    const [, name] = /^\.\/dist\/([\w-]+)(?=\.)/.exec(target) ?? [];
    if (name && target === `./dist/${name}${ending}`) follow(name);
  }
  return modules;
}

const modules = reached(".d.ts");
for (const name of reached(".d.cts")) {
  const text = readFileSync(`${dist}${name}.d.ts`, "utf8");
  writeFileSync(`${dist}${name}.d.cts`, text.replace(RELATIVE, '$1./$2.cjs"'));
}
for (const file of readdirSync(dist)) {
  if (file.endsWith(".d.ts") && !modules.has(file.slice(0, -5))) rmSync(`${dist}${file}`);
}
