// The built Worker with faults between its parts, for tests. Everything is the real thing on the real workerd;
// what this module adds stands on the wires: between gateway and shard, between gateway and Workers KV, and at
// the isolate's clock. Tests steer it by POST /__test/… (see support.mjs).
import Entry, { Merchant, Shard as BuiltShard } from "./entry.mjs";

export { Merchant };

const OPERATIONS = ["begin", "renew", "complete", "fail", "void", "settle", "inspect", "peek"];

const state = { rules: new Map(), calls: [], points: [], kv: { mode: "honest", puts: [] }, clock: 0 };

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length ? values : [RealDate.now() + state.clock]));
  }
  static now() {
    return RealDate.now() + state.clock;
  }
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/** What a message to a shard is about. A call has the form [2, [0, [[name, [operation, …], context]]]] in CBOR. */
function read(bytes) {
  if (bytes[0] !== 0x82 || bytes[1] !== 2 || bytes[2] !== 0x82) throw new Error("messages have another form now");
  // What operators ask is about no key alone.
  if (bytes[3] !== 0) return { op: "ask" };
  if (bytes[5] !== 0x83 || bytes[6] !== 0x58 || bytes[7] !== 32 || bytes[40] !== 0x82) throw new Error("calls have another form now");
  return { name: hex(bytes.subarray(8, 40)), op: OPERATIONS[bytes[41]] };
}

/** The first rule for a call, by the key's name or for all keys; each counts down its `times`. */
function ruleFor(call) {
  const rules = [...(state.rules.get(call.name) ?? []), ...(state.rules.get("any") ?? [])];
  const rule = rules.find((one) => one.times > 0 && one.op === call.op);
  if (rule) rule.times -= 1;
  return rule;
}

/** A stub whose calls arrive in order, as the platform's do, unless a rule lets one be overtaken. */
function faultyStub(stub, keep) {
  let queue = Promise.resolve();
  const fetch = async (request) => {
    const { headers } = request;
    const post = (body) => stub.fetch(new Request("https://shard/", { method: "POST", headers, body }));
    const before = queue;
    let leave;
    queue = new Promise((resolve) => (leave = resolve));
    try {
      const bytes = new Uint8Array(await request.arrayBuffer());
      await before;
      const call = read(bytes);
      const rule = ruleFor(call);
      const noted = { ...call, fault: rule?.fault };
      state.calls.push(noted);
      switch (rule?.fault) {
        case "refuse": // never arrives
          throw new Error("Network connection lost.");
        case "lose": // is carried out, and the reply is lost
          await (await post(bytes)).arrayBuffer();
          throw new Error("Network connection lost.");
        case "hang": // never arrives, and nobody says so
          leave();
          return new Promise(() => {});
        case "delay": // arrives late; others may overtake it
          leave();
          return await keep(sleep(rule.ms).then(() => post(bytes)).finally(() => (noted.arrived = true)));
        case "stall": // arrives late, and so does what follows
          return await keep(sleep(rule.ms).then(() => post(bytes)));
        case "slow": // is carried out at once, and the reply comes late
          leave();
          return await post(bytes).then(async (reply) => (await sleep(rule.ms), reply));
        case "jump": {
          // the clock jumps while it is under way; with `lost`, its reply is lost as well
          const reply = await post(bytes);
          state.clock += rule.ms;
          if (rule.lost) throw new Error("Network connection lost.");
          return reply;
        }
        case "twice": // is carried out twice
          await (await post(bytes)).arrayBuffer();
          return await post(bytes);
        case "evict": // the object goes before it arrives
          await stub.fetch("https://shard/__test/abort").catch(() => {});
          return await post(bytes);
        default: {
          const sent = post(bytes);
          leave();
          return await sent;
        }
      }
    } finally {
      leave();
    }
  };
  return withMethods(stub, { fetch });
}

