// Fails if a packed npm package lacks a file that its package.json names, or a file that every package has:
// node scripts/check-packed.mjs TARBALL
import { execFileSync } from "node:child_process";
import { basename } from "node:path";
import { argv } from "node:process";

const [, , tarball] = argv;
const tar = (...values) => execFileSync("tar", values, { encoding: "utf8", maxBuffer: 1 << 26 });
const files = new Set(tar("-tzf", tarball).split("\n").map((path) => path.replace("package/", "")));
const { name, version, license, main, module, types, bin = {}, exports } = JSON.parse(tar("-xzOf", tarball, "package/package.json"));

function* targets(value) {
  if (typeof value === "string") yield value.replace(/^\.\//, "");
  else if (value) for (const inner of Object.values(value)) yield* targets(inner);
}
const needed = ["README.md", "LICENSE", ...targets([main, module, types, bin, exports])];
const missing = needed.filter((file) => !files.has(file));
if (!license) missing.push("a licence in package.json");
if (missing.length > 0) {
  console.error(`oncekey: ${basename(tarball)} lacks ${missing.join(", ")}`);
  process.exit(1);
}
console.log(`npm package ${name} ${version}: ${files.size - 1} files`);
