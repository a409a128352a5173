// Counts of what a run did, so that an idle run is noticed.

export class Tally {
  #counts = new Map();

  note(what, count = 1) {
    this.#counts.set(what, this.of(what) + count);
  }
  of(what) {
    return this.#counts.get(what) ?? 0;
  }
  /** Adds the numbers of another run. */
  add(other) {
    for (const [what, count] of other.#counts) this.note(what, count);
  }
  /** Those whose names begin so, as lines. */
  lines(names) {
    return names.filter((name) => this.#counts.has(name)).map((name) => `  ${String(this.of(name)).padStart(7)}  ${name}`);
  }
  /** All of them that begin with a word, without it. */
  under(word) {
    const found = [...this.#counts].filter(([name]) => name.startsWith(`${word}: `));
    return Object.fromEntries(found.map(([name, count]) => [name.slice(word.length + 2), count]));
  }
}
