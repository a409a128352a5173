// A run: a server, buyers who keep it busy, kills at moments of their own, and then quiet.
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

/** How many buyers are busy at once. */
const BUYERS = 14;
/** How many problems are shown. */
const MOST_SHOWN = 10;
/** How long everything may take to come to its end once the kills are over. */
const PATIENCE = 180_000;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Runs one setup on one kind of server, kills it so many times, and audits what is left. `vars`: settings over those of
 * the setup; `atLeast`: how many intents have to be done before it ends, if nothing is wrong. Gives the run; its
 * `problems` are what must not be.
 */
export async function chaos({ setup, kind, kills, seed, vars, atLeast = 10, say = () => {} }) {
  const run = new Run({ setup, kind, seed, vars, say });
  try {
    await run.open();
    await run.strike(kills);
    await run.serve(atLeast);
    await run.quiet();
    await audit(run);
  } catch (error) {
    run.problem(`the run itself failed: ${error.stack}\n${run.server.says()}`);
  } finally {
    await run.close();
  }
  return run;
}

class Run {
  intents = [];
  problems = [];
  tally = new Tally();
  /** What happens, for kills that wait for it: sent, received; at our own origin called and answered. */
  bus = new EventEmitter();
  /** From then on nobody makes trouble, and nobody new comes. */
  calm = false;
  /** There is no server any more: whoever still waits need not. */
  isOver = false;
  merchant = "kuko_test_chaos";
  #buyers = [];
  #next = 0;
  #gate = Promise.resolve();

  constructor({ setup, kind, seed, vars, say }) {
    this.title = `${setup} origin on ${kind === "wrangler" ? "wrangler dev" : "workerd"}`;
    this.random = new Random(seed, setup, kind);
    this.setup = SETUPS[setup];
    Object.assign(this, { kind, vars });
    this.say = (text) => say(`${this.title}: ${text}`);
    this.bus.setMaxListeners(0);
    this.bus.on("charged twice", (call) => this.problem(`a second charge for an order: ${JSON.stringify(call)}`));
  }

  async open() {
    this.folder = mkdtempSync(join(tmpdir(), "oncekey-chaos-"));
    this.origin = await this.setup.open(this);
    const { vars, replica } = this.setup;
    // wrangler dev takes longer over everything, also over what has to be done within half a lease.
    const lease = this.kind === "wrangler" ? { LEASE_SECONDS: 2 } : {};
    const upstream = this.origin ? { UPSTREAM: this.origin.url } : {};
    this.settings = { ...vars, ...lease, ...upstream, ...this.vars };
    this.server = new Server({ kind: this.kind, folder: this.folder, port: await freePort(), vars: this.settings, replica });
    await this.server.start();
    this.#buyers = Array.from({ length: BUYERS }, () => this.#buy());
  }

  /** Kills the server so many times while the buyers go on. */
  async strike(kills) {
    for (let number = 1; number <= kills; number++) {
      const random = this.random.of("kill", number);
      if (this.origin && random.chance(15)) this.#leave(random.between(50, 600));
      if (random.chance(30)) await this.#pause(random);
      await this.#moment(random);
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
      if (phases.length === 0) this.tally.note("phase: nothing under way that waits");
      this.say(`kill ${number} of ${kills}`);
      open();
    }
  }

  /** Lets the buyers go on until enough of them are served. */
  async serve(count) {
    const isEnough = () => this.problems.length > 0 || this.intents.filter(({ state }) => state === "done").length >= count;
    for (const end = Date.now() + PATIENCE; !isEnough() && Date.now() < end; ) await sleep(50);
  }

  /** Waits for the moment of a kill: a time, or something that happens; never for long. */
  async #moment(random) {
    // Something has to be under way before.
    await sleep(random.between(100, 500));
    const events = this.origin ? { time: 20, sent: 22, called: 12, answered: 28, received: 18 } : { time: 25, sent: 40, received: 35 };
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

  /** Leases die while their attempts live: those are overtaken, and come late. */
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

  /** One place in the shop: one buyer after the other. */
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

