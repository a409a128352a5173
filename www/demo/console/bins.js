// Samples put into bins of equal length, for bars.

/** Bins end at `now`, rounded up so that bars keep their places from one look to the next. */
export function binsOf(samples, { now, length, count }) {
  const end = Math.ceil((now + 1) / length) * length;
  const begin = end - length * count;
  const bins = Array.from({ length: count }, (_, index) => ({ from: begin + index * length, values: {}, sum: 0 }));
  for (const { at, values } of samples) {
    const bin = bins[Math.min(Math.floor((at - begin) / length), count - 1)];
    if (!bin) continue;
    for (const [series, value] of Object.entries(values)) {
      bin.values[series] = (bin.values[series] ?? 0) + value;
      bin.sum += value;
    }
  }
  return bins;
}

/** The sum of each series. */
export function totalsOf(bins) {
  const totals = {};
  for (const { values } of bins) {
    for (const [series, value] of Object.entries(values)) totals[series] = (totals[series] ?? 0) + value;
  }
  return totals;
}

/** The least round number that is not smaller: 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, … */
export function roundUp(number) {
  const power = 10 ** Math.floor(Math.log10(Math.max(number, 1)));
  return [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((round) => round >= number);
}
