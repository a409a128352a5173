// Buyers. Each has one intent and sends the same bytes with the same key until there is a response. Some hang up,
// some send twice at once, some void their key, and some are pages with the npm package.
import { join } from "node:path";

const root = new URL("../../", import.meta.url).pathname;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Sends an intent until it has a result. `run`: see run.mjs. */
export async function pursue(run, intent, random) {
  run.intents.push(intent);
  if (intent.key) await insist(run, intent, random.of("plain"));
  else await visit(run, intent, random.of("package"));
  // Some send the request again later, now or after the next kill.
  for (let again = 0; intent.state === "done" && !run.calm && random.chance(35) && again < 3; again++) {
    await sleep(random.below(1200));
    await run.send(intent).catch(() => {});
  }
}

/** A plain retry loop. */
async function insist(run, intent, random) {
  for (let number = 0; intent.state === "open" && !run.isOver; number++) {
    const now = random.of("try", number);
    if (intent.waits) await run.isUp();
    if (number > 0 && !run.calm && now.chance(3)) await giveUp(run, intent);
    if (intent.state !== "open") return;
    const copies = run.calm ? 1 : now.weighted({ 1: 80, 2: 14, 4: 6 });
    const sends = Array.from({ length: copies }, () => run.send(intent, quitOf(run, now)));
    for (const { value: response } of await Promise.allSettled(sends)) if (response) settle(run, intent, response);
    if (intent.state === "open") await sleep(now.between(20, 200));
  }
}

/** Decides whether and how a caller hangs up. */
function quitOf(run, random) {
  if (run.calm || !random.chance(16)) return undefined;
  return { how: random.one(["reset", "close", "half"]), after: random.one([0, 5, 20, 100, 400]) };
}

/** Handles the response to a buyer. */
function settle(run, intent, response) {
  if ([201, 402].includes(response.status)) {
    intent.result ??= response;
    intent.state = "done";
  } else if (intent.hasGivenUp && response.status === 409 && response.json.code === "idempotency_key_voided") {
    // The response to the void was lost.
    intent.state = "voided";
  } else if (run.setup.hold && response.status === 409 && response.json.code === "idempotency_outcome_unknown" && intent.state === "open") {
    intent.state = "held";
  }
}

/** Voids the key. The state voided promises that the request was not and never will be executed. */
async function giveUp(run, intent) {
  intent.hasGivenUp = true;
  const response = await run.ask("POST", "/_oncekey/key/void", intent).catch(() => undefined);
  run.tally.note("keys given up");
  if (response?.status === 200 && response.json.state === "voided") {
    run.tally.note("of these voided");
    intent.state = "voided";
  }
}

/** Acts as a page with the npm package. The page may be left and opened again; its storage stays. */
async function visit(run, intent, random) {
  const { createClient } = await import(join(root, "www/dist/index.js"));
  const storage = storageOf(new Map());
  for (let visits = 0; intent.state === "open" && !run.isOver; visits++) {
    const now = random.of("visit", visits);
    let tries = 0;
    const client = createClient({
      storage,
      retry: { limit: 20, delays: [50, 100, 200, 400], attemptTimeout: 8000, totalTime: 30_000, maxRetryAfter: 500 },
      fetch: (_, init) => sendOf(run, intent, init, now.of("try", tries++)),
    });
    const leaves = !run.calm && now.chance(30) ? AbortSignal.timeout(now.between(20, 900)) : undefined;
    try {
      const { headers, body } = intent;
      const response = await client.intent(`order:${intent.number}`).fetch(run.server.url + intent.path, { headers, body, signal: leaves });
      await response.arrayBuffer();
      intent.state = "done";
    } catch (error) {
      if (error.name === "AbortError") run.tally.note("pages left");
      else if (error.name !== "OutcomeUnknownError") throw error;
      else if (run.setup.hold && (await error.response?.clone().json().catch(() => ({})))?.code === "idempotency_outcome_unknown") intent.state = "held";
    }
    if (intent.state === "open") await sleep(now.between(20, 200));
  }
}

/** Sends the request of the package, and checks that it has one key for an intent. */
async function sendOf(run, intent, init, random) {
  const key = new Headers(init.headers).get("idempotency-key");
  if (intent.key && intent.key !== key) run.problem(`the package sent another key than before: ${intent.name}`);
  intent.key = key;
  const response = await run.send(intent, quitOf(run, random));
  if ([201, 402].includes(response.status)) intent.result ??= response;
  return new Response(response.body, { status: response.status, headers: response.pairs });
}

/** Returns the storage of a page. */
const storageOf = (entries) => ({
  get length() {
    return entries.size;
  },
  key: (index) => [...entries.keys()][index] ?? null,
  getItem: (name) => entries.get(name) ?? null,
  setItem: (name, text) => void entries.set(name, text),
  removeItem: (name) => void entries.delete(name),
});
