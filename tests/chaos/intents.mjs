// What buyers want: each intent has one key and one body, however often it is sent.

export class Intent {
  /** open, done (it has its response), held (nobody knows, and nothing runs until the outcome is resolved) or voided. */
  state = "open";
  /** The responses that a caller saw and that were marked as stored: {status, text, requestId}. */
  kept = [];
  /** The response by which its buyer took it for done. */
  result;
  /** Requests that have no end yet: when each was sent. */
  open = new Set();
  /** Its buyer has asked to void its key. */
  hasGivenUp = false;
  /** How often it was sent. */
  sent = 0;

  /**
   * `path`, `body`: what is sent; without a key its sender is a page, which makes one. `declined`: the response will be a
   * refusal. `effects`: how many it shall have at the other side: a declined payment is an entry in some books, and none
   * in others. `makes`, `order`: what it is about. `waits`: its buyer sends nothing while the server is down, so that
   * it is known what a kill hit.
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