/** The same object with other methods; the rest is bound to it, as native methods need. */
function withMethods(target, methods) {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return methods[name];
      const value = target[name];
      return typeof value === "function" && name !== "constructor" ? value.bind(target) : value;
    },
  });
}

const faultyShards = (shards, keep) =>
  withMethods(shards, {
    get: (...values) => faultyStub(shards.get(...values), keep),
    getByName: (...values) => faultyStub(shards.getByName(...values), keep),
  });

const faultyReplica = (replica) =>
  replica &&
  withMethods(replica, {
    async get(...values) {
      switch (state.kv.mode) {
        case "empty":
          return null;
        case "down":
          throw new Error("KV GET failed: 503 Service Unavailable");
        case "hang":
          await sleep(120_000);
      }
      return replica.get(...values);
    },
    async put(name, value, options) {
      state.kv.puts.push({ name, options });
      if (state.kv.mode === "down") throw new Error("KV PUT failed: 503 Service Unavailable");
      if (state.kv.mode === "hang") await sleep(120_000);
      return replica.put(name, value, options);
    },
  });

/** What tests ask for. */
const controls = {
  rules: ({ name, rules }) =>
    void state.rules.set(
      name,
      rules.map((rule) => ({ times: 1, ...rule })),
    ),
  calls: ({ name }) => state.calls.filter((call) => !name || call.name === name),
  clock: ({ offset }) => void (state.clock = offset),
  replica: async ({ mode }) => (mode && (state.kv.mode = mode), state.kv.puts),
  copy: async ({ name, bytes, remove }, env) => {
    const key = `answer-1/${name}`;
    if (remove) await env.REPLICA.delete(key);
    if (bytes) await env.REPLICA.put(key, unhex(bytes));
    const found = await env.REPLICA.get(key, "arrayBuffer");
    return found && hex(new Uint8Array(found));
  },
  points: () => state.points,
  shard: async ({ name, ...asked }, env) => {
    const stub = env.SHARDS.getByName(`v1-${parseInt(name.slice(0, 2), 16)}`);
    const answer = await stub.fetch(`https://shard/__test/${asked.do}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  },
};

export default class extends Entry {
  #env;

  constructor(ctx, env) {
    // A call that is under way arrives even when nobody waits for it any more.
    const keep = (promise) => (ctx.waitUntil(promise), promise);
    super(ctx, {
      ...env,
      SHARDS: faultyShards(env.SHARDS, keep),
      // A dataset of Analytics Engine, which workerd does not have.
      METRICS: { writeDataPoint: (point) => void state.points.push(point) },
      ...(env.REPLICA && { REPLICA: faultyReplica(env.REPLICA) }),
    });
    this.#env = env;
  }

  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/__test/")) return super.fetch(request);
    try {
      return Response.json((await controls[pathname.slice(8)](await request.json(), this.#env)) ?? null);
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }
}

export class Shard extends BuiltShard {
  #ctx;

  constructor(ctx, env) {
    super(ctx, env);
    this.#ctx = ctx;
  }

  async fetch(request) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/__test/abort":
        this.#ctx.abort("evicted by a test");
        return new Response();
      case "/__test/alarm":
        await this.alarm();
        return Response.json(await this.#ctx.storage.getAlarm());
      case "/__test/alarm-at":
        return Response.json(await this.#ctx.storage.getAlarm());
      case "/__test/sql":
        return this.#sql(await request.json());
      default:
        return super.fetch(request);
    }
  }

  /** Blobs travel as {hex}. */
  #sql({ query, values = [] }) {
    try {
      const bound = values.map((value) => (value?.hex === undefined ? value : unhex(value.hex)));
      const rows = this.#ctx.storage.sql.exec(query, ...bound).toArray();
      const shown = (value) => (value instanceof ArrayBuffer ? { hex: hex(new Uint8Array(value)) } : value);
      return Response.json(
        rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, shown(value)]))),
      );
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }
}
