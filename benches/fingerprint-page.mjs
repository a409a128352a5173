// Runs in a page and in Node. Compares fingerprints by the package's core with `canonicalize` and the platform's digest,
// in alternating rounds.
import canonicalize from "canonicalize";
import { CoreClient } from "../www/src/client/core-client.ts";
import { beforeBody, submitOf } from "../www/src/client/request.ts";
import { startCore } from "../www/src/core.ts";

const URL_OF_ORDERS = new URL("https://shop.example/v1/orders");
const encoder = new TextEncoder();
const hex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = (bytes) => crypto.subtle.digest("SHA-256", bytes);

function order(bytes) {
  const items = [];
  let length = 75;
  for (let at = 0; length < bytes; at++) {
    const item = { id: `itm_${String(at).padStart(5, "0")}`, amount: 1299 + at, currency: "EUR", title: `Item "${at}" — größe` };
    length += JSON.stringify(item).length + 3;
    items.push(item);
  }
  return { out_trade_no: "ORDER_1042", amount: 2990, currency: "USD", items };
}

/** Measures each way for about `budget` milliseconds a round. Returns [{kind, bytes, name, micros}]. */
export async function bench({ wasm, rounds, budget = 12 }) {
  const core = startCore(await WebAssembly.compile(wasm));
  const client = new CoreClient(core, { retention: 86400000, storage: null, namespace: "bench", keyCalls: true, finalStatuses: [], limit: 4, delays: [1000, 2000], fullJitter: true, attemptTimeout: 30000, totalTime: 120000, maxRetryAfter: 60000 });
  const prepare = (contentType, body) => ({ method: "POST", url: URL_OF_ORDERS, headers: new Headers({ "content-type": contentType }), body, init: {} });
  const submit = async (prepared) => {
    const hashing = client.hash(beforeBody(prepared), prepared.body);
    const digest = hashing && (await hashing);
    client.submit("order:1042", submitOf(prepared, {}, undefined, { digest }), undefined).free();
  };
  const rows = [];
  for (const size of [200, 1200, 4096, 16384]) {
    const text = JSON.stringify(order(size));
    const bytes = encoder.encode(text);
    const prepared = prepare("application/json", bytes);
    await race(rows, "json", bytes.length, rounds, budget, {
      oncekey: () => submit(prepared),
      "canonicalize + crypto.subtle": async () => hex(await digest(encoder.encode(canonicalize(JSON.parse(text))))),
    });
  }
  for (const size of [1 << 16, 1 << 20]) {
    const bytes = new Uint8Array(size).map((_, at) => (at * 7) % 251);
    const prepared = prepare("application/octet-stream", bytes);
    await race(rows, "raw", size, rounds, budget, {
      oncekey: () => submit(prepared),
      "crypto.subtle": async () => hex(await digest(bytes)),
    });
  }
  return rows;
}

async function race(rows, kind, bytes, rounds, budget, ways) {
  const calls = {}, times = {};
  for (const [name, way] of Object.entries(ways)) {
    for (let warm = 0; warm < 3; warm++) await way();
    const begun = performance.now();
    let count = 0;
    do (await way(), count++);
    while (performance.now() - begun < budget);
    [calls[name], times[name]] = [count, []];
  }
  for (let round = 0; round < rounds; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const begun = performance.now();
      for (let call = 0; call < calls[name]; call++) await way();
      times[name].push(((performance.now() - begun) / calls[name]) * 1000);
    }
  }
  // The fastest tenth is the same on a busy machine.
  for (const [name, all] of Object.entries(times)) {
    rows.push({ kind, bytes, name, micros: all.sort((a, b) => a - b)[Math.floor(all.length / 10)] });
  }
}
