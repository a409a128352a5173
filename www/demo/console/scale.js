// The place of a time in the picture. Pauses are drawn short, because a key's life is seconds of work and hours of
// waiting.

/** The least and the largest width of a pause, and the margin around a busy time, in pixels. */
const PAUSE = 30;
const WIDE_PAUSE = 130;
const AROUND = 10;
/** The shortest pause, in milliseconds. */
const LEAST_PAUSE = 400;
/** The work that fills the picture, in milliseconds. Less work leaves room. */
const FULL = 600;

/**
 * `spans`: [from, to] of everything that is shown; `width`: the room for it. Returns `x(at)` in pixels, the `pauses`,
 * each with its middle and its length, and the `busy` times.
 */
export function scaleOf(spans, width) {
  const sorted = spans.toSorted((one, other) => one[0] - other[0]);
  const busy = joined(sorted, pauseOf(sorted));
  const worked = busy.reduce((sum, { from, to }) => sum + to - from, 0);
  const breaks = busy.length - 1;
  const room = Math.max(0, width - breaks * PAUSE - busy.length * 2 * AROUND);
  const pixels = room / Math.max(worked, FULL);
  // Pauses get the room that the work leaves, so that the labels beside the bars fit.
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
