// Ports that are left and taken again.
import { createServer } from "node:net";

/** Below what systems give to those who call: a caller who knocks while nobody listens must not get the port itself. */
const FIRST = 15_000;
const COUNT = 15_000;
const given = new Set();

/** A port that is free now, and that is given to nobody else here. */
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
