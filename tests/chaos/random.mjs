// Decisions that a seed repeats. Each is drawn under a name of its own, so that it does not depend on what else was
// drawn before it: timing may differ from run to run, decisions do not.
import { createHash } from "node:crypto";

export class Random {
  #name;
  #drawn = 0;

  constructor(...name) {
    this.#name = name.join("/");
  }

  /** The same source under a longer name. */
  of(...name) {
    return new Random(this.#name, ...name);
  }

  bytes() {
    return createHash("sha256").update(`${this.#name}#${this.#drawn++}`).digest();
  }
  /** A whole number from 0 up to, and without, `limit`. */
  below(limit) {
    return this.bytes().readUInt32BE() % limit;
  }
  between(low, high) {
    return low + this.below(high - low + 1);
  }
  chance(percent) {
    return this.below(100) < percent;
  }
  one(list) {
    return list[this.below(list.length)];
  }
  /** One of the names, each as likely as its number is large. */
  weighted(weights) {
    let left = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
    for (const [name, weight] of Object.entries(weights)) if ((left -= weight) < 0) return name;
  }
  /** In the form of a random UUID. */
  key() {
    const hex = this.bytes().toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }
}
