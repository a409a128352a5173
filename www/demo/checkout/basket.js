// The basket: what is in it, what that costs, and its number. The items are the list in the page; how many of each
// is shared by the tabs of this browser.

import { randomHex, stored } from "./store.js";

const euros = new Intl.NumberFormat("en", { style: "currency", currency: "EUR" });
/** An amount in minor units, for people. */
export const money = (amount) => euros.format(amount / 100);

const MOST = 9;

export class Basket extends EventTarget {
  #kept = stored("basket");
  #items;
  #outputs = new Map();

  /** `list`: the list whose entries have data-item, data-price and data-start. */
  constructor(list) {
    super();
    this.#items = [...list.children].map((row) => ({
      row,
      name: row.dataset.item,
      price: Number(row.dataset.price),
      start: Number(row.dataset.start),
    }));
    for (const item of this.#items) this.#addStepper(item);
    if (!this.#kept.get()) this.restart();
    addEventListener("storage", ({ key }) => {
      if (key === this.#kept.name || key === null) this.#changed(false);
    });
    this.#show();
  }

  get id() {
    return this.#state.id;
  }
  get amount() {
    return this.#items.reduce((sum, item) => sum + item.price * this.#count(item), 0);
  }
  /** "2 Sweet pea, 1 Runner bean" */
  get words() {
    return this.#items.map((item) => `${this.#count(item)} ${item.name}`).join(", ");
  }

  /** A new basket with a number of its own. */
  restart() {
    const counts = Object.fromEntries(this.#items.map(({ name, start }) => [name, start]));
    this.#kept.set({ id: randomHex(6), counts });
    this.#changed();
  }

  get #state() {
    let state = this.#kept.get();
    if (!state) {
      // Somebody emptied the browser's storage under our feet.
      this.restart();
      state = this.#kept.get();
    }
    return state;
  }
  #count(item) {
    return this.#state.counts[item.name] ?? item.start;
  }

  #step(item, by) {
    const count = this.#count(item) + by;
    if (count < 1 || count > MOST) return;
    const state = this.#state;
    this.#kept.set({ ...state, counts: { ...state.counts, [item.name]: count } });
    this.#changed();
  }

  #addStepper(item) {
    const button = (sign, label, by) => {
      const one = document.createElement("button");
      one.type = "button";
      one.textContent = sign;
      one.setAttribute("aria-label", `${label} ${item.name}`);
      one.addEventListener("click", () => this.#step(item, by));
      return one;
    };
    const count = document.createElement("output");
    const price = Object.assign(document.createElement("p"), { className: "price" });
    const stepper = Object.assign(document.createElement("div"), { className: "stepper" });
    stepper.setAttribute("role", "group");
    stepper.setAttribute("aria-label", `How many ${item.name}`);
    stepper.append(button("−", "One less", -1), count, button("+", "One more", 1));
    item.row.append(stepper, price);
    this.#outputs.set(item, { count, price, stepper });
  }

  /** `here`: in this tab. */
  #changed(here = true) {
    this.#show();
    this.dispatchEvent(new CustomEvent("change", { detail: { here } }));
  }

  #show() {
    for (const [item, { count, price, stepper }] of this.#outputs) {
      const many = this.#count(item);
      count.textContent = many;
      price.textContent = money(many * item.price);
      stepper.firstChild.setAttribute("aria-disabled", many === 1);
      stepper.lastChild.setAttribute("aria-disabled", many === MOST);
    }
  }
}
