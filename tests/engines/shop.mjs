// Controls a page of tests/browser/page.mjs in any engine, through a driver.

/** After this time a wait fails. It is long, because the machine may be busy. */
const PATIENCE = 60_000;

export class Shop {
  #tab;
  #boxes = {};

  constructor(tab) {
    this.#tab = tab;
  }

  async go(url, ready = true) {
    await this.#tab.goto(url);
    await this.at(new URL(url).pathname);
    if (ready) await this.ready();
    // A page that is being left can be clicked, but its layout cannot be read.
    this.#boxes = await this.evaluate(() => {
      const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
      return Object.fromEntries([...document.querySelectorAll("[id]")].map((node) => [`#${node.id}`, middle(node.getBoundingClientRect())]));
    });
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
  ready() {
    return this.until(() => window.shop?.isReady);
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
    return this.#tab.click(...this.#boxes[selector], times);
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

  /** Sends for an intent. Returns its result: {status, text, …} or {error, …}. */
  send(intent, url, init = {}, options = {}) {
    return this.call("send", intent, url, init, options);
  }
  /** Sends without waiting. `result` waits for the result. */
  async start(intent, url, init = {}, options = {}) {
    const number = await this.call("start", intent, url, init, options);
    return { result: () => this.call("result", number), abort: () => this.call("abort", number) };
  }
  /** Calls a function of page.mjs. */
  call(name, ...values) {
    return this.evaluate((name, values) => window.shop[name](...values), name, values);
  }
  /** Returns the events of the client so far, of one type or of all. */
  async events(type) {
    const events = await this.evaluate(() => window.shop.events);
    return type === undefined ? events : events.filter((event) => event.type === type);
  }
  /** Waits until the client has sent an event of this type. */
  waitForEvent(type) {
    return this.until((type) => window.shop.events.some((event) => event.type === type), type);
  }
  look() {
    return this.call("look");
  }
  isLocked() {
    return this.evaluate(() => window.shop.guard.locked);
  }
  /** Waits for the result that the form guard reports, and returns it. */
  async end(number = 1) {
    await this.until((number) => window.shop.ends.length >= number, number);
    return (await this.evaluate(() => window.shop.ends))[number - 1];
  }
  /** Returns everything that is stored, as one text. */
  stored() {
    return this.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  }
}
