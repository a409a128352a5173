// When the page loads new data: every few seconds, less often after failures, and not while the page is hidden.

/** From the end of one look to the next, and the longest wait after failures. In milliseconds. */
const PACE = 2500;
const LONGEST = 30_000;

export class Beat {
  #look;
  #timer;
  #failures = 0;
  #isOn = false;
  #isLooking = false;
  #wantsMore = false;

  /** `look`: gives a promise that is rejected when a look has failed. */
  constructor(look) {
    this.#look = look;
    document.addEventListener("visibilitychange", () => this.now());
    addEventListener("online", () => this.now());
  }

  start() {
    this.#isOn = true;
    this.#failures = 0;
    this.now();
  }

  stop() {
    this.#isOn = false;
    clearTimeout(this.#timer);
  }

  /** Looks at once, or right after the look that is under way. */
  async now() {
    clearTimeout(this.#timer);
    if (!this.#isOn || document.hidden) return;
    this.#wantsMore = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    while (this.#wantsMore && this.#isOn) {
      this.#wantsMore = false;
      try {
        await this.#look();
        this.#failures = 0;
      } catch {
        this.#failures += 1;
      }
    }
    this.#isLooking = false;
    if (this.#isOn) this.#timer = setTimeout(() => this.now(), Math.min(PACE * 2 ** this.#failures, LONGEST));
  }
}
