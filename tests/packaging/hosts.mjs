// The hosts that run JavaScript without a page: Node, and Deno and Bun where their binaries are installed (x64 Linux).
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { root } from "./support.mjs";

const deno = `${root}node_modules/@deno/linux-x64-glibc/deno`;
const bun = `${root}node_modules/@oven/bun-linux-x64/bin/bun`;

/** The command of each host, before the path of a program. */
export const HOSTS = new Map(
  [
    ["node", [process.execPath]],
    // npm gives all files the same date, so Deno would use the compiled code of an earlier build.
    ["deno", [deno, "run", "--allow-all", "--no-code-cache", "--no-lock", "--no-remote", "--node-modules-dir=manual"]],
    ["bun", [bun, "run", "--no-install"]],
  ].filter(([, [path]]) => existsSync(path)),
);

/** A process of a host. */
export class Program {
  #ended;
  #output = "";
  #errors = "";

  constructor(host, cwd, file, args = []) {
    const [command, ...before] = HOSTS.get(host);
    const env = { ...process.env, DENO_NO_UPDATE_CHECK: "1", DO_NOT_TRACK: "1" };
    this.process = spawn(command, [...before, file, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.process.stdout.setEncoding("utf8").on("data", (text) => (this.#output += text));
    this.process.stderr.setEncoding("utf8").on("data", (text) => (this.#errors += text));
    this.#ended = new Promise((resolve) => this.process.once("close", (code, signal) => resolve({ code, signal })));
  }

  /** Waits until the program has ended, and returns its output, read as JSON. */
  async report() {
    const { code, signal } = await this.#ended;
    // Lines of the package are long, so they are cut.
    if (code !== 0) throw new Error(`ended with ${code ?? signal}: ${this.#errors.replace(/^(.{300}).*/gm, "$1 …")}`);
    return JSON.parse(this.#output);
  }

  /** Kills the process, as the system does when memory is full. */
  async kill() {
    this.process.kill("SIGKILL");
    return this.#ended;
  }
}
