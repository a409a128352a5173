// What the tests ask a page of page.mjs, over any driver.

/**
 * The driver's class has two methods: `evaluate(run, value)` runs a function in the page and returns its result, and
 * `until(run, value)` waits until one returns true.
 */
export class PageCalls {
  /** Waits until the client of the page can be called. */
  ready() {
    return this.until(() => window.shop?.isReady);
  }
  /** Returns the middle of each element with an id. A page that is being left can be clicked, but its layout cannot be read. */
  places() {
    return this.evaluate(() => {
      const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
      return Object.fromEntries([...document.querySelectorAll("[id]")].map((node) => [`#${node.id}`, middle(node.getBoundingClientRect())]));
    });
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
    return this.evaluate(([name, values]) => window.shop[name](...values), [name, values]);
  }
  /** Returns the events of the client so far, of one type or of all. */
  async events(type) {
    const events = await this.evaluate(() => window.shop.events);
    return type === undefined ? events : events.filter((event) => event.type === type);
  }
  /** Waits until the client has sent this many events of a type. */
  waitForEvent(type, times = 1) {
    return this.until(([type, times]) => window.shop.events.filter((event) => event.type === type).length >= times, [type, times]);
  }
  look() {
    return this.call("look");
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
