// States and what happened, in words.

const STATES = {
  in_progress: "in flight",
  completed: "completed",
  unknown: "unknown",
  released: "free again",
  voided: "given up",
  expired: "expired",
};
export const stateWord = (state) => STATES[state] ?? "gone";

const THINGS = { key: "key", number: "business number", event: "event" };
export const thingWord = (of) => THINGS[of] ?? of;

/** The first digits tell hashes apart. */
export const shortHash = (hash) => `${hash.slice(0, 8)}…`;

/** What it is, at the start of a sentence, and which one. */
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

/** A count that has its place whatever it is: "940", "12K". */
const COMPACT = new Intl.NumberFormat("en", { notation: "compact" });
export const many = (count) => (count < 10_000 ? String(count) : COMPACT.format(count));

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

/** The time of day here, with the day where it is another one. */
export function clock(at, now = Date.now()) {
  const day = DAY.format(at);
  return day === DAY.format(now) ? CLOCK.format(at) : `${day}, ${CLOCK.format(at)}`;
}

/** The same without seconds, for what is far away. */
export function date(at, now = Date.now()) {
  const minute = CLOCK.format(at).slice(0, 5);
  return DAY.format(at) === DAY.format(now) ? minute : `${DAY.format(at)}, ${minute}`;
}

const WHYS = {
  status: (status) => `ended in ${status}`,
  timed_out: () => "got no answer in time",
  connection_lost: () => "lost its connection to the origin",
  not_stored: () => "got an answer that could not be stored",
  earlier_attempt: (status) => `ended in ${status ?? "nothing"}, which says nothing of the attempt before it,`,
  lease_died: () => "gave no sign of life any more",
  not_dispatched: () => "never left for the origin",
};
const why = ({ cause, http_status: status }) => (WHYS[cause] ?? WHYS.status)(status ?? "an error");

const CAUSES = {
  timed_out: "no answer in time",
  connection_lost: "connection lost",
  not_stored: "answer not stored",
  lease_died: "lease died",
  not_dispatched: "never sent",
  settled: "settled",
};

/** The same in a list. */
export function causeWord({ cause, http_status: status }) {
  return CAUSES[cause] ?? (status ? `ended in ${status}` : undefined);
}

/** Why an outcome is unknown or was let go, for a key that is listed. */
export function causeWords(key) {
  if (key.cause === "settled") return "an operator saw that nothing was executed";
  return key.cause ? `its last attempt ${why(key).replace(/,$/, "")}` : undefined;
}

/** What a row of the journal says. */
export function sentence(row) {
  const { kind, operation, attempt: n, http_status: status } = row;
  switch (kind) {
    case "overtook":
      return `Attempt ${n} took over: attempt ${n - 1} gave no sign of life any more, and may have been executed.`;
    case "completed":
      return `Attempt ${n} was answered ${status}. This is the answer from now on.`;
    case "unknown":
      return `Attempt ${n} ${why(row)} and may have been executed. The outcome is unknown.`;
    case "released":
      return `Attempt ${n} ${why(row)} and was not executed. The key is free again.`;
    case "elsewhere":
      return `Attempt ${n} was told to repeat its request elsewhere (${status}). No record is left.`;
    case "late_success":
      return `Attempt ${n}, overtaken before, brought a success after all: ${status}. This is the answer from now on.`;
    case "late_ignored":
      return `An answer of attempt ${n} (${status}) came too late to count.`;
    case "voided":
      return "Its caller gave the key up. Nothing was executed, and nothing will be.";
    case "settled":
      return settled(row, operation === "look_up" ? "A look-up at the origin found" : "An operator said");
    case "expired":
      return row.state
        ? "Nobody found out in time what happened. The key is refused from now on."
        : "Nobody found out in time what happened. It was forgotten.";
    default:
      return `${operation}: ${kind}.`;
  }
}

function settled({ state, http_status: status }, who) {
  return state === "completed"
    ? `${who} that it was executed, with the answer ${status}. This is the answer from now on.`
    : `${who} that it was never executed. The key is free again.`;
}

/** What becomes of a key as it stands. */
export function outlook({ state, of, expires_at: end, lease_until: lease }, now = Date.now()) {
  const until = end ? ` until ${date(Date.parse(end), now)}` : " for good";
  switch (state) {
    case "in_progress":
      return `An attempt is under way${lease ? `; its lease ends at ${clock(Date.parse(lease), now)} unless it is renewed` : ""}. Whoever sends the same is told to wait.`;
    case "unknown":
      return `It waits for an answer, or for a decision,${until}.`;
    case "released":
      return `The next request with this ${thingWord(of)} is executed.`;
    case "completed":
      return `Whoever sends the same gets this answer again${until}.`;
    case "voided":
      return `Whatever comes with this key is refused${until}.`;
    case "expired":
      return `It is refused${until}.`;
    default:
      return "There is no record any more: the next request with it would be a new one.";
  }
}
