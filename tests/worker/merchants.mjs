// The built Worker with a door into its merchants' objects, for tests: their database, their alarm, and the clock.
// A test opens it by POST /__test/… (see `inside` in merchant.mjs).
import Entry, { Merchant as BuiltMerchant, Shard } from "./entry.mjs";

export { Shard };

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

export default class extends Entry {
  #env;

  constructor(ctx, env) {
    super(ctx, env);
    this.#env = env;
  }

  async fetch(request) {
    const { pathname } = new URL(request.url);
    if (!pathname.startsWith("/__test/")) return super.fetch(request);
    const { name, ...asked } = await request.json();
    if (pathname === "/__test/clock") {
      ahead = asked.ahead;
      return Response.json(null);
    }
    return this.#env.MERCHANTS.getByName(name).fetch(`https://merchant${pathname}`, {
      method: "POST",
      body: JSON.stringify(asked),
    });
  }
}

export class Merchant extends BuiltMerchant {
  #ctx;

  constructor(ctx, env) {
    super(ctx, env);
    this.#ctx = ctx;
  }

  async fetch(request) {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/__test/alarm":
        await this.alarm();
        return Response.json(await this.#ctx.storage.getAlarm());
      case "/__test/abort":
        this.#ctx.abort("evicted by a test");
        return new Response();
      case "/__test/sql":
        try {
          const { query, values } = await request.json();
          return Response.json(this.#ctx.storage.sql.exec(query, ...values).toArray());
        } catch (error) {
          return new Response(String(error), { status: 400 });
        }
      default:
        return super.fetch(request);
    }
  }
}
