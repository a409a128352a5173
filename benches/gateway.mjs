// Measures first requests, replays and large bodies through a gateway: rates, latencies, and the CPU time of workerd.
// All servers run, but only one at a time gets requests. The rounds alternate, and a figure is the median of its rounds.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../tests/chaos/port.mjs";
import { CONTESTANTS } from "./contestants.mjs";
import { load, order } from "./load.mjs";
import { Server } from "./server.mjs";

const RESPONSE = 320;
/** Replays use these keys in turn. */
const KEYS = 256;

export const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

/**
 * `build`: the built Worker; `state`: the folder of the databases, which should be on a disk; `connections`: how many
 * requests run at once; `requests`: how many a round has; `bytes`: the size of a small body; `only`: names of
 * contestants, or all. Returns {rows, missing}.
 */
export async function gateway({ build, state = tmpdir(), rounds, connections, requests, bytes, only }) {
  const folder = mkdtempSync(join(state, "oncekey-bench-"));
  const origin = spawn(process.execPath, [new URL("origin.mjs", import.meta.url).pathname, String(RESPONSE)], { stdio: ["ignore", "pipe", "inherit"] });
  const servers = [];
  const missing = {};
  try {
    const port = await new Promise((resolve) => origin.stdout.once("data", (text) => resolve(Number(text))));
    for (const [name, { prepare, missing: why, isLimit }] of Object.entries(CONTESTANTS)) {
      if (only && !only.includes(name)) continue;
      if (why) {
        missing[name] = why;
        continue;
      }
      const place = { folder: join(folder, String(servers.length)), port: await freePort(), upstream: `http://127.0.0.1:${port}`, build };
      mkdirSync(place.folder, { recursive: true });
      await prepare(place);
      servers.push(Object.assign(await Server.start(name, place.folder, place.port), { isLimit }));
    }
    const small = order(bytes);
    const large = order(1 << 20);
    // Now every shard exists, every isolate is warm, and each server has the keys that are replayed.
    for (const server of servers) {
      server.keys = Array.from({ length: KEYS }, () => randomUUID());
      server.largeKeys = Array.from({ length: 4 }, () => randomUUID());
      await load({ port: server.port, connections: 16, requests: Math.max(300, requests), body: small });
      await load({ port: server.port, connections: 8, requests: KEYS, body: small, keyOf: (n) => server.keys[n] });
      const { statuses } = await load({ port: server.port, connections: 1, requests: 8, body: large, keyOf: (n) => server.largeKeys[n % 4] }).catch((error) => ({ statuses: { [error.message]: 1 } }));
      server.takesLarge = statuses[201] === 8;
      if (!server.takesLarge) missing[`${server.name}, 1 MB`] = `responds with ${JSON.stringify(statuses)}`;
    }
    const phases = {
      first: { body: small, connections, requests },
      replay: { body: small, connections, requests: 2 * requests, keys: "keys" },
      "first, 1 MB": { body: large, connections: 4, requests: Math.max(20, Math.floor(requests / 20)) },
      "replay, 1 MB": { body: large, connections: 4, requests: Math.max(20, Math.floor(requests / 20)), keys: "largeKeys" },
    };
    const rows = [];
    for (const [phase, settings] of Object.entries(phases)) {
      const results = new Map(servers.map((server) => [server, []]));
      for (let round = 0; round < rounds; round++) {
        for (let at = 0; at < servers.length; at++) {
          const server = servers[(at + round) % servers.length];
          if (settings.body === large && !server.takesLarge) continue;
          results.get(server).push(await once(server, phase, settings));
        }
      }
      for (const [{ name }, all] of results) {
        if (all.length === 0) continue;
        const of = (field) => median(all.map((result) => result[field]));
        rows.push({ phase, name, rate: of("rate"), p50: of("p50"), p99: of("p99"), cpu: of("cpu"), rounds: all });
      }
    }
    return { rows, missing, memory: Object.fromEntries(servers.map((server) => [server.name, Math.round(server.memory())])) };
  } finally {
    for (const server of servers) server.stop();
    origin.kill();
    await new Promise((resolve) => setTimeout(resolve, 300));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs one round on one server; `cpu` is in microseconds for each request. */
async function once(server, phase, { body, connections, requests, keys }) {
  const known = keys && server[keys];
  const before = server.cpu();
  const { rate, p50, p99, statuses, replayed } = await load({
    port: server.port,
    connections,
    requests,
    body,
    ...(known && { keyOf: (n) => known[n % known.length] }),
  });
  const cpu = ((server.cpu() - before) * 1000) / requests;
  const wrong = Object.keys(statuses).filter((status) => status !== "201");
  if (wrong.length) console.error(`${server.name}, ${phase}: responses ${JSON.stringify(statuses)}`);
  if (known && !server.isLimit && replayed < requests) console.error(`${server.name}, ${phase}: ${replayed} of ${requests} were replays`);
  return { rate, p50, p99, cpu };
}
