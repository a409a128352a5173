// Runs a workerd process and reads its CPU time (from /proc, so only on Linux).
import { spawn } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import workerd from "workerd";

/** Milliseconds of one clock tick of /proc: CLK_TCK is 100 on Linux. */
const TICK = 1000 / 100;

export class Server {
  /** Serves `folder`/config.capnp, which listens on `port`. */
  static async start(name, folder, port) {
    const server = new Server();
    Object.assign(server, { name, folder, port });
    const log = createWriteStream(join(folder, "server.log"));
    await new Promise((resolve) => log.once("open", resolve));
    const command = ["serve", "--experimental", join(folder, "config.capnp")];
    server.child = spawn(workerd.default, command, { cwd: folder, stdio: ["ignore", log, log] });
    let hasEnded = false;
    server.child.once("exit", () => (hasEnded = true));
    for (let tries = 0; ; tries++) {
      if (hasEnded || tries > 600) throw new Error(`workerd does not serve ${name}:\n${readFileSync(join(folder, "server.log"), "utf8").slice(-2000)}`);
      try {
        await (await fetch(`http://127.0.0.1:${port}/_oncekey/health`, { signal: AbortSignal.timeout(3000) })).arrayBuffer();
        return server;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** CPU time so far, in milliseconds: user and system. */
  cpu() {
    const fields = readFileSync(`/proc/${this.child.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * TICK;
  }
  /** The largest memory of the process so far, in MiB. */
  memory() {
    const status = readFileSync(`/proc/${this.child.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  }
  stop() {
    this.child.kill("SIGKILL");
  }
}
