// Runs `wrangler dev` for `make start`, whose arguments check-start.mjs has checked: waits for the port, passes the
// settings on, waits until the Worker is healthy or prints which setting is wrong, and ends when wrangler ends.
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";

const port = Number(process.env.PORT || 8787);
const vars = (process.env.ONCEKEY_VARS || "").split(/\s+/).filter(Boolean);
const begun = performance.now();

function fail(message) {
  console.error(`oncekey: ${message}`);
  process.exit(1);
}

const settings = vars.flatMap((setting) => {
  const at = setting.indexOf("=");
  return ["--var", `${setting.slice(0, at)}:${setting.slice(at + 1)}`];
});

// In local development, webhooks may also go to this machine.
if (!vars.some((setting) => setting.startsWith("WEBHOOK_TARGETS="))) settings.push("--var", "WEBHOOK_TARGETS:local");

// A server that was just killed may still use the port, so wait a little before reporting it.
async function portIsFree() {
  const listens = await new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
  if (!listens) return false;
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(!socket.destroy())).once("error", () => resolve(true));
  });
}
for (let tries = 0; !(await portIsFree()); tries++) {
  if (tries === 20) fail(`port ${port} is in use: stop the program that uses it, or choose another port with PORT=`);
  await new Promise((resolve) => setTimeout(resolve, 100));
}

console.log(`-- workerd, state in ${process.env.STATE}`);
const child = spawn(
  process.execPath,
  [
    "../node_modules/wrangler/bin/wrangler.js", "dev", "--ip", "127.0.0.1",
    "--port", String(port), "--inspector-port", "0", "--persist-to", process.env.STATE,
    "--show-interactive-dev-session=false", "--log-level", process.env.LOG_LEVEL || "warn", ...settings,
  ],
  // wrangler runs its [build] command, relative to worker/, where it is started itself.
  { cwd: "worker", stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, CI: "true" } },
);

let ending = false;
let code = 0;
function end(signal, exitCode) {
  if (ending) return;
  ending = true;
  code = exitCode;
  child.kill(signal);
  // A Worker that is busy with a long request must not block the terminal.
  setTimeout(() => child.kill("SIGKILL"), 5000).unref();
}
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => end("SIGTERM", 0));
child.once("error", (error) => fail(`wrangler could not be started: ${error.message}`));
child.once("exit", (status, signal) => {
  if (!ending) fail(`wrangler ended by itself (${signal ?? `exit code ${status}`})`);
  process.exit(code);
});

// Wait until the Worker is healthy, or until it has returned the same error for a while.
let firstError;
while (!ending) {
  await new Promise((resolve) => setTimeout(resolve, firstError ? 700 : 100));
  let response, body;
  try {
    response = await fetch(`http://127.0.0.1:${port}/_oncekey/health`, { signal: AbortSignal.timeout(5000) });
    body = await response.text();
  } catch {
    continue;
  }
  if (response.ok) {
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(`   workerd: ${seconds} s\n-- ready: http://127.0.0.1:${port} (Ctrl-C ends it)`);
    break;
  }
  firstError ??= performance.now();
  if (performance.now() - firstError > 1500) {
    let message = body.trim();
    try {
      message = JSON.parse(body).message ?? message;
    } catch {}
    console.error(`oncekey: ${message || `/_oncekey/health answers ${response.status}`}`);
    end("SIGTERM", 1);
  }
}
