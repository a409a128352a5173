// Runs a server process in the foreground: waits for its port, waits until the Worker is healthy or prints which setting
// is wrong, passes signals on, and ends when the process ends.
import { spawn } from "node:child_process";
import { connect, createServer } from "node:net";

function fail(message) {
  console.error(`oncekey: ${message}`);
  process.exit(1);
}
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A host to connect to, for a host to listen on. */
const reachable = (host) => ({ "0.0.0.0": "127.0.0.1", "::": "::1" })[host] ?? host;

async function portIsFree(host, port) {
  const listens = await new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
  if (!listens) return false;
  return new Promise((resolve) => {
    const socket = connect(port, reachable(host));
    socket.once("connect", () => resolve(!socket.destroy())).once("error", () => resolve(true));
  });
}

/** A server that was just killed may still use the port, so waits a little before it reports that. */
async function waitForPort(host, port, option) {
  for (let tries = 0; !(await portIsFree(host, port)); tries++) {
    if (tries === 20) fail(`port ${port} is in use: stop the program that uses it, or choose another port with ${option}`);
    await sleep(100);
  }
}

/**
 * Runs the server until it ends or this process gets a signal. `name`: of the program; `command`: [program, arguments,
 * options of spawn]; `portOption`: how the user chooses another port; `grace`: milliseconds that requests get to end
 * after a signal; `meanings`: messages for exit codes.
 */
export async function serve({ name, command, host = "127.0.0.1", port, portOption, grace, meanings = {} }) {
  const begun = performance.now();
  await waitForPort(host, port, portOption);
  const [program, values, options] = command;
  const child = spawn(program, values, { stdio: ["ignore", "inherit", "inherit"], ...options });

  let ending = false;
  let code = 0;
  function end(exitCode) {
    if (ending) return;
    ending = true;
    code = exitCode;
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), grace).unref();
  }
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => end(0));
  child.once("error", (error) => fail(`${name} could not be started: ${error.message}`));
  child.once("exit", (status, signal) => {
    if (!ending) fail(meanings[status] ?? `${name} ended by itself (${signal ?? `exit code ${status}`})`);
    process.exit(code);
  });

  // Wait until the Worker is healthy, or until it has returned the same error for a while.
  const shown = reachable(host).includes(":") ? `[${reachable(host)}]` : reachable(host);
  const url = `http://${shown}:${port}`;
  let firstError;
  while (!ending) {
    await sleep(firstError ? 700 : 100);
    let response, body;
    try {
      response = await fetch(`${url}/_oncekey/health`, { signal: AbortSignal.timeout(5000) });
      body = await response.text();
    } catch {
      continue;
    }
    if (response.ok) {
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      console.log(`   workerd: ${seconds} s\n-- ready: ${url} (Ctrl-C ends it)`);
      return;
    }
    firstError ??= performance.now();
    if (performance.now() - firstError > 1500) {
      let message = body.trim();
      try {
        message = JSON.parse(body).message ?? message;
      } catch {}
      console.error(`oncekey: ${message || `/_oncekey/health answers ${response.status}`}`);
      end(1);
    }
  }
}
