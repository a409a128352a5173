// The intents of buyers. Each intent has one key and one body, however often it is sent.

export class Intent {
  /** open, done (the buyer has the response), held (the outcome is unknown, and the key is on hold) or voided. */
  state = "open";
  /** The responses that a caller got with the mark that they are stored: {status, text, requestId}. */
  kept = [];
  /** The response that ended the intent for its buyer. */
  result;
  /** The times at which the requests without a result were sent. */
  open = new Set();
  /** Whether the buyer has tried to void the key. */
  hasGivenUp = false;
  /** How often the request was sent. */
  sent = 0;

  /**
   * `path`, `body`: the request; without a key, its sender is a page, which makes one. `declined`: the response will be a
   * refusal. `effects`: the expected number of effects at the origin; not all origins record a declined payment.
   * `makes`, `order`: the object of the request. `waits`: the buyer sends nothing while the server is down, so that
   * the phase that a kill hit is known.
   */
  constructor({ number, apiKey, key, path, body, declined = false, effects = 1, makes, order, waits }) {
    this.headers = { "X-Api-Key": apiKey, "Content-Type": "application/json" };
    Object.assign(this, { number, apiKey, key, path, body: JSON.stringify(body), declined, effects, makes, order, waits });
    this.isPage = key === undefined;
  }

  get name() {
    return `${this.path} ${this.body} (key ${this.key})`;
  }
}
