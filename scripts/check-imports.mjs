// Fails when source files import each other in a circle: node scripts/check-imports.mjs [FOLDER ...]
//
// Rust does not check this inside a crate, and a file of a circle cannot be read without the others. An import
// counts for the file that defines the name; a `pub use` only passes a name on. Tests inside a file do not count, and
// neither does `mod name;`.

import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const FOLDERS = ["src", "worker/src", "worker/platform/src", "worker/sandbox/src", "www/wasm/src", "www/src"];
const folders = process.argv.length > 2 ? process.argv.slice(2) : FOLDERS.filter((folder) => existsSync(folder));

let failed = false;
for (const folder of folders) {
    const files = list(folder);
    const arrows = existsSync(join(folder, "lib.rs")) ? rustArrows(folder) : scriptArrows(files);
    for (const circle of circles(arrows)) {
        failed = true;
        console.error(`import circle in ${folder}:`);
        for (const from of circle) {
            for (const [to, names] of arrows.get(from)) {
                if (circle.includes(to)) console.error(`  ${from} -> ${to}: ${[...names].join(", ")}`);
            }
        }
    }
    const count = [...arrows.values()].reduce((sum, to) => sum + to.size, 0);
    console.log(`${folder}: ${arrows.size} files, ${count} imports`);
}
process.exit(failed ? 1 : 0);

function list(folder) {
    return readdirSync(folder).flatMap((name) => {
        const path = join(folder, name);
        if (statSync(path).isDirectory()) return list(path);
        return /\.(rs|[mc]?[jt]sx?)$/.test(name) ? [path] : [];
    });
}

/** Adds the import of `name` from `to` by `from`. */
function add(arrows, from, to, name) {
    if (!arrows.has(from)) arrows.set(from, new Map());
    if (!to || to === from) return;
    const names = arrows.get(from).get(to) ?? new Set();
    arrows.get(from).set(to, names.add(name));
}

// TypeScript and JavaScript

function scriptArrows(files) {
    const arrows = new Map();
    for (const file of files) {
        add(arrows, file);
        const text = readFileSync(file, "utf8").replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
        for (const [, from] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']/g)) {
            const stem = resolve(dirname(file), from).replace(/\.[mc]?js$/, "");
            const to = files.find((other) => resolve(other).replace(/\.[mc]?[jt]sx?$/, "") === stem);
            add(arrows, file, to, from);
        }
    }
    return arrows;
}

// Rust

/** The modules of a crate: each with its file, its children, the names that it defines, and the names that it passes on. */
function rustArrows(folder) {
    const root = read(join(folder, "lib.rs"), folder, null);
    const arrows = new Map();
    for (const module of all(root)) {
        add(arrows, module.file);
        for (const path of module.paths) {
            const found = look(root, module, path);
            if (found) add(arrows, module.file, found.file, path.at(-1));
        }
    }
    return arrows;
}

function* all(module) {
    yield module;
    for (const child of module.children.values()) yield* all(child);
}

