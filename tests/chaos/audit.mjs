// The audit, which runs when nothing is in progress. For each key, its state, its rows in the journal and its effects
// must agree, and one more request with the key must get the promised result.
import { booksOf } from "./books.mjs";
import { accountOf, readJournal } from "./journal.mjs";
import { ADMIN_TOKEN } from "./setups.mjs";

/** How many keys are audited at once. */
const AT_ONCE = 16;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function audit(run) {
  const left = [...run.intents];
  const finals = new Map();
  const workers = Array.from({ length: AT_ONCE }, async () => {
    for (let intent = left.pop(); intent; intent = left.pop()) {
      try {
        finals.set(intent, await conclude(run, intent));
      } catch (error) {
        run.problem(`${intent.name}: ${error.stack}`);
      }
    }
  });
  await Promise.all(workers);
  const journal = await readJournal(run);
  for (const [intent, final] of finals) {
    const account = journal.get(intent) ?? [];
    for (const problem of await accountOf(run, intent, final, account)) {
      run.problem(`${problem}: ${intent.name}\n  journal: ${JSON.stringify(account)}\n  origin: ${JSON.stringify(run.origin?.of(intent.key))}`);
    }
  }
  for (const problem of await booksOf(run)) run.problem(problem);
  readLog(run);
}

/** Checks that the Worker never trapped and could read every record, and that its log contains no key or credential. */
function readLog(run) {
  const log = run.server.log();
  const trouble = log.split("\n").filter((line) => /panicked|in wasm|after a trap|unreadable|not written/.test(line));
  if (trouble.length > 0) run.problem(`the Worker's log contains:\n${trouble.slice(0, 5).join("\n")}`);
  const secrets = [ADMIN_TOKEN, ...run.intents.flatMap(({ key, apiKey }) => [key, apiKey])];
  for (const secret of new Set(secrets)) if (secret && log.includes(secret)) run.problem(`the Worker's log contains ${secret}`);
}

/** Resolves a key. Returns its record and its response after that. */
async function conclude(run, intent) {
  // A page that never sent a request has no key yet.
  if (!intent.key) return run.problem(`a buyer without a key: ${intent.name}`);
  const wrong = (what) => run.problem(`${what}: ${intent.name}`);
  const before = await rested(run, intent);
  const state = before?.state ?? "absent";
  run.tally.note(`at the end: ${state}`);
  if (!["completed", "unknown", "released", "voided", "absent"].includes(state)) wrong(`the state is still ${state} long after the end of its lease`);
  if (intent.kept.length > 0 && state !== "completed") wrong(`its response was lost: the state is ${state}`);
  if ((intent.state === "voided") !== (state === "voided")) wrong(`its buyer got ${intent.state}, but the state is ${state}`);
  // An attempt whose lease had expired may still have recorded its end: a response or a refusal.
  if (intent.state === "held" && !["unknown", "completed", "released"].includes(state)) wrong(`it was on hold, but now the state is ${state}`);
  if (!run.setup.hold && intent.state !== "voided" && state !== "completed") wrong(`its buyer is done, but the state is ${state}`);

  let response = await ask(run, intent);
  const isOnHold = () => run.setup.hold && response.status === 409 && response.json.code === "idempotency_outcome_unknown";
  if (state === "unknown" && run.setup.hold && !isOnHold()) wrong(`the state is unknown, but the response is ${response.status} ${response.text}`);
  // A request after a settlement may time out, too, so this may take several rounds.
  for (let times = 0; isOnHold() && times < 5; times++) {
    await settle(run, intent);
    response = await ask(run, intent);
  }
  const { key: record } = await run.life(intent);
  if (state === "voided") {
    if (response.json.code !== "idempotency_key_voided") wrong(`the state is voided, but the response is ${response.status} ${response.text}`);
  } else {
    if (response.status !== (intent.declined ? 402 : 201)) wrong(`in the end the response is ${response.status} ${response.text}`);
    if (record?.state !== "completed") wrong(`in the end the state is ${record?.state}`);
    if (state === "completed" && !response.replayed) wrong("the key was completed, but its request was executed again");
    if (intent.result && intent.result.text !== response.text) wrong(`its buyer got ${intent.result.text}, but now the response is ${response.text}`);
  }
  const effects = await run.setup.effects(run, intent);
  const due = state === "voided" ? 0 : intent.effects;
  if (effects !== due) wrong(`its request was executed ${effects} times instead of ${due}`);
  return { record, response };
}

/** Waits until no attempt is in progress, and returns the record. A lease that lasts longer than this wait never ends. */
async function rested(run, intent) {
  for (let tries = 0; ; tries++) {
    const { key: record } = await run.life(intent);
    if (record?.state !== "in_progress" || tries === 100) return record;
    await sleep(200);
  }
}

/** Sends a request with the key until the response does not ask for a retry, and returns the response. */
async function ask(run, intent) {
  for (let tries = 0; ; tries++) {
    const response = await run.send(intent).catch((error) => ({ status: 0, text: String(error) }));
    const again = response.status === 0 || response.status >= 500 || (response.status === 409 && response.json.code === "idempotency_in_progress");
    if (!again) return response;
    if (tries === 50) throw new Error(`no response in the end: ${response.status} ${response.text}`);
    await sleep(200);
  }
}

/**
 * Lets an operator check the origin's records and settle a payment. The operator waits first, because a request
 * that is still on its way could be executed after the payment was settled as not executed.
 */
async function settle(run, intent) {
  do await sleep(500);
  while (run.origin.isBusy);
  const charge = run.origin.charges.find(({ order }) => order === intent.order);
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, "Content-Type": "application/json" };
  const settled = { charge: charge?.id, order: intent.order, settled: true };
  const body = charge ? { outcome: "executed", status: 201, headers: { "content-type": "application/json" }, body: JSON.stringify(settled) } : { outcome: "not_executed" };
  const response = await run.ask("POST", "/_oncekey/key/settle", intent, { headers, body: JSON.stringify(body) });
  run.tally.note(charge ? "settled as executed" : "settled as not executed");
  if (response.status !== 200) run.problem(`it could not be settled (${response.status} ${response.text}): ${intent.name}`);
}
