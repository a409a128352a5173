// An origin that takes payments and fails in many ways. It runs in the process of the test, so its log survives kills.
import { createServer } from "node:http";
import { freePort } from "./port.mjs";

/** The faults of a call, and their frequency in a hundred. The names say whether the call charges before the fault. */
const FAULTS = {
  /** With `hold`, each unknown outcome blocks its key until an operator settles it, so most calls have no fault. */
  naive: {
    "none": 52, "slow": 10, "slow after charging": 10, "reset after charging": 6, "500 after charging": 5, "500": 4,
    "hangs after charging": 2, "hangs": 2, "cut after charging": 4, "429": 5,
  },
  deduplicating: {
    "none": 30, "slow": 13, "slow after charging": 13, "reset after charging": 10, "500 after charging": 8, "500": 7,
    "hangs after charging": 3, "hangs": 2, "cut after charging": 8, "429": 6,
  },
};

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Origin {
  /**
   * Every call in the order of arrival: {order, key, attempt, requestId, fault, at, charge, body, endedAt, isOver}.
   * `status` and `body` are those of a complete response. A call has ended when its caller no longer waits,
   * and is over when the origin does nothing more for it.
   */
  calls = [];
  /** Every charge: {id, order, key, attempt}. */
  charges = [];
  /** Whether faults have stopped. */
  calm = false;
  #kept = new Map();
  #server;

  /**
   * `kind`: naive charges with every call; deduplicating recognizes the forwarded key and repeats its first response.
   * `slow`: the longest delay in milliseconds; `bus` gets an event for calls, for responses and for a second charge.
   */
  static async start({ kind, random, slow, bus }) {
    const origin = Object.assign(new Origin(), { kind, random, slow, bus });
    origin.#server = createServer((request, response) => origin.#serve(request, response).catch(() => response.destroy()));
    origin.#server.keepAliveTimeout = 60_000;
    origin.port = await freePort();
    await origin.#listen(origin.port);
    origin.url = `http://127.0.0.1:${origin.port}`;
    return origin;
  }

  of(key) {
    return this.calls.filter((call) => call.key === key);
  }
  /** Returns whether a caller waits, or a call is still being handled. */
  get isBusy() {
    return this.calls.some((call) => call.endedAt === undefined || !call.isOver);
  }

  /** Stops listening for a while, and closes idle connections. */
  async leave(ms) {
    this.#server.close();
    this.#server.closeIdleConnections();
    await sleep(ms);
    await this.#listen(this.port);
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #listen(port) {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ port, host: "127.0.0.1", backlog: 2048 }, () => {
        this.#server.removeListener("error", reject);
        resolve();
      });
    });
  }

  async #serve(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { order, card } = JSON.parse(Buffer.concat(chunks));
    const key = request.headers["idempotency-key"];
    const number = this.calls.filter((call) => call.order === order).length;
    const random = this.random.of("call", order, number);
    const call = {
      order,
      key,
      attempt: Number(request.headers["idempotency-attempt"]),
      requestId: request.headers["x-request-id"],
      fault: this.calm ? "none" : random.weighted(FAULTS[this.kind]),
      at: Date.now(),
    };
    this.calls.push(call);
    this.bus.emit("called");
    const end = () => (call.endedAt ??= Date.now());
    response.once("close", end);
    try {
      await this.#response(request, response, call, card, random, end);
    } finally {
      call.isOver = true;
    }
  }

  async #response(request, response, call, card, random, end) {
    const { fault } = call;
    if (fault === "slow") await sleep(random.below(this.slow));
    const charges = !["500", "429", "hangs"].includes(fault);
    // A naive API charges even if the caller is gone.
    const reply = charges ? this.#charge(call, card) : undefined;
    if (fault === "slow after charging") await sleep(random.below(this.slow));
    if (fault.startsWith("hangs")) return;
    if (fault === "reset after charging") return void request.socket.resetAndDestroy();
    const [status, body] = reply && fault !== "500 after charging" ? reply : [fault === "429" ? 429 : 500, { error: fault }];
    const bytes = Buffer.from(JSON.stringify(body));
    const cut = fault === "cut after charging";
    if (response.destroyed) return;
    response.writeHead(status, { "Content-Type": "application/json", "Content-Length": bytes.length + (cut ? 10 : 0) });
    if (cut) return void response.write(bytes, () => request.socket.destroy());
    response.end(bytes, (error) => {
      if (error) return;
      Object.assign(call, { status, body: bytes.toString() });
      end();
      this.bus.emit("responded");
    });
  }

  /** Returns the response to a payment. No two responses have the same text, so that replays can be recognized. */
  #charge(call, card) {
    const known = this.kind === "deduplicating" && this.#kept.get(call.key);
    const made = known || { responses: 0 };
    this.#kept.set(call.key, made);
    made.responses++;
    if (card === "declined") return [402, { error: "card_declined", responses: made.responses, request: call.requestId }];
    if (!made.charge) {
      made.charge = { id: `ch_${this.charges.length + 1}`, order: call.order, key: call.key, attempt: call.attempt };
      if (this.charges.some(({ order }) => order === call.order)) this.bus.emit("charged twice", call);
      this.charges.push(made.charge);
    }
    call.charge = made.charge;
    return [201, { charge: made.charge.id, order: call.order, responses: made.responses }];
  }
}
