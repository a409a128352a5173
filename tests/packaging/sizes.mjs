// The sizes that a page loads of the package, for the check in tarball.test.mjs and for the benchmark. Bytes, gzip -9.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

export const gzipped = (bytes) => gzipSync(bytes, { level: 9 }).length;

/** Returns whether the builds can compile the standard library for size (scripts/lib.sh). Otherwise they are larger. */
export const hasSmallStd = () =>
  existsSync(join(execFileSync("rustc", ["--print", "sysroot"], { encoding: "utf8" }).trim(), "lib/rustlib/src/rust/library/Cargo.lock"));

/**
 * Bundles `content` for a page as a shop would. Returns `all`: every script of the bundle, and the wasm that one of them
 * names by its URL; `waits`: the files that must be loaded before the first line of `content` runs. The translation for
 * a CSP that forbids wasm counts for neither, because only such pages load it.
 */
async function bundle(content, dist) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: content, resolveDir: dist },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    splitting: true,
    outdir: "out",
    write: false,
    metafile: true,
    external: ["./translated.js"],
    absWorkingDir: dist,
    logLevel: "silent",
  });
  const sizes = new Map();
  let wasm = 0;
  for (const { path, contents } of outputFiles) {
    sizes.set(path.replace(/^.*\/(?=out\/)/, ""), gzipped(contents));
    if (/new URL\("[^"]*oncekey\.wasm"/.test(Buffer.from(contents).toString())) wasm = gzipped(readFileSync(join(dist, "oncekey.wasm")));
  }
  const waits = new Set();
  const follow = (name) => {
    if (waits.has(name)) return;
    waits.add(name);
    for (const { path, kind } of metafile.outputs[name].imports) if (kind === "import-statement") follow(path);
  };
  follow(Object.keys(metafile.outputs).find((name) => metafile.outputs[name].entryPoint !== undefined));
  const sum = (names) => [...names].reduce((total, name) => total + sizes.get(name), 0);
  return { all: sum(sizes.keys()) + wasm, waits: sum(waits) };
}

/** Returns the sizes of the package whose files are in `dist`. */
export async function packageSizes(dist) {
  const use = (names, entry) => `import { ${names} } from "./${entry}"; globalThis.use = [${names}];`;
  const [whole, client, slim] = await Promise.all([
    bundle(use("createClient, guardForm", "index.js"), dist),
    bundle(use("createClient", "index.js"), dist),
    bundle(use("createClient, guardForm", "slim.js"), dist),
  ]);
  return {
    whole: whole.all,
    waits: whole.waits,
    client: client.all,
    slim: slim.all,
    wasm: gzipped(readFileSync(join(dist, "oncekey.wasm"))),
    translated: withImports(dist, "translated.js"),
    global: gzipped(readFileSync(join(dist, "oncekey.global.js"))),
  };
}

/** Returns the size of a published script with its imports. */
export function withImports(dist, entry) {
  const seen = new Set();
  const follow = (file) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, path] of readFileSync(file, "utf8").matchAll(/from"(\.[^"]+)"/g)) follow(join(dirname(file), path));
  };
  follow(join(dist, entry));
  return [...seen].reduce((sum, file) => sum + gzipped(readFileSync(file)), 0);
}

/** Returns the size of wrangler's upload, from the folder of a dry run. */
export function uploadSize(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(map|md)$/.test(entry.name))
    .reduce((sum, { parentPath, name }) => sum + gzipped(readFileSync(join(parentPath, name))), 0);
}
