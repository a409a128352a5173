// The picture: a row for what the buyer did, one for each attempt, one for charges, one for the event, one for each
// key.

import { marksOf } from "./marks.js";
import { isMoving, isWaiting } from "./model.js";
import { scaleOf } from "./scale.js";
import { line, shape, text } from "../shared/svg.js";
import { stateWord, times } from "./words.js";

/** The first row has room for names above its marks. */
const HEAD = 50;
const ROW = 28;
const BAR = 14;
/** Below the rows: the times. */
const FOOT = 22;
/** How many attempts and keys are shown, the latest ones. The list in words has all of them. */
const ATTEMPTS = 7;
const KEYS = 2;
/** Room is kept for this many attempts, so that the page does not jump. */
const FEWEST = 3;
/** The room for the label beside the last bar. */
const MARGIN = 76;

export function draw(model, now, width, tab) {
  const plan = planOf(model, now, width);
  const { height, gutter } = plan;
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  const clip = shape("clipPath", { id: "plot" });
  clip.append(shape("rect", { x: gutter - 1, y: 0, width: width - gutter + 1, height }));
  const plot = shape("g", { "clip-path": "url(#plot)" });
  plot.append(...ticks(plan), ...marksOf(model, plan), ...waits(model, plan), ...bars(plan), ...coins(model, plan));
  plot.append(...letters(model, plan), ...bands(plan));
  if (isMoving(model, now)) plot.append(line("now", `M${plan.x(now)} 4V${height - FOOT}`));
  if (model.attempts.length === 0) plot.append(invitation(plan));
  svg.append(clip, ...rails(plan), plot, ...labels(plan, tab));
  return svg;
}

/** Where everything goes. */
function planOf(model, now, width) {
  const attempts = model.attempts.slice(-ATTEMPTS);
  const keys = model.keys.slice(-KEYS);
  const rows = Math.max(attempts.length + (isWaiting(model, now) ? 1 : 0), FEWEST);
  const isNarrow = width < 460;
  const gutter = isNarrow ? 78 : 112;
  const scale = scaleOf(spansOf(model, attempts, now));
  const row = (index) => HEAD + ROW * index;
  return {
    now,
    width,
    gutter,
    isNarrow,
    attempts,
    keys,
    rows,
    scale,
    /** How many attempts are left out. */
    hidden: model.attempts.length - attempts.length,
    tabs: model.tabs,
    /** The upper edge of a row: those of attempts, then the one of charges, that of the event, those of keys. */
    row,
    height: row(rows + 2 + Math.max(keys.length, 1)) + FOOT,
    x: (at) => gutter + scale.x(at) * (width - gutter - MARGIN),
  };
}

/** The times that need a place in the picture. */
function spansOf(model, attempts, now) {
  const earliest = attempts[0]?.from ?? 0;
  const point = ({ at }) => [at, at];
  const states = model.keys.flatMap(({ spans }) => spans.map(({ from }) => [from, from]));
  return [
    ...attempts.map(({ from, to }) => [from, to ?? now]),
    ...model.waits.map(({ from, to }) => [from, to]),
    ...model.marks.map(point),
    ...model.charges.map(point),
    ...model.paid.map(point),
    ...states,
  ].filter(([, to]) => to >= earliest - 2000);
}

function labels({ attempts, keys, rows, row, tabs, isNarrow }, tab) {
  const several = tabs.size > 1;
  const label = (y, words) => text(0, y + ROW / 2 + 4, words, "label");
  const attemptOf = ({ n, tab, key }) => {
    const name = `${isNarrow ? "" : "attempt "}${n}${several ? ` ${tabs.get(tab)}` : ""}`;
    return keys.length > 1 ? `${name} · ${key.slice(-4)}` : name;
  };
  return [
    label(21, several ? `${isNarrow ? "" : "you, in "}tab ${tabs.get(tab)}` : "you"),
    ...attempts.map((attempt, index) => label(row(index), attemptOf(attempt))),
    label(row(rows), "charged"),
    label(row(rows + 1), "event"),
    ...(keys.length > 0 ? keys.map(({ key }) => `key ${key.slice(-4)}`) : ["key"]).map((words, index) =>
      label(row(rows + 2 + index), words),
    ),
  ];
}

/** Before the first attempt, its rows have room for the invitation, without lines. */
function rails({ attempts, rows, row, gutter, width }) {
  const all = Array.from({ length: rows + 2 }, (_, index) => line("rail", `M${gutter} ${row(index) + ROW / 2}H${width}`));
  return attempts.length === 0 ? all.slice(rows) : all;
}

