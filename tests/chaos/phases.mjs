// The phases in which a kill hit the requests in progress, as far as records and the origin's log show them.
//
// The phases are read right after the restart, while the buyers of these keys wait. The record shows which steps of the
// attempt were stored, and the log at the time of the kill shows what the origin had done.

/** The phases in the order of a request's life. */
export const PHASES = [
  "before begin",
  "begun, not at the origin",
  "at the origin",
  "the origin has responded, not recorded",
  "recorded, the caller has no response",
  "during a replay",
  "after an attempt that an earlier kill has ended",
];

/** Returns the state at the time of a kill: one entry for each key with requests in progress whose buyer waits. */
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

/** Returns the phase of each of them. */
export async function phasesOf(run, found) {
  return Promise.all(found.map((one) => phaseOf(run, one)));
}

async function phaseOf(run, { intent, since, sentAt, hadResponse, calls }) {
  if (hadResponse) return "during a replay";
  const { key: record } = await run.life(intent);
  if (!record) return "before begin";
  // The key is in flight, or its lease has expired: only the begin is stored.
  if (record.lease_until) {
    const aliveAt = Date.parse(record.lease_until) - run.settings.LEASE_SECONDS * 1000;
    if (aliveAt < since) return "after an attempt that an earlier kill has ended";
    if (!calls) return (await run.setup.effects(run, intent)) ? "the origin has responded, not recorded" : "at the origin";
    const call = calls.findLast(({ attempt }) => attempt === record.attempts);
    if (!call) return "begun, not at the origin";
    return call.endedAt === undefined ? "at the origin" : "the origin has responded, not recorded";
  }
  // The last attempt has ended. If it ended before this request was sent, this request had not begun.
  return Date.parse(record.changed_at) < sentAt ? "before begin" : "recorded, the caller has no response";
}
