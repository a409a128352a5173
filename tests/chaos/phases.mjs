// Where a kill found the requests that were under way, as far as records and the origin's log can tell.
//
// Asked right after the restart, while the buyers of these keys wait. The record tells how far the attempt had been
// stored, and the log, as it was at the moment of the kill, how far the origin had come.

/** In the order of a request's life. */
export const PHASES = [
  "before begin",
  "begun, not at the origin",
  "at the origin",
  "answered by the origin, not recorded",
  "recorded, caller not told",
  "a replay under way",
  "behind an attempt that an earlier kill has ended",
];

/** What is known at the moment of a kill: one entry for each key with requests under way whose buyer waits. */
export function snapshot(run) {
  const open = run.intents.filter((intent) => intent.waits && intent.key && intent.open.size > 0);
  return open.map((intent) => ({
    intent,
    since: run.server.servesSince,
    sentAt: Math.max(...intent.open),
    hadResponse: intent.kept.length > 0,
    calls: run.origin?.of(intent.key).map(({ attempt, endedAt }) => ({ attempt, endedAt })),
  }));
}

/** The phase that each of them was in. */
export async function phasesOf(run, found) {
  return Promise.all(found.map((one) => phaseOf(run, one)));
}

async function phaseOf(run, { intent, since, sentAt, hadResponse, calls }) {
  if (hadResponse) return "a replay under way";
  const { key: record } = await run.life(intent);
  if (!record) return "before begin";
  // In flight, or dead: what is stored is the attempt's beginning.
  if (record.lease_until) {
    const aliveAt = Date.parse(record.lease_until) - run.settings.LEASE_SECONDS * 1000;
    if (aliveAt < since) return "behind an attempt that an earlier kill has ended";
    if (!calls) return (await run.setup.effects(run, intent)) ? "answered by the origin, not recorded" : "at the origin";
    const call = calls.findLast(({ attempt }) => attempt === record.attempts);
    if (!call) return "begun, not at the origin";
    return call.endedAt === undefined ? "at the origin" : "answered by the origin, not recorded";
  }
  // Its last attempt has ended. If that was before this request was sent, this one had not begun.
  return Date.parse(record.changed_at) < sentAt ? "before begin" : "recorded, caller not told";
}
