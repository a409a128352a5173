// The line between this page and the shop: `fetch`, with what goes wrong on the way. It notes when a payment leaves
// and how it ends, because nobody else can see both.

/**
 * What goes wrong with a payment; the order before it always gets through. `fault`: what the sandbox is asked to do
 * wrong. `cut`: where the line breaks in this page, before the request leaves or after the shop has answered. `once`:
 * only the first attempt after a press.
 */
const TROUBLES = {
  none: {},
  "lost-answer": { cut: "after", once: true },
  "lost-request": { cut: "before", once: true },
  "error-after": { fault: "error-after", once: true },
  "error-before": { fault: "error-before", once: true },
  slow: { fault: "delay=4000", once: true },
  "slow-answer": { fault: "delay-after=4000", once: true },
  "always-error": { fault: "error-after" },
  "no-line": { cut: "before" },
};

/** Each way takes this long, so that eyes can follow. In milliseconds. */
const WAY = 400;

export class Line {
  #journal;
  #chosen;
  #sentSincePress = 0;

  /** `chosen`: gives the name of the trouble that is chosen now. */
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
      const answer = await fetch(request);
      if (trouble.cut === "after") {
        // The shop has done it. Its answer is read to the end, and nobody gets it.
        await answer.arrayBuffer();
        await pause(WAY);
        throw new TypeError("the line broke before the answer arrived");
      }
      await pause(WAY);
      this.#journal.add("ended", { id, fate: fateOf(answer), status: answer.status });
      return answer;
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
      const answer = await fetch(request);
      const { state, data } = await answer.clone().json();
      const key = request.headers.get("Idempotency-Key");
      this.#journal.add("asked", { about, status: answer.status, key, state, found: data?.length });
      return answer;
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

function fateOf(answer) {
  if (answer.headers.get("Idempotent-Replayed") === "true") return "replayed";
  if (answer.status === 409) return "waiting";
  if (answer.status >= 500) return "error";
  return answer.status >= 400 ? "refused" : "answered";
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