function read(file, folder, parent) {
    const text = withoutTests(plain(readFileSync(file, "utf8")));
    const module = { file, parent, children: new Map(), defines: new Set(), passes: [], paths: [] };
    for (const [, name] of text.matchAll(/\bmod\s+(\w+)\s*;/g)) {
        const child = [join(folder, `${name}.rs`), join(folder, name, "mod.rs")].find((path) => existsSync(path));
        if (child) module.children.set(name, read(child, join(folder, name), module));
    }
    const items = /\b(?:fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?(\w+)/g;
    for (const [, name] of text.matchAll(items)) module.defines.add(name);
    const withoutUse = text.replace(/(pub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);/g, (_, isPublic, tree) => {
        for (const { path, name } of expand(tree.replace(/\s+/g, " ").trim())) {
            if (isPublic) module.passes.push({ path, name });
            else module.paths.push(path);
        }
        return "";
    });
    const body = withoutUse.replace(/\bmod\s+\w+\s*;/g, "");
    // A name that a file passes on and also uses itself is an import too.
    for (const { path, name } of module.passes) {
        if (new RegExp(`\\b${name.replace("*", "\\*")}\\b`).test(body)) module.paths.push(path);
    }
    const heads = ["crate", "super", "self", ...module.children.keys()].join("|");
    const inline = new RegExp(`(?<![\\w:.])(?:${heads})(?:::\\w+)+`, "g");
    for (const [path] of withoutUse.matchAll(inline)) module.paths.push(path.split("::"));
    return module;
}

/** Rust without comments, strings and characters. */
function plain(text) {
    const parts = /\/\/[^\n]*|\/\*[^]*?\*\/|b?r(#*)"[^]*?"\1|b?"(?:\\[^]|[^"\\])*"|b?'(?:\\[^]|[^'\\\n])[^'\n]{0,8}?'(?!\w)/g;
    return text.replace(parts, (part) => (part.startsWith("/") ? "" : '""'));
}

function withoutTests(text) {
    const start = text.search(/#\[cfg\(test\)\]\s*mod\s+\w+\s*\{/);
    if (start < 0) return text;
    let depth = 0;
    let end = text.indexOf("{", start);
    do {
        if (text[end] === "{") depth += 1;
        if (text[end] === "}") depth -= 1;
        end += 1;
    } while (depth > 0 && end < text.length);
    return text.slice(0, start) + withoutTests(text.slice(end));
}

/** Every path of a use tree, and the name that it has here. */
function expand(tree, before = []) {
    const brace = tree.indexOf("{");
    if (brace < 0) {
        const [path, name] = tree.split(/\s+as\s+/);
        const segments = [...before, ...path.trim().split("::")].filter((segment) => segment !== "");
        if (segments.at(-1) === "self" && segments.length > 1) segments.pop();
        return [{ path: segments, name: (name ?? segments.at(-1)).trim() }];
    }
    const head = tree.slice(0, brace).split("::").map((part) => part.trim()).filter((part) => part !== "");
    return branches(tree.slice(brace + 1, tree.lastIndexOf("}"))).flatMap((branch) => expand(branch, [...before, ...head]));
}

function branches(text) {
    const found = [""];
    let depth = 0;
    for (const letter of text) {
        if (letter === "{") depth += 1;
        if (letter === "}") depth -= 1;
        if (letter === "," && depth === 0) found.push("");
        else found[found.length - 1] += letter;
    }
    return found.map((branch) => branch.trim()).filter((branch) => branch !== "");
}

/** Returns the module that defines the name of a path; undefined for a name of another crate. */
function look(root, from, path, depth = 0) {
    let [head, ...rest] = path;
    let module = from;
    if (head === "crate") module = root;
    else if (head === "super") module = from.parent;
    else if (head !== "self") {
        if (!from.children.has(head)) return null;
        rest = path;
    }
    while (module && rest[0] === "super") [module, rest] = [module.parent, rest.slice(1)];
    while (module && module.children.has(rest[0])) [module, rest] = [module.children.get(rest[0]), rest.slice(1)];
    if (!module || rest.length === 0 || module.defines.has(rest[0]) || depth > 9) return module;
    for (const { path: passed, name } of module.passes) {
        if (name === rest[0]) return look(root, module, [...passed, ...rest.slice(1)], depth + 1) ?? module;
        if (name === "*") {
            const found = look(root, module, [...passed.slice(0, -1), rest[0]], depth + 1);
            if (found?.defines.has(rest[0])) return found;
        }
    }
    return module;
}

/** Returns the groups of two or more files that import each other in a circle (Tarjan's algorithm). */
function circles(arrows) {
    const [index, low, stack, found] = [new Map(), new Map(), [], []];
    const visit = (file) => {
        index.set(file, index.size);
        low.set(file, index.get(file));
        stack.push(file);
        for (const to of arrows.get(file).keys()) {
            if (!index.has(to)) visit(to);
            if (stack.includes(to)) low.set(file, Math.min(low.get(file), low.get(to)));
        }
        if (low.get(file) !== index.get(file)) return;
        const group = stack.splice(stack.indexOf(file));
        if (group.length > 1) found.push(group.map((one) => relative(".", one)).sort());
    };
    for (const file of arrows.keys()) if (!index.has(file)) visit(file);
    return found;
}