  /** Asks once more for a response of long ago. */
  async #replayOld(random) {
    const done = this.intents.filter((intent) => intent.kept.length > 0);
    if (!this.calm && done.length > 0 && random.chance(30)) await this.send(random.one(done)).catch(() => {});
  }

  /** Sends an intent once; fails when there is no whole response. */
  async send(intent, quit) {
    const mark = performance.timeOrigin + performance.now();
    const random = this.random.of("send", intent.number, intent.sent++);
    const headers = { ...intent.headers, "Idempotency-Key": intent.key, ...(!this.calm && this.setup.headers?.(random)) };
    const hadResponse = intent.kept.length > 0;
    intent.open.add(mark);
    this.tally.note("requests");
    try {
      const response = await call(this.server.url, { ...intent, headers, quit, bus: this.bus });
      if (hadResponse && response.status === 409) this.problem(`it had a response, and this is it no more: ${response.text} to ${intent.name}`);
      this.#noteResponse(intent, response);
      return response;
    } catch (error) {
      this.tally.note(quit ? "callers who hung up" : "requests without a whole response");
      throw error;
    } finally {
      intent.open.delete(mark);
    }
  }

  /** What one caller sees has to agree with what any other saw. */
  #noteResponse(intent, response) {
    const { status, state } = response;
    const isError = status >= 400 && status !== 402;
    this.tally.note(`response: ${status} ${isError ? (codeOf(response) ?? "") : response.replayed ? "again" : ""}`.trim());
    if (isError && ![409, 429].includes(status) && status < 500) {
      this.problem(`a response that nobody should get: ${status} ${response.text} to ${intent.name}`);
    }
    if (isError && codeOf(response) === "idempotency_key_voided" && !intent.hasGivenUp) this.problem(`voided, and nobody asked for it: ${intent.name}`);
    if (![201, 402].includes(status)) return;
    if (intent.state === "voided") this.problem(`voided, and then answered: ${intent.name}`);
    const seen = { status, text: response.text, requestId: response.get("X-Request-Id") };
    if (response.get("Idempotency-Stored") === "false") return void this.tally.note("responses that could not be stored");
    if (state !== "completed") return void this.problem(`a response that is not said to be stored (${state}): ${intent.name}`);
    const [first] = intent.kept;
    if (first && JSON.stringify(first) !== JSON.stringify(seen)) {
      this.problem(`two responses for one key: ${JSON.stringify(first)} and ${JSON.stringify(seen)}`);
    }
    intent.kept.push(seen);
  }

  /** A call about a key, as its tenant; `more`: further headers. */
  ask(method, path, intent, { body, headers, timeout } = {}) {
    const named = { "X-Api-Key": intent.apiKey, "Idempotency-Key": intent.key, ...headers };
    return call(this.server.url, { method, path, headers: named, body, timeout });
  }
  /** A read that has to succeed, sooner or later. One of the whole journal wakes every shard, which takes its time. */
  async insist(method, path, intent, more) {
    for (const end = Date.now() + PATIENCE; ; await sleep(100)) {
      const response = await this.ask(method, path, intent, { ...more, timeout: PATIENCE / 2 }).catch((error) => error);
      if ([200, 404].includes(response.status)) return response;
      if (Date.now() > end) throw new Error(`${path}: ${response.text ?? response}`);
    }
  }
  /** What operators see of a key: {key, journal}; no key when there is no record. */
  async life(intent) {
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
    const name = recordName(intent.key, intent.apiKey);
    const response = await this.insist("GET", `/_oncekey/keys/${name}`, { apiKey: intent.apiKey, key: "none" }, { headers });
    return response.status === 404 ? { key: null, journal: [] } : response.json;
  }

  /** The server serves, and nobody looks at what the kill has left. */
  isUp() {
    return this.#gate;
  }

  /** Lets everybody who is there come to an end, and whatever still runs. */
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
      throw new Error(`buyers without an end:\n${left.map(({ name }) => name).join("\n")}`);
    }
    // What is on its way to the origin arrives before this is over: it is read by this very process.
    await sleep(1000);
    while (this.origin?.isBusy) {
      if (Date.now() > end) throw new Error("calls at the origin without an end");
      await sleep(100);
    }
  }

  problem(text) {
    this.problems.push(text);
    if (this.problems.length <= MOST_SHOWN) this.say(`PROBLEM, after ${this.tally.of("kills")} kills: ${text}`);
  }

  async close() {
    this.calm = this.isOver = true;
    await this.server?.kill();
    await this.origin?.close();
    if (this.problems.length === 0) rmSync(this.folder, { recursive: true, force: true });
    else this.say(`state and log of the server: ${this.folder}`);
  }
}

/** The code of an error, where there is one. */
function codeOf(response) {
  try {
    return response.json.code ?? response.json.error;
  } catch {
    return undefined;
  }
}
