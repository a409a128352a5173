// Whether the order counts as paid: only the event says so. This page looks for the event in the sandbox's list while a
// payment may have been made. (A shop's server receives the event signed, and need not look.)

/** In milliseconds: the first wait before a look, and the longest. */
const SOON = 300;
const LATER = 5000;

export class PaidEvent {
  #journal;
  #apiKey;
  #orders;
  #isAwaited;
  #arrived;
  #reported;
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

  /** Reports a new event. If the event is still missing, looks for it soon. */
  note() {
    const { event } = this;
    if (event?.id !== this.#reported) {
      this.#reported = event?.id;
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
      const response = await fetch("/v1/events?limit=30", { headers: { "X-Api-Key": this.#apiKey } });
      const { data: events } = await response.json();
      const { ids } = this.#orders;
      const found = events.find(({ type, data }) => type === "payment.succeeded" && ids.includes(data.order_id));
      if (found && !this.event) {
        const { order_id: order, amount } = found.data;
        this.#journal.add("event", { id: found.id, type: found.type, order, amount });
        return;
      }
    } catch {
      // The next look tries again.
    }
    this.#plan();
  }
}
