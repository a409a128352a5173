// The last hour of the journal: the changes of all keys.

export const CHANGES = {
  completed: { words: "completed" },
  unknown: { words: "became unknown" },
  released: { words: "not executed" },
  settled: { words: "settled" },
  ended: { words: "voided or expired" },
};

const HOUR = 3_600_000;
/** Clocks of shards may differ by this much, in milliseconds. */
const SLACK = 10_000;

const SERIES = {
  completed: "completed",
  late_success: "completed",
  unknown: "unknown",
  overtook: "unknown",
  released: "released",
  elsewhere: "released",
  settled: "settled",
  voided: "ended",
  expired: "ended",
};

export class Hour {
  #rows = new Map();
  #isWhole = true;

  /** The time from which the journal must be read. */
  since(now) {
    const latest = Math.max(...[...this.#rows.values()].map(({ at }) => at), now - HOUR);
    return Math.max(now - HOUR, Math.min(latest, now) - SLACK);
  }

  add({ rows, isWhole }, now) {
    this.#isWhole &&= isWhole;
    for (const row of rows) {
      const series = SERIES[row.kind];
      if (!series) continue;
      const { of, request_id: requestId } = row;
      this.#rows.set(row.id, { at: Date.parse(row.at), series, of, requestId, isCompleted: row.state === "completed" });
    }
    for (const [id, { at }] of this.#rows) if (at < now - HOUR) this.#rows.delete(id);
  }

  /** A request changes its key and its business key alike. That counts once. */
  get #changes() {
    const rows = [...this.#rows.values()];
    const change = ({ series, requestId }) => `${series} ${requestId}`;
    const ofKeys = new Set(rows.filter(({ of }) => of !== "number").map(change));
    return rows.filter((row) => row.of !== "number" || !ofKeys.has(change(row)));
  }

  /** {at, values}, in no order. */
  get samples() {
    return this.#changes.map(({ at, series }) => ({ at, values: { [series]: 1 } }));
  }

  /** How many keys were completed. */
  get completed() {
    return this.#changes.filter(({ isCompleted }) => isCompleted).length;
  }

  /** Whether all rows could be read. */
  get isWhole() {
    return this.#isWhole;
  }
}
