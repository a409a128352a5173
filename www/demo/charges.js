// How often the shop really charged: asked of the sandbox, for every key that the basket has had.

/** In milliseconds: while something is under way, and else. */
const SOON = 400;
const LATER = 4000;

export class Charges {
  #journal;
  #apiKey;
  #counts = new Map();
  #timer;
  #due = Infinity;
  #changed;

  /** `changed(sum)` is called when there are more than before. */
  constructor(journal, apiKey, changed) {
    this.#journal = journal;
    this.#apiKey = apiKey;
    this.#changed = changed;
    journal.addEventListener("change", () => this.#plan(SOON));
    document.addEventListener("visibilitychange", () => this.#plan(SOON));
    this.#plan(0);
  }

  /** A new basket: nothing was charged for it. */
  restart() {
    this.#counts.clear();
    this.#changed(0);
  }

  /** Asks after this long, if it is not to ask earlier anyway. */
  #plan(after) {
    const due = Date.now() + after;
    if (document.hidden || due >= this.#due) return;
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.#ask(), after);
  }

  async #ask() {
    // Until it is known, nothing is due.
    this.#due = 0;
    for (const key of this.#keys()) await this.#count(key);
    this.#due = Infinity;
    const last = this.#journal.events.at(-1);
    this.#plan(last && Date.now() - last.at < 8000 ? SOON : LATER);
  }

  #keys() {
    return new Set(this.#journal.events.flatMap(({ what, key }) => (what === "sent" && key ? [key] : [])));
  }

  async #count(key) {
    try {
      const headers = { "X-Api-Key": this.#apiKey };
      const answer = await fetch(`/v1/sandbox/executions/${encodeURIComponent(key)}`, { headers });
      const { count } = (await answer.json()).data;
      if (count === (this.#counts.get(key) ?? 0) || !this.#keys().has(key)) return;
      this.#counts.set(key, count);
      this.#changed([...this.#counts.values()].reduce((sum, one) => sum + one, 0));
      const known = this.#journal.events.filter((event) => event.what === "charged" && event.key === key);
      if (!known.some((event) => event.count >= count)) this.#journal.add("charged", { key, count });
    } catch {
      // The next time tells.
    }
  }
}
