// States and what happened, in words.

const STATES = {
  in_progress: "in flight",
  completed: "completed",
  unknown: "unknown",
  released: "free again",
  voided: "voided",
  expired: "expired",
};
export const stateWord = (state) => STATES[state] ?? "gone";

const THINGS = { key: "key", number: "business key", event: "event" };
export const thingWord = (of) => THINGS[of] ?? of;

/** The first digits tell hashes apart. */
export const shortHash = (hash) => `${hash.slice(0, 8)}…`;

/** The name of a record, as a sentence begins with it, without and with its hash. */
export const titleOf = (of) => thingWord(of)[0].toUpperCase() + thingWord(of).slice(1);
export const nameOf = ({ of, key }) => `${titleOf(of)} ${shortHash(key)}`;

/** A length of time: "12 ms", "0.4 s", "12 s", "3 min", "5 h", "30 days". */
export function span(ms) {
  if (ms < 95) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 172_800_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`;
}

/** How long ago, coarse enough not to flicker. */
export const ago = (ms) => (ms < 10_000 ? "just now" : `${span(ms)} ago`);

/** A count in at most four characters: "940", "12K". */
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
export const many = (count) => (count < 10_000 ? String(count) : COMPACT.format(count));

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The local time of day, with the date if it is not today. */
export function clock(at, now = Date.now()) {
  const day = DAY.format(at);
  return day === DAY.format(now) ? CLOCK.format(at) : `${day}, ${CLOCK.format(at)}`;
}

/** The same without seconds. */
export function date(at, now = Date.now()) {
  const minute = CLOCK.format(at).slice(0, 5);
  return DAY.format(at) === DAY.format(now) ? minute : `${DAY.format(at)}, ${minute}`;
}

const WHYS = {
  status: (status) => `ended in ${status}`,
  timed_out: () => "got no response in time",
  connection_lost: () => "lost its connection to the origin",
  not_stored: () => "got a response that could not be stored",
  earlier_attempt: (status) => `ended in ${status ?? "nothing"}, which says nothing of the attempt before it,`,
  lease_died: () => "let its lease expire",
  not_dispatched: () => "never left for the origin",
};
const why = ({ cause, http_status: status }) => (WHYS[cause] ?? WHYS.status)(status ?? "an error");

const CAUSES = {
  timed_out: "no response in time",
  connection_lost: "connection lost",
  not_stored: "response not stored",
  lease_died: "lease died",
  not_dispatched: "never sent",
  settled: "settled",
};

/** The same in a list. */
export function causeWord({ cause, http_status: status }) {
  return CAUSES[cause] ?? (status ? `ended in ${status}` : undefined);
}

/** Why a listed key is unknown or released. */
export function causeWords(key) {
  if (key.cause === "settled") return "an operator saw that nothing was executed";
  return key.cause ? `its last attempt ${why(key).replace(/,$/, "")}` : undefined;
}

/** What a row of the journal says. */
export function sentence(row) {
  const { kind, operation, attempt: n, http_status: status } = row;
  switch (kind) {
    case "overtook":
      return `Attempt ${n} took over: attempt ${n - 1} let its lease expire, and may have been executed.`;
    case "completed":
      return `Attempt ${n} got the response ${status}. Retries get it from now on.`;
    case "unknown":
      return `Attempt ${n} ${why(row)} and may have been executed. The outcome is unknown.`;
    case "released":
      return `Attempt ${n} ${why(row)} and was not executed. The key is free again.`;
    case "elsewhere":
      return `The origin redirected attempt ${n} (${status}). No record is left.`;
    case "late_success":
      return `Attempt ${n} had lost its lease, but brought a success later: ${status}. Retries get it from now on.`;
    case "late_ignored":
      return `The response of attempt ${n} (${status}) came too late to count.`;
    case "voided":
      return "Its caller voided the key. Nothing was executed, and nothing will be.";
    case "settled":
      return settled(row, operation === "look_up" ? "A look-up at the origin found" : "An operator said");
    case "expired":
      return row.state
        ? "The outcome was not resolved in time. The key is refused from now on."
        : "The outcome was not resolved in time. The record was removed.";
    default:
      return `${operation}: ${kind}.`;
  }
}

function settled({ state, http_status: status }, who) {
  return state === "completed"
    ? `${who} that it was executed, with the response ${status}. Retries get it from now on.`
    : `${who} that it was never executed. The key is free again.`;
}

/** What the next request with a key will get. */
export function outlook({ state, of, expires_at: end, lease_until: lease }, now = Date.now()) {
  const until = end ? ` until ${date(Date.parse(end), now)}` : " for good";
  switch (state) {
    case "in_progress":
      return `An attempt is under way${lease ? `; its lease ends at ${clock(Date.parse(lease), now)} unless it is renewed` : ""}. A caller that sends the same request must retry later.`;
    case "unknown":
      return `It waits for a response, or for a decision,${until}.`;
    case "released":
      return `The next request with this ${thingWord(of)} is executed.`;
    case "completed":
      return `A caller that sends the same request gets this response again${until}.`;
    case "voided":
      return `Every request with this key is refused${until}.`;
    case "expired":
      return `It is refused${until}.`;
    default:
      return "There is no record any more: the next request with it would be a new one.";
  }
}
