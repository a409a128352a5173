// `make chaos`: kills the Worker many times in all setups. KILLS: the number of kills; SEED: repeats the decisions of a
// run; ONLY: one setup, such as "naive" or "naive/workerd"; VARS: settings that replace those of the setups.
import { availableParallelism } from "node:os";
import { chaos } from "./run.mjs";
import { PHASES } from "./phases.mjs";
import { phaseTable, summary } from "./summary.mjs";
import { Tally } from "./tally.mjs";

/** The share of the kills for each setup. */
const SHARES = [
  { setup: "naive", kind: "workerd", share: 33 },
  { setup: "deduplicating", kind: "workerd", share: 30 },
  { setup: "sandbox", kind: "workerd", share: 23 },
  { setup: "naive", kind: "wrangler", share: 5 },
  { setup: "deduplicating", kind: "wrangler", share: 5 },
  { setup: "sandbox", kind: "wrangler", share: 4 },
];
/** How many setups run at the same time. Most of the time they wait. */
const AT_ONCE = 2;
/** A run with at least this many kills must hit each phase of a request. */
const LONG = 100;

const number = (name, fallback) => {
  const value = Number(process.env[name] || fallback);
  if (!Number.isInteger(value) || value < 1) throw new Error(`${name}=${process.env[name]} must be a whole number from 1`);
  return value;
};
const kills = number("KILLS", 220);
const seed = number("SEED", 1 + Math.floor(Math.random() * 1e9));
const vars = Object.fromEntries((process.env.ONCEKEY_VARS ?? "").split(/\s+/).filter(Boolean).map((one) => one.split(/=(.*)/s, 2)));
const only = process.env.ONLY?.split("/");

const begun = performance.now();
console.log(`chaos: ${kills} kills, SEED=${seed}`);
const all = new Tally();
const chosen = SHARES.filter(({ setup, kind }) => !only || (only[0] === setup && (!only[1] || only[1] === kind)));
const whole = chosen.reduce((sum, { share }) => sum + share, 0);
/** Prints problems, and every tenth kill. */
const print = (text) => (process.env.VERBOSE || /PROBLEM|state and log|kill \d*0 of/.test(text)) && console.log(text);
let failed = chosen.length === 0;
const left = [...chosen];
const places = Array.from({ length: AT_ONCE }, async () => {
  for (let next = left.shift(); next; next = left.shift()) {
    const { setup, kind, share } = next;
    const run = await chaos({ setup, kind, kills: Math.ceil((kills * share) / whole), seed, vars, print });
    console.log(`\n${summary(run)}`);
    all.add(run.tally);
    failed ||= run.problems.length > 0;
  }
});
await Promise.all(places);
console.log(`\n${phaseTable(all)}`);
const missed = PHASES.filter((phase) => all.of(`phase: ${phase}`) === 0);
const seconds = Math.round((performance.now() - begun) / 1000);
console.log(`\n${all.of("kills")} kills, ${all.of("requests")} requests, ${all.of("charges")} charges in ${seconds} s on ${availableParallelism()} cores. To repeat: make chaos KILLS=${kills} SEED=${seed}`);
if (kills >= LONG && !only && missed.length > 0) {
  console.log(`no kill ever hit a request ${missed.join(", or ")}: the run proves less than docs/proof/chaos.md claims; use more kills`);
  failed = true;
}
console.log(failed ? "chaos: FAILED" : "chaos: ok");
process.exit(failed ? 1 : 0);
