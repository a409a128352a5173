// The picture of a life: a row for decisions, one for each attempt, one for the key's states, up to its expiry.

import { line, shape, text } from "../shared/svg.js";
import { scaleOf } from "./scale.js";
import { date, span, stateWord } from "./words.js";

/** With room for decisions, where there are any. */
const HEAD = 34;
const LOW_HEAD = 12;
const ROW = 28;
const BAR = 14;
const FOOT = 24;
/** How many attempts are shown. The list in words has all of them. */
const MOST = 8;

export function draw(history, now, width) {
  const plan = planOf(history, now, width);
  const { height } = plan;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  svg.append(
    ...rails(plan),
    ...band(history, plan),
    ...times(plan),
    ...leaseOf(history, plan),
    ...bars(plan),
    ...marks(history, plan),
    ...labels(plan),
  );
  return svg;
}

function planOf(history, now, width) {
  const attempts = history.attempts.slice(-MOST);
  const rows = attempts.length;
  const head = history.marks.length > 0 || rows < history.attempts.length ? HEAD : LOW_HEAD;
  const isNarrow = width < 460;
  const gutter = isNarrow ? 34 : 92;
  /** The room on the right, for the time after now. */
  const future = isNarrow ? 92 : 150;
  const scale = scaleOf(timesOf(history, attempts, now), width - gutter - future);
  const row = (index) => head + ROW * index;
  return {
    now,
    width,
    head,
    gutter,
    isNarrow,
    attempts,
    rows,
    row,
    scale,
    hidden: history.attempts.length - attempts.length,
    height: row(rows + 1) + FOOT,
    x: (at) => gutter + scale.x(at),
  };
}

/** The times that need a place in the picture. */
function timesOf({ spans, marks, lease, attempts: all }, attempts, now) {
  const earliest = attempts.length < all.length ? attempts[0].from : -Infinity;
  return [
    ...attempts.map(({ from, to, isSure }) => [isSure ? from : (to ?? from), to ?? Math.max(now, from)]),
    ...spans.map(({ from }) => [from, from]),
    ...marks.map(({ at }) => [at, at]),
    ...(lease ? [[lease.from, Math.max(lease.to, now)]] : []),
  ].filter(([, to]) => to >= earliest);
}

function labels({ attempts, rows, row, isNarrow }) {
  const label = (y, words) => text(0, y + ROW / 2 + 4, words, "label");
  return [
    ...attempts.map(({ n }, index) => label(row(index), isNarrow ? String(n) : `attempt ${n}`)),
    label(row(rows), "key"),
  ];
}

const rails = ({ rows, row, gutter, width }) =>
  Array.from({ length: rows }, (_, index) => line("rail", `M${gutter} ${row(index) + ROW / 2}H${width}`));

/** The start of each busy time, counted from the first one, and the breaks between them. */
function times({ scale, gutter, height, head, hidden, row, rows }) {
  const { busy, pauses } = scale;
  const y = height - 6;
  const zero = busy[0].from;
  let free = -Infinity;
  const ticks = busy.flatMap(({ from, start }) => {
    const x = gutter + start;
    if (x < free) return [];
    const words = from === zero ? date(from) : `+${span(from - zero)}`;
    free = x + words.length * 6.5 + 10;
    return [line("grid", `M${x} ${head - 4}V${height - FOOT}`), text(x, y, words, "tick")];
  });
  const breaks = pauses.map(({ x }) => line("pause", `M${gutter + x - 5} ${row(rows) + 28}l4-28m6 0l-4 28`));
  const more = hidden > 0 ? [text(gutter, row(0) - 4, `${hidden} earlier`, "note")] : [];
  return [...ticks, ...breaks, ...more];
}

