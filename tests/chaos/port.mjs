// Ports that are released and used again.
import { createServer } from "node:net";

/** Below the ephemeral ports of most systems, so that a connection to a closed port does not get that port as its own. */
const FIRST = 15_000;
const COUNT = 15_000;
const given = new Set();

/** Returns a free port that no other part of the test uses. */
export async function freePort() {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const isFree = await new Promise((resolve) => server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true)));
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
