// Finds workerd, and makes the command that runs a built Worker on it.
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { workerdConfig } from "./workerd-config.mjs";

/** Returns the path of workerd: in the project, beside this package, or as a part of wrangler. Throws if it is missing. */
export function findWorkerd(folder = process.cwd()) {
  for (const from of [join(folder, "x"), fileURLToPath(import.meta.url)]) {
    for (const owner of [undefined, "wrangler"]) {
      let file;
      let require = createRequire(from);
      try {
        if (owner) require = createRequire(require.resolve(owner));
        file = require.resolve("workerd");
      } catch {
        continue;
      }
      return require(file).default;
    }
  }
  throw new Error("this command runs on workerd, which is not installed here; install it with: npm install workerd");
}

/** The exit code of a server whose state folder is in use. */
export const IN_USE = 75;

/**
 * Returns the command that serves a build. It writes the config into the state folder, and makes workerd hold a lock on
 * that folder for as long as it runs: two servers with the same objects could both decide that a write may run.
 */
export function workerdCommand({ program, state, settings, ...options }) {
  mkdirSync(join(state, "objects"), { recursive: true, mode: 0o700 });
  const config = join(state, "workerd.capnp");
  const more = { folder: state, state: join(state, "objects"), environment: Object.keys(settings), isBehindProxy: true };
  const lock = hasFlock() ? ["flock", "--no-fork", "--nonblock", "--conflict-exit-code", String(IN_USE), join(state, "lock")] : [];
  const [first, ...rest] = [...lock, program, "serve", "--experimental", config];
  writeFileSync(config, workerdConfig({ ...options, ...more }), { mode: 0o600 });
  // workerd gets the settings and the variables that it reads itself, and nothing else of the environment.
  const own = ["PATH", "HOME", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"].filter((name) => process.env[name]);
  const env = { ...Object.fromEntries(own.map((name) => [name, process.env[name]])), ...settings };
  return [first, rest, { cwd: state, env }];
}

function hasFlock() {
  return spawnSync("flock", ["--version"], { stdio: "ignore" }).status === 0;
}