function bars({ attempts, now, row, x }) {
  return attempts.flatMap(({ from, to = now, fate, status, cause, isSure }, index) => {
    const y = row(index) + ROW / 2;
    const stop = x(to);
    // No row says when a later attempt began, so its bar has an open start.
    const start = isSure ? Math.min(x(from), stop - 4) : stop - 14;
    const opening = isSure ? [] : [line("lead", `M${Math.min(x(from) + 4, start - 22)} ${y}H${start}`)];
    return [
      ...opening,
      shape("rect", { class: `bar ${fate}`, x: start, y: y - BAR / 2, width: stop - start, height: BAR, rx: 2 }),
      text(stop + 6, y + 4, endWords({ fate, status, cause }) + lengthWords(isSure && fate, to - from), `end ${fate}`),
    ];
  });
}

const CAUSES = { timed_out: "no response", connection_lost: "line lost", not_stored: "not stored" };

function endWords({ fate, status, cause }) {
  switch (fate) {
    case "running":
      return "…";
    case "gone":
      return "lease died";
    case "unnoted":
      return "end not noted";
    case "late":
      return `${status}, late`;
    case "unknown":
      return CAUSES[cause] ?? `${status ?? ""} unknown`.trim();
    case "released":
      return cause === "not_dispatched" ? "never sent" : `${status} not executed`;
    case "elsewhere":
      return `${status} elsewhere`;
    default:
      return String(status);
  }
}

const LASTED = ["answered", "refused", "late", "unknown", "released"];
const lengthWords = (fate, ms) => (LASTED.includes(fate) ? `, ${span(ms)}` : "");

/** The lease of the current attempt. */
function leaseOf({ lease }, { attempts, row, x }) {
  if (!lease) return [];
  const y = row(attempts.length - 1) + ROW / 2 + BAR / 2 + 4;
  const [from, to] = [x(lease.from), x(lease.to)];
  return [line("lease", `M${from} ${y - 3}v6m0-3H${to}m0-3v6`), text(to + 6, y + 6, "lease", "note")];
}

/** What the current state means for the next request. */
const MEANINGS = {
  completed: "completed: retries get the same response",
  unknown: "unknown: waits for a decision",
  released: "free again: the next one is executed",
  voided: "voided: every request is refused",
};

/** The states of the key. The current state is drawn up to its end. */
function band({ spans, end }, { rows, row, x, width, now }) {
  const y = row(rows) + 4;
  const size = ROW - 8;
  return spans.flatMap(({ state, from, to }) => {
    const start = x(from);
    const isLast = to === undefined;
    const stop = isLast ? width - 1 : x(to);
    const box = shape("rect", { class: `span ${state}`, x: start, y, width: Math.max(1, stop - start), height: size });
    const until = isLast && end > now ? `to ${date(end, now)}` : "";
    const room = stop - start - 12;
    const [name, meaning] = [stateWord(state), (isLast && MEANINGS[state]) || stateWord(state)];
    const words = roomFor(meaning + until) + 20 < room ? meaning : roomFor(name) < room ? name : "";
    const named = words ? [text(start + 7, y + 14, words, "state")] : [];
    const ends = roomFor(words + until) + 16 < room ? [text(width - 7, y + 14, until, "until")] : [];
    return [box, ...named, ...ends, ...(until ? [line("goes", `M${width - 1} ${y - 3}v${size + 6}`)] : [])];
  });
}

const roomFor = (words) => words.length * 6.2;

const MARKS = {
  voided: () => "voided",
  replayed: ({ count }) => (count === 1 ? "replayed" : `replayed ${count} times`),
  late_ignored: ({ n }) => `late: ${n}`,
  expired: () => "forgotten",
  settled: ({ operation, state }) =>
    `${operation === "look_up" ? "look-up" : "operator"}: ${state === "completed" ? "executed" : "never executed"}`,
};

/** What was decided, at the top. */
function marks(history, { x, height }) {
  let free = 0;
  return history.marks.flatMap((mark) => {
    const at = x(mark.at);
    const words = MARKS[mark.what](mark);
    // Two that are close stand one above the other.
    const y = at < free ? 8 : 22;
    free = at + 14 + words.length * 6.5;
    return [
      line("decided", `M${at} ${y + 4}V${height - FOOT}`),
      line(`mark ${mark.what}`, `M${at} ${y - 7}l5 5-5 5-5-5z`),
      text(at + 9, y + 2, words, "decision"),
    ];
  });
}
