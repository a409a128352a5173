// The life of one key, made of its record and of the rows of the journal. No DOM here.

/**
 * - `attempts`: {n, from, to, fate, status, cause, isSure}; `to` is undefined while it is under way; `isSure`: it
 *   began at `from`, otherwise some time after
 * - `spans`: {state, from, to}: the states of the key; the last has no end
 * - `marks`: {at, what}: what else happened
 * - `lease`: {from, to} of the attempt that is under way
 * - `end`: when the record expires
 * - `earlier`: how many rows are about earlier records of the key
 */
export function historyOf({ key, journal }, now) {
  const begun = key?.created_at ?? journal.at(-1)?.created_at;
  const rows = journal.filter((row) => row.created_at === begun);
  const history = {
    attempts: [],
    spans: [{ state: "in_progress", from: Date.parse(begun) }],
    marks: [],
    lease: undefined,
    end: key?.expires_at ? Date.parse(key.expires_at) : undefined,
    earlier: journal.length - rows.length,
  };
  for (const row of rows) add(history, row);
  if (key?.replays) history.marks.push({ at: Date.parse(key.replays.last_at), what: "replayed", ...key.replays });
  if (key) endWithRecord(history, key, now);
  else turn(history, "gone", history.spans.at(-1).from);
  return history;
}

function add(history, row) {
  const { kind, attempt: n, http_status: status, cause } = row;
  const at = Date.parse(row.at);
  switch (kind) {
    case "overtook": {
      const gone = attemptOf(history, n - 1);
      gone.to ??= at;
      gone.fate ??= "gone";
      Object.assign(attemptOf(history, n), { from: at, isSure: true });
      break;
    }
    case "late_success":
      // Its lease had died before; this is when it came back.
      Object.assign(attemptOf(history, n), { to: at, fate: "late", status });
      break;
    case "late_ignored":
      history.marks.push({ at, what: kind, n });
      break;
    case "voided":
    case "settled":
    case "expired":
      history.marks.push({ at, what: kind, state: row.state, operation: row.operation });
      if (kind === "voided" && history.attempts.length === 0) history.spans[0].state = "voided";
      break;
    default: {
      const fate = kind === "completed" ? (status < 400 ? "answered" : "refused") : kind;
      Object.assign(attemptOf(history, n), { to: at, fate, status, cause });
    }
  }
  if (row.state) turn(history, row.state, at);
  else if (kind === "expired" || kind === "elsewhere") turn(history, "gone", at);
}

/** Returns an attempt by its number. Attempts without a row in the journal are added. */
function attemptOf({ attempts, spans }, n) {
  while (attempts.length < n) {
    const before = attempts.at(-1);
    attempts.push({ n: attempts.length + 1, from: before?.to ?? spans[0].from, isSure: !before });
  }
  return attempts[n - 1];
}

function turn({ spans }, state, at) {
  const last = spans.at(-1);
  if (last.state === state) return;
  last.to = Math.max(at, last.from);
  spans.push({ state, from: last.to });
}

/** Adds what only the record shows. */
function endWithRecord(history, key, now) {
  const changed = Date.parse(key.changed_at);
  if (key.attempts > 0) attemptOf(history, key.attempts);
  const last = history.attempts.at(-1);
  if (key.state === "in_progress") {
    const until = key.lease_until ? Date.parse(key.lease_until) : undefined;
    last.fate = "running";
    history.lease = until && { from: changed, to: Math.max(until, now) };
  } else if (last && last.to === undefined) {
    // A lease that expired leaves no row until the next call.
    const died = key.cause === "lease_died" ? Date.parse(key.lease_until ?? key.changed_at) : changed;
    Object.assign(last, { to: died, fate: key.cause === "lease_died" ? "gone" : "unnoted" });
  }
  for (const attempt of history.attempts.slice(0, -1)) {
    attempt.to ??= attempt.from;
    attempt.fate ??= "unnoted";
  }
  const current = history.spans.at(-1);
  if (current.state !== key.state) turn(history, key.state, key.state === "in_progress" ? (last?.from ?? changed) : (last?.to ?? changed));
}