/** Times since the first event, in every stretch in which something happened, and breaks between them. */
function ticks({ scale, x, gutter, width, height }) {
  const { busy, pauses } = scale;
  const breaks = pauses.map((pause) => {
    const middle = gutter + pause * (width - gutter - MARGIN);
    return line("pause", `M${middle - 3} 4V${height - FOOT}m6 0V4`);
  });
  if (busy.length === 0) return breaks;
  const zero = busy[0].from;
  const last = busy.at(-1);
  const perSecond = ((x(last.to) - x(last.from)) / (last.to - last.from)) * 1000;
  const step = 1000 * ([1, 2, 5, 10, 20].find((seconds) => seconds * perSecond >= 44) ?? 60);
  const marks = [];
  let free = -Infinity;
  for (const { from, to } of busy) {
    for (let at = zero + Math.ceil((from - zero) / step) * step; at < to; at += step) {
      if (at === zero || x(at) < free) continue;
      free = x(at) + 34;
      marks.push(line("grid", `M${x(at)} 4V${height - FOOT}`));
      marks.push(text(x(at), height - 8, clock(at - zero), "tick middle"));
    }
  }
  return [...breaks, ...marks];
}

function clock(ms) {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** From the end of an attempt down to the row of the next one, and there until it goes. */
function waits(model, { hidden, rows, row, x }) {
  return model.waits.flatMap(({ from, to, row: place }) => {
    const index = (place ?? model.attempts.length) - hidden;
    if (index < 0) return [];
    const y = row(Math.min(index, rows - 1)) + ROW / 2;
    const drawn = [line("wait", `M${x(from)} ${y}H${x(to)}`)];
    if (index > 0) drawn.push(line("wait", `M${x(from)} ${y - ROW + BAR / 2}V${y}`));
    if (x(to) - x(from) > 44) drawn.push(text((x(from) + x(to)) / 2, y - 5, times(to - from), "note middle"));
    return drawn;
  });
}

function bars({ attempts, now, row, x }) {
  return attempts.flatMap((attempt, index) => {
    const { from, to = now, fate } = attempt;
    const width = Math.max(4, x(to) - x(from));
    const y = row(index);
    return [
      shape("rect", { class: `bar ${fate}`, x: x(from), y: y + (ROW - BAR) / 2, width, height: BAR, rx: 2 }),
      text(x(from) + width + 6, y + ROW / 2 + 4, endWord(attempt), `end ${fate}`),
    ];
  });
}

function endWord({ fate, status, to }) {
  if (to === undefined) return "…";
  if (fate === "lost") return "no response";
  if (fate === "gone") return "page gone";
  return fate === "replayed" ? `${status} again` : String(status);
}

function coins(model, { rows, row, x }) {
  const y = row(rows) + ROW / 2;
  return model.charges.flatMap(({ at, count }) => [
    shape("circle", { class: "coin", cx: x(at), cy: y, r: 9 }),
    text(x(at), y + 4, count, "coined middle"),
  ]);
}

/** The event: a letter from the shop. */
function letters(model, { rows, row, x }) {
  const y = row(rows + 1) + ROW / 2;
  return model.paid.flatMap(({ at }) => [
    shape("rect", { class: "letter", x: x(at) - 10, y: y - 7, width: 20, height: 14, rx: 1.5 }),
    line("letter-flap", `M${x(at) - 9} ${y - 5}l9 6 9-6`),
    text(x(at) + 16, y + 4, "paid", "end answered"),
  ]);
}

/** The states of each key. */
function bands({ keys, rows, row, x, now, width }) {
  return keys.flatMap(({ spans }, index) => {
    const y = row(rows + 2 + index) + 4;
    return spans.flatMap(({ state, from, to }, place) => {
      const word = stateWord(state);
      const room = word.length * 7 + 14;
      const start = x(from);
      // The last state goes on; it is drawn as far as its word takes.
      const stop = to === undefined ? Math.max(x(now), start + room) : x(to);
      const size = Math.max(1, Math.min(stop, width) - start);
      const band = shape("rect", { class: `span ${state}`, x: start, y, width: size, height: ROW - 8 });
      if (size >= room - 6) return [band, text(start + 7, y + 14, word, "state")];
      const isLast = place === spans.length - 1;
      return isLast ? [band, text(start + size + 5, y + 14, word, "state")] : [band];
    });
  });
}

function invitation({ gutter, width, row }) {
  return text(gutter + (width - gutter) / 2, row(1) + ROW / 2 + 5, "Press Pay, and watch.", "invitation middle");
}
