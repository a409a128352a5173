// The Worker as a process that can be killed: SIGKILL ends its whole process group, and the next start has the same
// port and state.
import { spawn } from "node:child_process";
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workerdConfig } from "./workerd-config.mjs";

const root = new URL("../../", import.meta.url).pathname;
/** The folder of the build, by default that of scripts/worker-build. */
const built = process.env.ONCEKEY_WORKER_BUILD ?? join(root, "worker/build");

/** The commands that start a server with a port and a folder. */
const KINDS = {
  /** workerd alone, without a simulator in front of it. */
  workerd({ folder, port, vars, replica }) {
    const binary = join(root, "node_modules/@cloudflare/workerd-linux-64/bin/workerd");
    // On systems other than Linux on x64, the package's own launcher finds the binary.
    const program = existsSync(binary) ? binary : join(root, "node_modules/workerd/bin/workerd");
    const config = join(folder, "config.capnp");
    writeFileSync(config, workerdConfig({ built, folder, port, vars, replica }));
    return [program, ["serve", "--experimental", config], {}];
  },
  /** `wrangler dev`, as in development. */
  wrangler({ folder, port, vars }) {
    const config = join(folder, "wrangler.toml");
    const text = readFileSync(join(root, "worker/wrangler.toml"), "utf8");
    // The build exists already, and the test needs no pages.
    const parts = text.split(/^(?=\[)/m).filter((part) => !/^\[(build\]|assets\]|\[?env\.)/.test(part));
    writeFileSync(config, parts.join("").replace(/^main = .*$/m, `main = ${JSON.stringify(join(built, "entry.mjs"))}`));
    const settings = Object.entries(vars).flatMap(([name, value]) => ["--var", `${name}:${value}`]);
    const flags = ["--ip", "127.0.0.1", "--port", port, "--inspector-port", "0", "--persist-to", join(folder, "state")];
    const quiet = ["--show-interactive-dev-session=false", "--log-level", "warn"];
    const wrangler = join(root, "node_modules/wrangler/bin/wrangler.js");
    const env = { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", CI: "true", WRANGLER_LOG_PATH: join(folder, "logs") };
    return [process.execPath, [wrangler, "dev", "-c", config, ...flags.map(String), ...quiet, ...settings], env];
  },
};

export class Server {
  /** How long each start took in milliseconds, and when the last start began. */
  starts = [];
  servesSince;
  #command;
  #log;
  #process;
  #ended;

  /** `kind`: workerd or wrangler; `folder`: its state and its log; `vars`: settings; `replica`: whether it has KV. */
  constructor({ kind, folder, port, vars, replica = true }) {
    Object.assign(this, { kind, folder, port, url: `http://127.0.0.1:${port}` });
    mkdirSync(join(folder, "state"), { recursive: true });
    this.#command = KINDS[kind]({ folder, port, vars, replica });
    this.#log = join(folder, "server.log");
  }

  /** Starts the server and waits until it can serve. */
  async start() {
    const begun = performance.now();
    this.servesSince = Date.now();
    const [program, values, env] = this.#command;
    const log = createWriteStream(this.#log, { flags: "a" });
    await new Promise((resolve) => log.once("open", resolve));
    // A separate process group, so that a kill also ends its child processes.
    const child = spawn(program, values, { cwd: this.folder, detached: true, stdio: ["ignore", log, log], env: { ...process.env, ...env } });
    this.#process = child;
    this.#ended = new Promise((resolve) => child.once("exit", resolve).once("error", resolve));
    log.close();
    let ended = false;
    this.#ended.then(() => (ended = true));
    for (const until = begun + 60_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
      if (ended || performance.now() > until) throw new Error(`${this.kind} does not serve; its output:\n${this.output()}`);
      try {
        const response = await fetch(`${this.url}/_oncekey/health`, { signal: AbortSignal.timeout(5000) });
        await response.arrayBuffer();
        if (response.ok) break;
      } catch {}
    }
    this.starts.push(performance.now() - begun);
  }

  /** Stops the process for a while, as on a machine that is overloaded or migrated. */
  async pause(ms) {
    process.kill(-this.#process.pid, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, ms));
    process.kill(-this.#process.pid, "SIGCONT");
  }

  /** Sends SIGKILL. The signal was sent when this returns, and the group has ended when its promise resolves. */
  kill() {
    const child = this.#process;
    this.#process = undefined;
    if (!child) return Promise.resolve();
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
    return this.#ended;
  }

  /** Returns the output of all starts. */
  log() {
    return existsSync(this.#log) ? readFileSync(this.#log, "utf8") : "";
  }
  output() {
    return this.log().split("\n").slice(-40).join("\n");
  }
}
