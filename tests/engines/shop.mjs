// Controls a page of tests/browser/page.mjs in any engine, through a driver.
import { PageCalls } from "../browser/calls.mjs";

/** After this time a wait fails. It is long, because the machine may be busy. */
const PATIENCE = 60_000;

export class Shop extends PageCalls {
  #tab;
  #places = {};

  constructor(tab) {
    super();
    this.#tab = tab;
  }

  async go(url, ready = true) {
    await this.#tab.goto(url);
    await this.at(new URL(url).pathname);
    if (ready) await this.ready();
    this.#places = await this.places();
  }
  async reload() {
    await this.evaluate(() => (window.isOld = true));
    await this.#tab.reload();
    await this.until(() => !window.isOld);
    await this.ready();
  }
  /** Goes back to a page in the engine's cache, or to one that is loaded again. */
  async back(path) {
    await this.#tab.back();
    await this.at(path);
    await this.ready();
  }
  close() {
    return this.#tab.close();
  }
  /** Waits until the page with this path has been loaded. */
  at(path) {
    return this.until((path) => location.pathname === path && document.readyState === "complete", path);
  }

  /** Runs a function in the page. Its values and its result go through JSON. */
  evaluate(run, ...values) {
    return this.#tab.evaluate(run, ...values);
  }
  /** Waits until a function in the page returns true. Between two pages, it may fail. */
  async until(run, ...values) {
    const deadline = Date.now() + PATIENCE;
    for (let last; ; ) {
      try {
        if (await this.evaluate(run, ...values)) return;
        last = "it returns false";
      } catch (error) {
        last = error.message;
      }
      if (Date.now() > deadline) throw new Error(`not in time: ${run} (${last})`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  /** Clicks at the place that an element had when the page was opened. */
  click(selector, times = 1) {
    return this.#tab.click(...this.#places[selector], times);
  }
  focus(selector) {
    return this.evaluate((selector) => document.querySelector(selector).focus(), selector);
  }
  async press(key, times = 1) {
    for (let time = 0; time < times; time++) {
      await this.#tab.down(key);
      await this.#tab.up(key);
    }
  }
  /** Presses a key and holds it for this many repeats. */
  async hold(key, times = 6) {
    for (let time = 0; time < times; time++) await this.#tab.down(key);
    await this.#tab.up(key);
  }
  type(text) {
    return this.#tab.type(text);
  }
  /** Sets the value of a field. */
  fill(selector, value) {
    return this.evaluate((selector, value) => void (document.querySelector(selector).value = value), selector, value);
  }

  isLocked() {
    return this.evaluate(() => window.shop.guard.locked);
  }
}
