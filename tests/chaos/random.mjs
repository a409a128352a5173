// Decisions that a seed repeats. Each decision is drawn under its own name, so it does not depend on
// other decisions. The timing differs from run to run; the decisions do not.
import { createHash } from "node:crypto";

export class Random {
  #name;
  #drawn = 0;

  constructor(...name) {
    this.#name = name.join("/");
  }

  /** Returns the same source under a longer name. */
  of(...name) {
    return new Random(this.#name, ...name);
  }

  bytes() {
    return createHash("sha256").update(`${this.#name}#${this.#drawn++}`).digest();
  }
  /** Returns a whole number from 0 up to, but not including, `limit`. */
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
  /** Returns one of the names, with a probability proportional to its number. */
  weighted(weights) {
    let left = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
    for (const [name, weight] of Object.entries(weights)) if ((left -= weight) < 0) return name;
  }
  /** Returns a random UUID. */
  key() {
    const hex = this.bytes().toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }
}
