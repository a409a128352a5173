// How often the shop really charged: the entries of its ledger for every order that the basket has had. The executions
// under a key would count a declined card too, because the failed try is kept.

/** In milliseconds: while something is under way, and else. */
const SOON = 400;
const LATER = 4000;

export class Charges {
  #journal;
  #apiKey;
  #orders;
  #counts = new Map();
  #timer;
  #due = Infinity;
  #changed;

  /** `changed(sum)` is called when there are more than before. */
  constructor({ journal, apiKey, orders, changed }) {
    this.#journal = journal;
    this.#apiKey = apiKey;
    this.#orders = orders;
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
    for (const order of this.#orders.ids) await this.#count(order);
    this.#due = Infinity;
    const last = this.#journal.events.at(-1);
    this.#plan(last && Date.now() - last.at < 8000 ? SOON : LATER);
  }

  async #count(order) {
    try {
      const headers = { "X-Api-Key": this.#apiKey };
      const response = await fetch(`/v1/ledger/entries?order_id=${order}`, { headers });
      const { data: entries } = await response.json();
      const count = entries.filter(({ account, amount }) => account === "cash" && amount > 0).length;
      if (count === (this.#counts.get(order) ?? 0) || !this.#orders.ids.includes(order)) return;
      this.#counts.set(order, count);
      const sum = [...this.#counts.values()].reduce((sum, one) => sum + one, 0);
      this.#changed(sum);
      const known = this.#journal.events.some((event) => event.what === "charged" && event.count >= sum);
      if (!known) this.#journal.add("charged", { order, count: sum });
    } catch {
      // The next count tries again.
    }
  }
}
