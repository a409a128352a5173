// What one request costs in counts, which are the same on every machine: for counts.test.mjs, which holds them down,
// and for the benchmark, which shows them and what they cost on the platform's price list.
import { recordName, startGateway } from "./support.mjs";

/** Keys of one shard and one tenant: each new record meets tables that already have some. */
const SHARD = 0x5a;
const TENANT = "kuko_test_counts";
const FIRSTS = 8;
const WARM = 12;
/** Between two first requests, in milliseconds: as if the shard had one a second. */
const APART = 1000;

let number = 0;
function nextKey() {
  for (;;) {
    const key = `00000000-0000-4000-8000-${(number++).toString(16).padStart(12, "0")}`;
    if (recordName(key, TENANT).startsWith(SHARD.toString(16))) return key;
  }
}

/** An order of about 1.2 KB, as the benchmark of the gateway sends it. */
export function order(bytes = 1200) {
  const items = [];
  const body = { out_trade_no: "ORDER_1042", amount: 2990, currency: "USD", items };
  let length = 90;
  for (let at = 0; length < bytes; at++) {
    const item = { id: `itm_${String(at).padStart(5, "0")}`, amount: 1299 + at, currency: "EUR", title: `Item "${at}" — größe` };
    length += Buffer.byteLength(JSON.stringify(item)) + 1;
    items.push(item);
  }
  return body;
}

const sum = (all) => Object.fromEntries(Object.keys(all[0]).map((name) => [name, all.reduce((total, one) => total + one[name], 0)]));
const each = (total, count) => Object.fromEntries(Object.entries(total).map(([name, value]) => [name, value / count]));

/** A gateway that counts, and what asks it. */
async function open({ build, vars = {} }) {
  const gateway = await startGateway({
    wrapper: "counting.mjs",
    build,
    vars,
    // Callers meet workerd itself: no proxy adds headers.
    more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] },
  });
  gateway.url = (await gateway.worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "");
  const control = async (what, asked = {}) => {
    const answer = await gateway.call("POST", `/__test/${what}`, { body: asked, as: null });
    if (answer.status !== 200) throw new Error(`/__test/${what}: ${answer.text}`);
    return answer.json;
  };
  return { gateway, control };
}

/** How many bytes a completed key takes in the database of its object: {record, journal}. */
export async function bytesOfKey({ build, keys = 200 }) {
  const { gateway, control } = await open({ build });
  try {
    const path = gateway.route(() => ({ status: 201, headers: { "Content-Type": "application/json" }, body: JSON.stringify({ id: "ord_1", note: "x".repeat(280) }) }));
    const sizes = [];
    for (const count of [20, keys]) {
      for (let at = 0; at < count; at += 10) {
        await Promise.all(Array.from({ length: 10 }, () => gateway.post(path, nextKey(), order(), { as: TENANT })));
      }
      sizes.push(await control("shard", { shard: SHARD, do: "size" }));
    }
    // The records go after a day, the rows of the journal after 90.
    await control("shard", { shard: SHARD, do: "expire", within: 5 * 86_400_000 });
    sizes.push(await control("shard", { shard: SHARD, do: "size" }));
    const record = (sizes[1] - sizes[2]) / (keys + 20);
    return { record, journal: (sizes[1] - sizes[0]) / keys - record };
  } finally {
    await gateway.dispose();
  }
}

/**
 * Counts first requests, replays of them, and what their expiry takes, on the build in `build`. Each is counted until
 * nothing moves any more, so what goes on after the response is in it. Gives {first, replay, expiry}: means of one
 * request; the expiry of a record includes that of its rows in the journal.
 */
export async function count({ build, vars = {} }) {
  const { gateway, control } = await open({ build, vars });
  try {
    const path = gateway.route();
    const body = order();
    let offset = 0;
    const buy = async (key, replayed) => {
      await control("clock", { offset: (offset += APART) });
      await control("counts");
      const answer = await gateway.post(path, key, body, { as: TENANT });
      if (answer.status !== 201 || answer.replayed !== replayed) throw new Error(`${answer.status}, replayed: ${answer.replayed}: ${answer.text}`);
      const counts = [await control("counts")];
      for (let quiet = 0; quiet < 3; quiet++) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        counts.push(await control("counts"));
        if (Object.values(counts.at(-1)).some((value) => value > 0)) quiet = -1;
      }
      return sum(counts);
    };
    const keys = Array.from({ length: WARM + FIRSTS }, nextKey);
    for (const key of keys.slice(0, WARM)) await buy(key, false);
    for (const key of keys.slice(0, 2)) await buy(key, true);
    const firsts = [], replays = [];
    for (const key of keys.slice(WARM)) firsts.push(await buy(key, false));
    for (const key of keys.slice(WARM)) replays.push(await buy(key, true));
    await control("counts");
    const alarms = await control("shard", { shard: SHARD, do: "expire" });
    const expiry = { ...each(await control("counts"), keys.length), alarms: alarms / keys.length };
    return { first: each(sum(firsts), FIRSTS), replay: each(sum(replays), FIRSTS), expiry };
  } finally {
    await gateway.dispose();
  }
}
