// Counts the events of a run, so that a run in which nothing happens is noticed.

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
  /** Returns these counts as lines. */
  lines(names) {
    return names.filter((name) => this.#counts.has(name)).map((name) => `  ${String(this.of(name)).padStart(7)}  ${name}`);
  }
  /** Returns the counts whose names begin with a word, without that word. */
  under(word) {
    const found = [...this.#counts].filter(([name]) => name.startsWith(`${word}: `));
    return Object.fromEntries(found.map(([name, count]) => [name.slice(word.length + 2), count]));
  }
}
