// What happened to a basket, in every tab of this browser: a list of {at, tab, what, …}. Each tab writes a list of
// its own, so that two never overwrite each other; all of them are read together.

import { keptOrMade, randomHex, stored, storedNames } from "./store.js";

/** Of one tab. What is older is forgotten. */
const MOST = 300;

export class Journal extends EventTarget {
  /** This tab; a reload keeps it, a second tab has another. */
  tab = keptOrMade(stored("tab", "sessionStorage"), () => randomHex(4));
  #basket;
  #own;
  #all;

  constructor(basket) {
    super();
    this.#open(basket);
    addEventListener("storage", ({ key }) => {
      if (key === null || key.startsWith(`shop:journal:${this.#basket}:`)) this.#changed();
    });
  }

  /** What happened, the earliest first. */
  get events() {
    this.#all ??= storedNames(`journal:${this.#basket}:`)
      .flatMap((name) => stored(name).get() ?? [])
      .sort((one, other) => one.at - other.at);
    return this.#all;
  }

  add(what, details = {}) {
    const own = [...(this.#own.get() ?? []), { at: Date.now(), tab: this.tab, what, ...details }];
    this.#own.set(own.slice(-MOST));
    this.#changed();
  }

  /** Turns to another basket; what was kept of earlier ones goes. False when it is this one. */
  turnTo(basket) {
    if (basket === this.#basket) return false;
    for (const name of storedNames("journal:")) if (!name.startsWith(`journal:${basket}:`)) stored(name).remove();
    this.#open(basket);
    this.#changed();
    return true;
  }

  #open(basket) {
    this.#basket = basket;
    this.#own = stored(`journal:${basket}:${this.tab}`);
    this.#all = undefined;
  }

  #changed() {
    this.#all = undefined;
    this.dispatchEvent(new Event("change"));
  }
}
