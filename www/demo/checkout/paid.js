// Whether the order counts as paid: the event says so, and nothing else does. It is looked for in the sandbox's list
// of events while a payment may have been made. (A shop's server has it sent and signed, and need not look.)

/** In milliseconds: the first wait before a look, and the longest. */
const SOON = 300;
const LATER = 5000;

export class PaidEvent {
  #journal;
  #apiKey;
  #orders;
  #isAwaited;
  #arrived;
  #told;
  #timer;
  #wait = SOON;

  /** `isAwaited()`: whether there may be one; `arrived(event)` is called once for it, whichever tab has found it. */
  constructor({ journal, apiKey, orders, isAwaited, arrived }) {
    this.#journal = journal;
    this.#apiKey = apiKey;
    this.#orders = orders;
    this.#isAwaited = isAwaited;
    this.#arrived = arrived;
    journal.addEventListener("change", () => this.note());
    document.addEventListener("visibilitychange", () => this.note());
  }

  /** {id, order, amount}, once it is here. */
  get event() {
    return this.#journal.events.find(({ what }) => what === "event");
  }

  /** Something has happened: what is new is told, and what is missing is looked for soon. */
  note() {
    const { event } = this;
    if (event?.id !== this.#told) {
      this.#told = event?.id;
      if (event) this.#arrived(event);
    }
    this.#wait = SOON;
    this.#plan();
  }

  #plan() {
    clearTimeout(this.#timer);
    if (this.event || document.hidden || !this.#isAwaited()) return;
    this.#timer = setTimeout(() => this.#look(), this.#wait);
    this.#wait = Math.min(this.#wait * 1.5, LATER);
  }

  async #look() {
    try {
      const answer = await fetch("/v1/events?limit=30", { headers: { "X-Api-Key": this.#apiKey } });
      const { data: events } = await answer.json();
      const { ids } = this.#orders;
      const found = events.find(({ type, data }) => type === "payment.succeeded" && ids.includes(data.order_id));
      if (found && !this.event) {
        const { order_id: order, amount } = found.data;
        this.#journal.add("event", { id: found.id, type: found.type, order, amount });
        return;
      }
    } catch {
      // The next look tells.
    }
    this.#plan();
  }
}
