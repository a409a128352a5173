// The line between this page and the shop: `fetch` with the chosen faults. It notes when a payment leaves and how it
// ends.

/**
 * What goes wrong with a payment; the order before it always gets through. `fault`: what the sandbox is asked to do
 * wrong. `cut`: where the line breaks in this page, before the request leaves or after the shop has responded. `once`:
 * only the first attempt after a press.
 */
const TROUBLES = {
  none: {},
  "lost-response": { cut: "after", once: true },
  "lost-request": { cut: "before", once: true },
  "error-after": { fault: "error-after", once: true },
  "error-before": { fault: "error-before", once: true },
  slow: { fault: "delay=4000", once: true },
  "slow-response": { fault: "delay-after=4000", once: true },
  "always-error": { fault: "error-after" },
  "no-line": { cut: "before" },
};

/** How long each way takes, in milliseconds, so that people can follow. */
const WAY = 400;

export class Line {
  #journal;
  #chosen;
  #sentSincePress = 0;

  /** `chosen`: returns the name of the trouble that is chosen now. */
  constructor(journal, chosen) {
    this.#journal = journal;
    this.#chosen = chosen;
  }

  /** Pay was pressed: the next attempt is a first one. */
  pressed() {
    this.#sentSincePress = 0;
  }

  fetch = async (input, init) => {
    const request = new Request(input, init);
    const { pathname } = new URL(request.url);
    if (request.method === "POST" && pathname === "/v1/payments") return this.#pay(request);
    if (request.method === "POST" && pathname === "/v1/orders") return fetch(request);
    return this.#ask(request, pathname);
  };

  async #pay(request) {
    const trouble = this.#trouble(this.#sentSincePress++);
    const key = request.headers.get("Idempotency-Key");
    const id = crypto.getRandomValues(new Uint32Array(1))[0];
    this.#journal.add("sent", { id, key });
    try {
      await pause(WAY);
      if (trouble.cut === "before") throw new TypeError("the line broke before the request left");
      if (trouble.fault) request.headers.set("Sandbox-Fault", trouble.fault);
      const response = await fetch(request);
      if (trouble.cut === "after") {
        // The shop has charged. Its response is read to the end and then dropped.
        await response.arrayBuffer();
        await pause(WAY);
        throw new TypeError("the line broke before the response arrived");
      }
      await pause(WAY);
      this.#journal.add("ended", { id, fate: fateOf(response), status: response.status });
      return response;
    } catch (error) {
      this.#journal.add("ended", { id, fate: "lost" });
      throw error;
    }
  }

  /** A question about a key or an order's payments. */
  async #ask(request, pathname) {
    const about = pathname.startsWith("/v1/") ? "payments" : pathname.endsWith("/void") ? "void" : "key";
    try {
      await pause(WAY);
      if (this.#chosen() === "no-line") throw new TypeError("there is no line");
      const response = await fetch(request);
      const { state, data } = await response.clone().json();
      const key = request.headers.get("Idempotency-Key");
      this.#journal.add("asked", { about, status: response.status, key, state, found: data?.length });
      return response;
    } catch (error) {
      this.#journal.add("asked", { about });
      throw error;
    }
  }

  #trouble(sentBefore) {
    const trouble = TROUBLES[this.#chosen()];
    return trouble.once && sentBefore > 0 ? TROUBLES.none : trouble;
  }
}

function fateOf(response) {
  if (response.headers.get("Idempotent-Replayed") === "true") return "replayed";
  if (response.status === 409) return "waiting";
  if (response.status >= 500) return "error";
  return response.status >= 400 ? "refused" : "answered";
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
