// What the gateway decided while this page was open, from the counters of the isolates that handled its requests.
//
// An isolate counts from its own start and does not know the others. So the page takes only what an isolate has counted
// since the page first saw it.

/** The series of the chart from the bottom up, each with the outcomes that it sums. */
export const DECISIONS = {
  executed: { words: "executed", of: ["executed"] },
  replayed: { words: "replayed", of: ["replayed"] },
  waiting: { words: "must retry", of: ["in_progress"] },
  held: { words: "held as unknown", of: ["unknown"] },
  refused: { words: "refused", of: ["mismatched", "not_replayable", "voided", "expired", "refused"] },
  failed: { words: "not served", of: ["store_down", "overloaded", "failed"] },
};

/** How long a sample is kept. */
const KEPT = 3_600_000;

export class Counters {
  #isolates = new Map();
  #samples = [];

  /** Adds the current counts of an isolate. */
  add({ id, keyed_writes: counts }, at) {
    const before = this.#isolates.get(id);
    this.#isolates.set(id, counts);
    if (!before) return;
    const grown = Object.entries(counts).map(([outcome, count]) => [outcome, count - (before[outcome] ?? 0)]);
    const values = summed(Object.fromEntries(grown.filter(([, more]) => more > 0)));
    if (Object.keys(values).length > 0) this.#samples.push({ at, values });
    while (this.#samples[0]?.at < at - KEPT) this.#samples.shift();
  }

  /** {at, values}, the earliest first. */
  get samples() {
    return this.#samples;
  }

  get isolates() {
    return this.#isolates.size;
  }
}

function summed(outcomes) {
  const values = {};
  for (const [series, { of }] of Object.entries(DECISIONS)) {
    const sum = of.reduce((sum, outcome) => sum + (outcomes[outcome] ?? 0), 0);
    if (sum > 0) values[series] = sum;
  }
  return values;
}
