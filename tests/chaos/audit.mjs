// When all is quiet: for each key its state, its account in the journal and what was made under it have to agree, and
// one more request with it has to end as the promises say.
import { booksOf } from "./books.mjs";
import { accountOf, readJournal } from "./journal.mjs";
import { ADMIN_TOKEN } from "./setups.mjs";

/** How many keys are looked at at once. */
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

/** The Worker never trapped, found every record readable, and its log holds no key and no credential. */
function readLog(run) {
  const log = run.server.log();
  const trouble = log.split("\n").filter((line) => /panicked|in wasm|after a trap|unreadable|not written/.test(line));
  if (trouble.length > 0) run.problem(`the Worker's log has:\n${trouble.slice(0, 5).join("\n")}`);
  const secrets = [ADMIN_TOKEN, ...run.intents.flatMap(({ key, apiKey }) => [key, apiKey])];
  for (const secret of new Set(secrets)) if (secret && log.includes(secret)) run.problem(`the Worker's log holds ${secret}`);
}

/** Brings a key to its end. Gives the record and the response that it then has. */
async function conclude(run, intent) {
  // A page that was never let through has no key yet.
  if (!intent.key) return run.problem(`a buyer without a key: ${intent.name}`);
  const wrong = (what) => run.problem(`${what}: ${intent.name}`);
  const before = await rested(run, intent);
  const state = before?.state ?? "absent";
  run.tally.note(`at the end: ${state}`);
  if (!["completed", "unknown", "released", "voided", "absent"].includes(state)) wrong(`it is ${state} long after its lease`);
  if (intent.kept.length > 0 && state !== "completed") wrong(`its response was lost, it is ${state} now`);
  if ((intent.state === "voided") !== (state === "voided")) wrong(`its buyer was told ${intent.state}, and it is ${state}`);
  // An attempt that was taken for dead may still have reported its end: it had a response, or was refused.
  if (intent.state === "held" && !["unknown", "completed", "released"].includes(state)) wrong(`it was held, and is ${state}`);
  if (!run.setup.hold && intent.state !== "voided" && state !== "completed") wrong(`its buyer is done, and it is ${state}`);

  let response = await ask(run, intent);
  const isHeld = () => run.setup.hold && response.status === 409 && response.json.code === "idempotency_outcome_unknown";
  if (state === "unknown" && run.setup.hold && !isHeld()) wrong(`it is unknown, and the response is ${response.status} ${response.text}`);
  // More than once, for what runs after it was settled may take too long as well.
  for (let times = 0; isHeld() && times < 5; times++) {
    await settle(run, intent);
    response = await ask(run, intent);
  }
  const { key: record } = await run.life(intent);
  if (state === "voided") {
    if (response.json.code !== "idempotency_key_voided") wrong(`it is voided, and the response is ${response.status} ${response.text}`);
  } else {
    if (response.status !== (intent.declined ? 402 : 201)) wrong(`in the end the response is ${response.status} ${response.text}`);
    if (record?.state !== "completed") wrong(`in the end it is ${record?.state}`);
    if (state === "completed" && !response.replayed) wrong("it was completed, and executed again");
    if (intent.result && intent.result.text !== response.text) wrong(`its buyer was told ${intent.result.text}, and now ${response.text}`);
  }
  const effects = await run.setup.effects(run, intent);
  const due = state === "voided" ? 0 : intent.effects;
  if (effects !== due) wrong(`it was executed ${effects} times, and not ${due}`);
  return { record, response };
}

/** The record, once no attempt is under way. A lease that lives for so long without a caller never ends. */
async function rested(run, intent) {
  for (let tries = 0; ; tries++) {
    const { key: record } = await run.life(intent);
    if (record?.state !== "in_progress" || tries === 100) return record;
    await sleep(200);
  }
}

/** What a request with the key gets, once it need not retry any more. */
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
 * An operator looks at the origin's books, and says what became of a payment. He waits first: a request that is still
 * on its way to the origin would be executed after he had recorded that it was not.
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
