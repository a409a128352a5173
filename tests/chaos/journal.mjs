// Compares the journal of each key with its record, its response and the origin's log.
import { recordName } from "../worker/fixtures/names.mjs";
import { ADMIN_TOKEN } from "./setups.mjs";

/** Returns all rows by intent, in the order in which they were written. */
export async function readJournal(run) {
  const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` };
  const rows = [];
  for (let path = "/_oncekey/journal?limit=5000"; path; ) {
    const response = await run.insist("GET", path, { apiKey: "nobody", key: "none" }, { headers });
    rows.push(...response.text.split("\n").filter(Boolean).map((line) => JSON.parse(line)));
    path = response.get("Link")?.match(/^<(.*)>; rel="next"$/)[1];
  }
  for (const { kind } of rows) run.tally.note(`journal: ${kind}`);
  const intents = new Map(run.intents.filter(({ key }) => key).map((intent) => [recordName(intent.key, intent.apiKey), intent]));
  const ofKeys = rows.filter((row) => row.of === "key");
  for (const { key } of ofKeys) if (!intents.has(key)) run.problem(`the journal has a key that no buyer sent: ${key}`);
  return Map.groupBy(ofKeys, ({ key }) => intents.get(key));
}

/** Returns the problems of a key's journal. */
export async function accountOf(run, intent, final, rows) {
  if (!final) return [];
  const problems = [];
  const must = (holds, problem) => holds || problems.push(problem);
  const { record, response } = final;
  const responses = rows.filter(({ kind, state }) => ["completed", "late_success"].includes(kind) || (kind === "settled" && state === "completed"));
  const isVoided = record?.state === "voided";
  must(responses.length === (isVoided ? 0 : 1), `the journal has ${responses.length} responses of the key`);
  must(rows.filter(({ kind }) => kind === "voided").length === (isVoided ? 1 : 0), "journal and record disagree on whether the key is voided");
  const [given] = responses;
  if (given) {
    must(given.http_status === response.status, `the journal contains the status ${given.http_status}, but the response is ${response.status}`);
    must(given.request_id === response.get("X-Request-Id"), "the journal names another request than the response");
    must(given.http_status === record.http_status, "the journal and the record have different responses");
  }
  must(rows.at(-1)?.state === record?.state || rows.at(-1)?.kind === "late_ignored", `the last row has the state ${rows.at(-1)?.state}, but the record has ${record?.state}`);
  if (run.origin) problems.push(...dispatches(run, intent, final, rows, given));
  return problems;
}

/** Checks that the journal accounts for each call at the origin. */
function dispatches(run, intent, final, rows, given) {
  const problems = [];
  const must = (holds, problem) => holds || problems.push(problem);
  const { record, response } = final;
  const calls = run.origin.of(intent.key).toSorted((one, other) => one.attempt - other.attempt);
  must(new Set(calls.map(({ attempt }) => attempt)).size === calls.length, "an attempt reached the origin twice");
  must(calls.length === 0 || calls.at(-1).attempt <= record.attempts, "an attempt reached the origin that is not in the record");
  if (given && given.kind !== "settled") {
    const call = calls.find(({ requestId }) => requestId === given.request_id);
    must(call, "the journal names a request that the origin never saw");
    must(call?.status === given.http_status, `the journal contains the status ${given.http_status}, but the origin returned ${call?.status}`);
    must(call?.body === response.text, "the kept response is not the origin's response to that request");
  }
  const has = (wanted, attempt) => rows.some((row) => wanted.includes(row.kind) && row.attempt === attempt);
  for (const { attempt } of calls.slice(0, -1)) {
    const isFree = has(["released"], attempt) || rows.some(({ kind, state }) => kind === "settled" && state === "released");
    const isUnknown = has(["unknown"], attempt) || has(["overtook"], attempt + 1);
    must(isFree || (!run.setup.hold && isUnknown), `attempt ${attempt} may have been executed, and another one reached the origin`);
  }
  return problems;
}
