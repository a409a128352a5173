// The place of a time in the picture. Pauses are drawn short, however long they were.

/** In milliseconds of the picture: the least that is shown, the most, and what a pause is drawn as. */
const LEAST = 7000;
const MOST = 45_000;
const PAUSE = 900;
/** The margin around a single event, so that its mark has room. */
const BEFORE = 250;
const AFTER = 450;

/**
 * `spans`: [from, to] of all that is shown. `x(at)` is from 0 to 1, and below 0 for what is too long ago; `pauses` are
 * the middles of what is drawn short; `busy` is the rest.
 */
export function scaleOf(spans) {
  const busy = [];
  for (const [from, to] of spans.map(([from, to]) => [from - BEFORE, to + AFTER]).sort((a, b) => a[0] - b[0])) {
    const last = busy.at(-1);
    if (last && from - last.to < PAUSE * 2) last.to = Math.max(last.to, to);
    else busy.push({ from, to });
  }
  let drawn = 0;
  for (const [index, one] of busy.entries()) {
    if (index > 0) drawn += PAUSE;
    one.start = drawn;
    drawn += one.to - one.from;
  }
  const length = Math.min(Math.max(drawn, LEAST), MOST);
  const shift = Math.max(0, drawn - MOST);
  const x = (at) => {
    const next = busy.findIndex(({ from }) => from > at);
    const one = busy[next === -1 ? busy.length - 1 : Math.max(0, next - 1)];
    if (!one) return 0;
    const inside = Math.min(Math.max(at, one.from), one.to) - one.from;
    return (one.start + inside - shift) / length;
  };
  const pauses = busy.slice(1).map((one, index) => (x(busy[index].to) + x(one.from)) / 2);
  return { x, pauses, busy };
}
