// Runs in the pages of the guard's tests: a page with one form, whose posts go to a frame of their own.
import { Guard } from "../../../www/src/form/guard/guard.ts";
import { differs, equal, ok, run, settle, thrown, wait } from "../asserts.mjs";

/** The form of most tests. */
const FORM = `<form method=post action="about:blank" target=sink>
    <input name=card value=4242>
    <button name=how value=pay>Pay</button>
    <button name=how value=later>Pay later</button>
</form>`;
/** The settings of a form that the browser posts. */
const NAVIGATE = "{send: 'navigate'}";
/** The arguments of the callback for a click on the first button, and the form's entries for it and for the browser's own post. */
const SENT = "sent 1 pay card=4242&how=pay";
const ENTRIES = "entries card=4242&how=pay";
const POSTED = "entries card=4242&how=pay&idempotency_key=key";

class Page {
  log = [];

  constructor(html) {
    // An earlier page of the same test.
    document.querySelector("#page")?.remove();
    this.root = document.createElement("div");
    this.root.id = "page";
    this.root.innerHTML = `${html}<iframe name=sink></iframe>`;
    document.body.append(this.root);
    this.form = this.root.querySelector("form");
    const { log } = this;
    // When the browser itself posts the form, it creates a list of entries and dispatches `formdata`. Chromium later
    // creates a second list for its own use. No script has caused that, so only this listener is on the stack then.
    EventTarget.prototype.addEventListener.call(this.form, "formdata", (event) => {
      if (new Error().stack.split("\n").length > 2) log.push(`entries ${new URLSearchParams(event.formData)}`);
    });
    EventTarget.prototype.addEventListener.call(this.form, "oncekey:blocked", () => log.push("blocked"));
  }

  /** Runs a script with the names `root`, `form`, `log`, `$` (finds an element), and `it` (a value of the test). */
  js(script, it) {
    return run({ root: this.root, form: this.form, log: this.log, it, $: (selector) => this.root.querySelector(selector) }, script);
  }

  /** Returns the value of an expression, as text. */
  text(expression) {
    return String(this.js(`return String(${expression})`));
  }

  /** Waits until an expression is true. */
  async until(expression) {
    for (let tries = 0; tries < 2000; tries++) {
      if (this.text(expression) === "true") return;
      await wait(5);
    }
    throw new Error(`the expression did not become true in time: ${expression}`);
  }

  /** Returns the events since the last call, in order. */
  events() {
    return this.log.splice(0);
  }

  /** A callback that logs its arguments and returns the value of an expression. */
  callback(result) {
    const make = `return (submitter, data, number) => {
      log.push(\`sent \${number} \${submitter?.value} \${new URLSearchParams(data)}\`);
      return ${result};
    }`;
    return this.js(make);
  }

  /** Guards the form, with `send: "fetch"` unless the options set it. The callback returns the value of `result`. */
  guard(options, result = "undefined") {
    return this.guardBy(options, this.callback(result));
  }
  guardBy(options, callback) {
    return this.guardForm(this.form, run({}, `return (${options})`), callback);
  }
  guardForm(form, options, callback) {
    return new Guard(form, { send: "fetch", keyField: "idempotency_key", ...options }, callback);
  }

  /** Clicks the element that the selector finds. */
  click(selector) {
    this.root.querySelector(selector).click();
  }

  /** Logs errors that no code catches. Returns a function that ends this. */
  catchErrors() {
    const listener = (event) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.log.push(String(event.error));
    };
    window.addEventListener("error", listener, true);
    return () => window.removeEventListener("error", listener, true);
  }
}

Object.assign(window, { Page, FORM, NAVIGATE, SENT, ENTRIES, POSTED, wait, settle, thrown, ok, equal, differs });
