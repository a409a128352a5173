// Events and states in words. The list of them says the same as the picture.

import { money } from "./basket.js";

/** A length of time: "0.4 s", "12 s", "3 min". */
export function times(ms) {
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** The last digits tell keys apart; the first are a time. */
export const shortKey = (key) => `…\u2060${key.slice(-8)}`;

const STATES = {
  idle: "nothing sent",
  prepared: "prepared",
  sending: "sending",
  unknown: "unknown",
  succeeded: "succeeded",
  refused: "refused",
  voided: "voided",
};
export const stateWord = (state) => STATES[state] ?? state;

const MEANINGS = {
  prepared: "it has a key, and nothing was executed",
  sending: "an attempt is under way",
  unknown: "it may have been charged, so the key stays",
  succeeded: "it has its response, for good",
  refused: "it was refused, so the next try gets a new key",
  voided: "nothing was charged, and nothing will be",
};

const QUESTIONS = {
  key: "The gateway was asked for the state of the key",
  void: "The gateway was asked to void the key",
  payments: "The shop was asked for the order's payments",
};

/** The reply to a question. */
function replyOf({ about, status, state, found }) {
  if (status === undefined) return "no response";
  if (state) return `“${state.replaceAll("_", " ")}”`;
  if (about === "payments" && status === 200) return found === 0 ? "none yet, which proves nothing" : `it has ${found}`;
  return status === 404 ? "it knows nothing of it, which proves nothing" : String(status);
}

const ENDS = {
  answered: (n, status) => `Attempt ${n} got its response: ${status}.`,
  replayed: (n, status) => `Attempt ${n} got the first response once more: ${status}. Nothing was done again.`,
  refused: (n, status) => `Attempt ${n} was refused: ${status}.`,
  waiting: (n, status) => `Attempt ${n} must retry later: ${status}.`,
  error: (n, status) => `Attempt ${n} ended in an error: ${status}. It proves nothing.`,
  lost: (n) => `Attempt ${n} got no response. It may have been charged.`,
};

/** One sentence for each event that a person wants to know of. */
export function sentences(events) {
  const attempts = new Map();
  const counts = new Map();
  const isFirst = (event) => event === events.find(({ what, id }) => what === "event" && id === event.id);
  return events.flatMap((event) => {
    // Two tabs may have found it at once.
    if (event.what === "event" && !isFirst(event)) return [];
    if (event.what === "sent") {
      counts.set(event.key, (counts.get(event.key) ?? 0) + 1);
      attempts.set(event.id, counts.get(event.key));
    }
    const words = sentence(event, attempts.get(event.id));
    const kind = event.what === "state" ? event.state : event.what;
    return words ? [{ at: event.at, tab: event.tab, words, kind }] : [];
  });
}

function sentence(event, n) {
  switch (event.what) {
    case "press":
      return `Pay was pressed, for ${money(event.amount)}.`;
    case "swallowed":
      return "Another press was swallowed: the first one is under way.";
    case "sent":
      return `Attempt ${n} left, with key ${shortKey(event.key)}.`;
    case "ended":
      return ENDS[event.fate]?.(n ?? "?", event.status);
    case "wait":
      return `The next attempt goes in ${times(event.after)}.`;
    case "elsewhere":
      return "It is under way somewhere else; this page waits for the response.";
    case "state":
      return `Key ${shortKey(event.key)} is ${stateWord(event.state)}: ${MEANINGS[event.state] ?? ""}.`;
    case "charged":
      return `Charged ${event.count === 1 ? "once" : `${event.count} times`}: the shop's ledger has it.`;
    case "ordered":
      return `The shop has order ${shortKey(event.order)} over ${money(event.amount)}, to be paid.`;
    case "event":
      return `The event ${event.type} arrived: only now the order counts as paid.`;
    case "asked":
      return `${QUESTIONS[event.about]}: ${replyOf(event)}.`;
    case "basket":
      return `The basket was changed, to ${money(event.amount)}.`;
    case "opened":
      return event.again ? "The page was loaded again." : "The page was opened.";
    case "left":
      return "The page went away.";
    case "said":
      return event.words;
    default:
      return undefined;
  }
}
