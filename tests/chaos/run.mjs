// A run: a server, buyers that keep it busy, kills at random times, and then an audit when nothing is in progress.
import { EventEmitter, once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { recordName } from "../worker/fixtures/names.mjs";
import { audit } from "./audit.mjs";
import { pursue } from "./buyers.mjs";
import { call } from "./call.mjs";
import { freePort } from "./port.mjs";
import { phasesOf, snapshot } from "./phases.mjs";
import { Random } from "./random.mjs";
import { Server } from "./servers.mjs";
import { ADMIN_TOKEN, SETUPS } from "./setups.mjs";
import { Tally } from "./tally.mjs";

/** How many buyers are active at once. */
const BUYERS = 14;
/** How many problems are printed. */
const MOST_SHOWN = 10;
/** How long it may take until everything is at rest after the last kill. */
const PATIENCE = 180_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Runs one setup on one kind of server, kills it `kills` times, and audits the result. `vars`: settings that replace
 * those of the setup; `atLeast`: how many intents must be done before the run ends, if there is no problem. Returns the
 * run; its `problems` must be empty.
 */
export async function chaos({ setup, kind, kills, seed, vars, atLeast = 10, print = () => {} }) {
  const run = new Run({ setup, kind, seed, vars, print });
  try {
    await run.open();
    await run.strike(kills);
    await run.serve(atLeast);
    await run.quiet();
    await audit(run);
  } catch (error) {
    run.problem(`the run itself failed: ${error.stack}\n${run.server.output()}`);
  } finally {
    await run.close();
  }
  return run;
}

class Run {
  intents = [];
  problems = [];
  tally = new Tally();
  /** The events for which kills wait: sent and received; at the test's own origin, called and responded. */
  bus = new EventEmitter();
  /** Whether faults have stopped, and no new buyers come. */
  calm = false;
  /** Whether the server has stopped for good, so that nothing needs to wait for it. */
  isOver = false;
  merchant = "kuko_test_chaos";
  #buyers = [];
  #next = 0;
  #gate = Promise.resolve();

  constructor({ setup, kind, seed, vars, print }) {
    this.title = `${setup} origin on ${kind === "wrangler" ? "wrangler dev" : "workerd"}`;
    this.random = new Random(seed, setup, kind);
    this.setup = SETUPS[setup];
    Object.assign(this, { kind, vars });
    this.print = (text) => print(`${this.title}: ${text}`);
    this.bus.setMaxListeners(0);
    this.bus.on("charged twice", (call) => this.problem(`a second charge for an order: ${JSON.stringify(call)}`));
  }

  async open() {
    this.folder = mkdtempSync(join(tmpdir(), "oncekey-chaos-"));
    this.origin = await this.setup.open(this);
    const { vars, replica } = this.setup;
    // wrangler dev is slower at everything, including the steps that must finish within half a lease.
    const lease = this.kind === "wrangler" ? { LEASE_SECONDS: 2 } : {};
    const upstream = this.origin ? { UPSTREAM: this.origin.url } : {};
    this.settings = { ...vars, ...lease, ...upstream, ...this.vars };
    this.server = new Server({ kind: this.kind, folder: this.folder, port: await freePort(), vars: this.settings, replica });
    await this.server.start();
    this.#buyers = Array.from({ length: BUYERS }, () => this.#buy());
  }

  /** Kills the server this many times while the buyers continue. */
  async strike(kills) {
    for (let number = 1; number <= kills; number++) {
      const random = this.random.of("kill", number);
      if (this.origin && random.chance(15)) this.#leave(random.between(50, 600));
      if (random.chance(30)) await this.#pause(random);
      await this.#killTime(random);
      let open;
      this.#gate = new Promise((resolve) => (open = resolve));
      const dead = this.server.kill();
      const found = snapshot(this);
      this.tally.note("kills");
      await dead;
      await this.server.start();
      const phases = await phasesOf(this, found);
      for (const phase of phases) this.tally.note(`requests: ${phase}`);
      for (const phase of new Set(phases)) this.tally.note(`phase: ${phase}`);
      if (phases.length === 0) this.tally.note("phase: no request in progress that waits");
      this.print(`kill ${number} of ${kills}`);
      open();
    }
  }

  /** Lets the buyers continue until enough of them are served. */
  async serve(count) {
    const isEnough = () => this.problems.length > 0 || this.intents.filter(({ state }) => state === "done").length >= count;
    for (const end = Date.now() + PATIENCE; !isEnough() && Date.now() < end; ) await sleep(50);
  }

  /** Waits for the time of a kill: a delay or an event, and never for long. */
  async #killTime(random) {
    // A request must be in progress.
    await sleep(random.between(100, 500));
    const events = this.origin ? { time: 20, sent: 22, called: 12, responded: 28, received: 18 } : { time: 25, sent: 40, received: 35 };
    const what = random.weighted(events);
    if (what === "time") return sleep(random.below(700));
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), 3000);
    try {
      for (let left = random.below(4); left >= 0; left--) await once(this.bus, what, { signal: late.signal });
    } catch {}
    clearTimeout(timer);
    const after = random.one([0, 0, 0, 1, 2, 4, 7, 12, 25]);
    if (after > 0) await sleep(after);
  }

  /** Stops the server for a while, so that leases expire while their attempts live: these are overtaken, and end late. */
  async #pause(random) {
    this.tally.note("times that the server stood still");
    await sleep(random.between(100, 400));
    await this.server.pause(this.settings.LEASE_SECONDS * random.between(500, 1600));
    await sleep(random.between(0, 800));
  }

  async #leave(ms) {
    this.tally.note("times that the origin did not listen");
    await this.origin.leave(ms).catch((error) => this.problem(`the origin did not come back: ${error}`));
  }

  /** Lets one buyer after the other send its intents. */
  async #buy() {
    while (!this.calm) {
      const number = this.#next++;
      const random = this.random.of("buyer", number);
      try {
        const wishes = this.setup.buys(this, random, number);
        let response;
        for (let wish = await wishes.next(); !wish.done; wish = await wishes.next(response)) {
          await pursue(this, wish.value, random.of(wish.value.path));
          const isWhole = wish.value.state === "done" && wish.value.result?.status === 201;
          response = isWhole ? wish.value.result : undefined;
        }
        await this.#replayOld(random.of("recall"));
      } catch (error) {
        this.problem(`buyer ${number}: ${error.stack}`);
      }
    }
  }

  /** Sends an old intent again. */
  async #replayOld(random) {
    const done = this.intents.filter((intent) => intent.kept.length > 0);
    if (!this.calm && done.length > 0 && random.chance(30)) await this.send(random.one(done)).catch(() => {});
  }

  /** Sends an intent once. Fails without a complete response. */
  async send(intent, quit) {
    const mark = performance.timeOrigin + performance.now();
    const random = this.random.of("send", intent.number, intent.sent++);
    const headers = { ...intent.headers, "Idempotency-Key": intent.key, ...(!this.calm && this.setup.headers?.(random)) };
    const hadResponse = intent.kept.length > 0;
    intent.open.add(mark);
    this.tally.note("requests");
    try {
      const response = await call(this.server.url, { ...intent, headers, quit, bus: this.bus });
      if (hadResponse && response.status === 409) this.problem(`the response was lost: ${response.text} to ${intent.name}`);
      this.#noteResponse(intent, response);
      return response;
    } catch (error) {
      this.tally.note(quit ? "callers who hung up" : "requests without a whole response");
      throw error;
    } finally {
      intent.open.delete(mark);
    }
  }

  /** Checks that all callers of a key get the same response. */
  #noteResponse(intent, response) {
    const { status, state } = response;
    const isError = status >= 400 && status !== 402;
    this.tally.note(`response: ${status} ${isError ? (codeOf(response) ?? "") : response.replayed ? "again" : ""}`.trim());
    if (isError && ![409, 429].includes(status) && status < 500) {
      this.problem(`a response that no caller should get: ${status} ${response.text} to ${intent.name}`);
    }
    if (isError && codeOf(response) === "idempotency_key_voided" && !intent.hasGivenUp) this.problem(`voided, although no buyer asked for it: ${intent.name}`);
    if (![201, 402].includes(status)) return;
    if (intent.state === "voided") this.problem(`voided, and then executed: ${intent.name}`);
    const seen = { status, text: response.text, requestId: response.get("X-Request-Id") };
    if (response.get("Idempotency-Stored") === "false") return void this.tally.note("responses that could not be stored");
    if (state !== "completed") return void this.problem(`a response without the mark that it is stored (${state}): ${intent.name}`);
    const [first] = intent.kept;
    if (first && JSON.stringify(first) !== JSON.stringify(seen)) {
      this.problem(`two responses for one key: ${JSON.stringify(first)} and ${JSON.stringify(seen)}`);
    }
    intent.kept.push(seen);
  }

  /** Makes a key call as the key's tenant. */
  ask(method, path, intent, { body, headers, timeout } = {}) {
    const named = { "X-Api-Key": intent.apiKey, "Idempotency-Key": intent.key, ...headers };
    return call(this.server.url, { method, path, headers: named, body, timeout });
  }
  /** Repeats a read until it succeeds. A read of the whole journal starts every shard, which takes a while. */
  async insist(method, path, intent, more) {
    for (const end = Date.now() + PATIENCE; ; await sleep(100)) {
      const response = await this.ask(method, path, intent, { ...more, timeout: PATIENCE / 2 }).catch((error) => error);
      if ([200, 404].includes(response.status)) return response;
      if (Date.now() > end) throw new Error(`${path}: ${response.text ?? response}`);
    }
  }
  /** Returns what operators see of a key: {key, journal}, without `key` if there is no record. */
  async life(intent) {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const name = recordName(intent.key, intent.apiKey);
    const response = await this.insist("GET", `/_oncekey/keys/${name}`, { apiKey: intent.apiKey, key: "none" }, { headers });
    return response.status === 404 ? { key: null, journal: [] } : response.json;
  }

  /** Waits until the server responds, without reading any key. */
  isUp() {
    return this.#gate;
  }

  /** Waits until all buyers and all calls at the origin have ended. */
  async quiet() {
    this.calm = true;
    if (this.origin) this.origin.calm = true;
    const end = Date.now() + PATIENCE;
    const late = new AbortController();
    const tooLate = delay(PATIENCE, "too late", { signal: late.signal, ref: false }).catch(() => {});
    const first = await Promise.race([Promise.all(this.#buyers), tooLate]);
    late.abort();
    if (first === "too late") {
      const left = this.intents.filter(({ state }) => state === "open");
      throw new Error(`these buyers never end:\n${left.map(({ name }) => name).join("\n")}`);
    }
    // Requests on their way to the origin arrive before this ends, because this process reads them.
    await sleep(1000);
    while (this.origin?.isBusy) {
      if (Date.now() > end) throw new Error("calls at the origin never end");
      await sleep(100);
    }
  }

  problem(text) {
    this.problems.push(text);
    if (this.problems.length <= MOST_SHOWN) this.print(`PROBLEM, after ${this.tally.of("kills")} kills: ${text}`);
  }

  async close() {
    this.calm = this.isOver = true;
    await this.server?.kill();
    await this.origin?.close();
    if (this.problems.length === 0) rmSync(this.folder, { recursive: true, force: true });
    else this.print(`state and log of the server: ${this.folder}`);
  }
}

/** Returns the code of an error, if there is one. */
function codeOf(response) {
  try {
    return response.json.code ?? response.json.error;
  } catch {
    return undefined;
  }
}
