// Where a moment stands. Times in which nothing happened are drawn short, since a key's life is seconds of work and
// hours of waiting.

/** What a pause is drawn as, at least and where there is room, and what is left around a moment, in pixels. */
const PAUSE = 30;
const WIDE_PAUSE = 130;
const AROUND = 10;
/** Nothing shorter is a pause, in milliseconds. */
const LEAST_PAUSE = 400;
/** So much work fills the picture; less of it leaves room. */
const FULL = 600;

/**
 * `spans`: [from, to] of all that is shown, `width`: the room for it. Gives `x(at)` in pixels; `pauses`, the middles of
 * what is drawn short, with its length; and `busy`, the rest.
 */
export function scaleOf(spans, width) {
  const sorted = spans.toSorted((one, other) => one[0] - other[0]);
  const busy = joined(sorted, pauseOf(sorted));
  const worked = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const breaks = busy.length - 1;
  const room = Math.max(0, width - breaks * PAUSE - busy.length * 2 * AROUND);
  const pixels = room / Math.max(worked, FULL);
  // What work leaves is for pauses: what stands beside a bar then has its place.
  const left = breaks > 0 ? (room - worked * pixels) / breaks : 0;
  const pause = Math.min(PAUSE + left, WIDE_PAUSE);
  let drawn = 0;
  for (const one of busy) {
    one.start = drawn + AROUND;
    one.stop = one.start + (one.to - one.from) * pixels;
    drawn = one.stop + AROUND + pause;
  }
  const x = (at) => {
    const one = busy.findLast(({ from }) => from <= at) ?? busy[0];
    const beyond = Math.min(Math.max(at, one.from), one.to) - one.from;
    return one.start + beyond * pixels;
  };
  const pauses = busy.slice(1).map((next, index) => {
    const { to, stop } = busy[index];
    return { x: (stop + next.start) / 2, length: next.from - to };
  });
  return { x, pauses, busy };
}

/** Longer than all the work is a pause. */
function pauseOf(spans) {
  const work = joined(spans, 0).reduce((sum, { from, to }) => sum + to - from, 0);
  return Math.max(work * 1.2, LEAST_PAUSE);
}

function joined(spans, pause) {
  const joint = [];
  for (const [from, to] of spans) {
    const last = joint.at(-1);
    if (last && from - last.to <= pause) last.to = Math.max(last.to, to);
    else joint.push({ from, to });
  }
  return joint;
}
