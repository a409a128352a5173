// What the Worker's sources say about it: the names of its settings, and its compatibility date. As a program, prints
// both as JSON, for worker/npm/dist/build.json.
import { readFileSync } from "node:fs";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const read = (path) => readFileSync(new URL(`../worker/${path}`, import.meta.url), "utf8");

/** Returns the names of all settings. */
export function settingNames() {
  const [, list] = read("src/config/names.rs").match(/const NAMES: [^=]*= \[(.*?)\];/s);
  return [...list.matchAll(/"([A-Z_]+)"/g)].map(([, name]) => name);
}

/** Returns the compatibility date in wrangler.toml. */
export const compatibilityDate = () => read("wrangler.toml").match(/^compatibility_date = "(.*)"$/m)[1];

if (argv[1] === fileURLToPath(import.meta.url)) {
  console.log(JSON.stringify({ compatibilityDate: compatibilityDate(), settings: settingNames() }));
}
