// The built Worker, counted: statements, rows, alarms, calls to objects, and calls between JavaScript and wasm. The
// code is what is deployed; what this module adds lies around it. Tests and the benchmark ask by POST /__test/….
import Entry, { Merchant, Shard as BuiltShard } from "./entry.mjs";

export { Merchant };

const zero = () => ({ objectCalls: 0, statements: 0, rowsWritten: 0, rowsRead: 0, alarmsSet: 0, intoWasm: 0, outOfWasm: 0 });
let counts = zero();
let ahead = 0;

const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...values) {
    super(...(values.length ? values : [RealDate.now() + ahead]));
  }
  static now() {
    return RealDate.now() + ahead;
  }
};

/** The same functions, and each call of them counted. */
function counted(functions, name) {
  const one = (value) =>
    typeof value !== "function" ? value : (...values) => {
      counts[name] += 1;
      return value(...values);
    };
  return Object.fromEntries(Object.entries(functions).map(([key, value]) => [key, one(value)]));
}

// The entry makes its instances when the first call comes.
const RealInstance = WebAssembly.Instance;
WebAssembly.Instance = class {
  constructor(module, imports) {
    const from = Object.entries(imports).map(([name, functions]) => [name, counted(functions, "outOfWasm")]);
    this.exports = counted(new RealInstance(module, Object.fromEntries(from)).exports, "intoWasm");
  }
};

/** Cursors of the call that is under way in an object: they know their rows once they have been read. */
let cursors = [];
let isPatched = false;

function patch({ storage }) {
  if (isPatched) return;
  isPatched = true;
  const sql = Object.getPrototypeOf(storage.sql);
  const { exec } = sql;
  sql.exec = function (...values) {
    const cursor = exec.apply(this, values);
    counts.statements += 1;
    cursors.push(cursor);
    return cursor;
  };
  const prototype = Object.getPrototypeOf(storage);
  const { setAlarm } = prototype;
  prototype.setAlarm = function (...values) {
    counts.alarmsSet += 1;
    return setAlarm.apply(this, values);
  };
}

function settle() {
  for (const { rowsWritten, rowsRead } of cursors) {
    counts.rowsWritten += rowsWritten;
    counts.rowsRead += rowsRead;
  }
  cursors = [];
}

export class Shard extends BuiltShard {
  #ctx;

  constructor(ctx, env) {
    patch(ctx);
    super(ctx, env);
    this.#ctx = ctx;
  }

  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/__test/expire") return Response.json(await this.#expire(Number(searchParams.get("within"))));
    if (pathname === "/__test/size") return Response.json(this.#ctx.storage.sql.databaseSize);
    counts.objectCalls += 1;
    try {
      return await super.fetch(request);
    } finally {
      settle();
    }
  }

  /** Lets time pass until nothing is due within so many milliseconds from now. Gives how many alarms rang. */
  async #expire(within) {
    const { storage } = this.#ctx;
    for (let rung = 0; rung < 1000; rung++) {
      const at = await storage.getAlarm();
      if (at === null || at > RealDate.now() + within) return rung;
      ahead = Math.max(ahead, at - RealDate.now());
      // The platform forgets an alarm that rings.
      await storage.deleteAlarm();
      await this.alarm();
      settle();
    }
    throw new Error("alarms without end");
  }
}

const controls = {
  /** What was counted since the last time. */
  counts: () => {
    const before = counts;
    counts = zero();
    return before;
  },
  clock: ({ offset }) => void (ahead = offset),
  /** To the object of a shard: expire, or size. */
  shard: async ({ shard, do: what, within = Infinity }, env) =>
    (await env.SHARDS.getByName(`v1-${shard}`).fetch(`https://shard/__test/${what}?within=${within}`, { method: "POST" })).json(),
};

export default class extends Entry {
  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/__test/")) return super.fetch(request);
    try {
      return Response.json((await controls[pathname.slice(8)](await request.json(), this.env)) ?? null);
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  }
}
