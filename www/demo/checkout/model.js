// What the picture shows, made of the journal's events. No DOM here.

/** A tab that notes nothing for this long while it sends counts as gone. In milliseconds. */
const GONE = 120_000;

/**
 * - `attempts`: {key, n, tab, from, to, fate, status}; `to` is undefined while it is under way
 * - `waits`: {tab, from, to, row}, the attempt in `row` being the one that was waited for
 * - `marks`: what somebody did, {at, tab, what}
 * - `keys`: {key, spans}, each span {state, from, to}
 * - `charges`: {at, count}
 * - `paid`: {at}, when the event arrived that says so
 * - `tabs`: their names by their ids, in the order in which they came
 */
export function modelOf(events, now = Date.now()) {
  const model = { attempts: [], waits: [], marks: [], keys: [], charges: [], paid: [], tabs: new Map() };
  for (const event of events) {
    const { at, tab, what } = event;
    if (!model.tabs.has(tab)) model.tabs.set(tab, letter(model.tabs.size));
    if (what === "sent") {
      const n = 1 + model.attempts.filter(({ key }) => key === event.key).length;
      endWaits(model, tab, at, model.attempts.length);
      model.attempts.push({ id: event.id, key: event.key, n, tab, from: at, fate: "running" });
    } else if (what === "ended") {
      const attempt = model.attempts.find(({ id }) => id === event.id);
      if (attempt) Object.assign(attempt, { to: at, fate: event.fate, status: event.status });
    } else if (what === "wait") {
      model.waits.push({ tab, from: at, to: at + event.after });
    } else if (what === "state") {
      spanOf(model, event.key).push({ state: event.state, from: at });
    } else if (what === "charged") {
      model.charges.push({ at, count: event.count });
    } else if (what === "event") {
      // Two tabs may have found it at once.
      if (model.paid.length === 0) model.paid.push({ at });
    } else if (what === "left" || what === "opened") {
      leave(model, tab, at);
      if (what === "opened") model.marks.push({ at, tab, what });
    } else {
      if (what === "settled") endWaits(model, tab, at);
      // The package may use a new key at once, so only the gateway's response shows that the old key was voided.
      if (event.state === "voided") spanOf(model, event.key).push({ state: "voided", from: at });
      model.marks.push({ at, tab, what, about: event.about });
    }
  }
  // The state of a key ends when the next key begins.
  for (const [index, { spans }] of model.keys.entries()) {
    const next = model.keys[index + 1]?.spans[0];
    if (next) spans.at(-1).to = Math.max(next.from, spans.at(-1).from);
  }
  for (const attempt of model.attempts) {
    const { from, to } = attempt;
    if (to === undefined && now - from > GONE) Object.assign(attempt, { to: from + GONE, fate: "gone" });
  }
  return model;
}

/** Whether something moves without a new event. */
export function isMoving(model, now = Date.now()) {
  return model.attempts.some(({ to }) => to === undefined) || isWaiting(model, now);
}

/** Whether an attempt is to follow. */
export const isWaiting = (model, now) => model.waits.some(({ to, row }) => row === undefined && to > now);

/** The name of a tab by its place. */
export const letter = (index) => String.fromCharCode(65 + Math.min(index, 25));

/** A tab waits no longer; `row` is the attempt that it waited for. */
function endWaits(model, tab, at, row) {
  for (const wait of model.waits) {
    if (wait.tab === tab && wait.row === undefined) Object.assign(wait, { to: Math.min(wait.to, at), row });
  }
}

/** The states that a key went through; a new one ends the one before. */
function spanOf(model, key) {
  let known = model.keys.find((one) => one.key === key);
  if (!known) model.keys.push((known = { key, spans: [] }));
  return {
    push(span) {
      const last = known.spans.at(-1);
      if (last?.state === span.state) return;
      if (last) last.to = span.from;
      known.spans.push(span);
    },
  };
}

/** The page goes: nobody waits for its attempts any more. */
function leave(model, tab, at) {
  for (const attempt of model.attempts) {
    if (attempt.tab === tab && attempt.to === undefined) Object.assign(attempt, { to: at, fate: "gone" });
  }
  endWaits(model, tab, at);
}
