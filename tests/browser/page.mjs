// Runs in the pages of the tests: a client, its events, and calls whose results can leave the page.

const EVENTS = [
  "attempt",
  "retry",
  "inprogress",
  "replayed",
  "settled",
  "unknown",
  "keyrotated",
  "storage-degraded",
  "wasm-fallback",
  "blocked",
  "load-failed",
];
const { client: settings, guard, from } = JSON.parse(document.querySelector("meta[name=settings]").content);

/** Returns the properties of an error that can leave the page. */
function described(error) {
  const { name, message, intent, key, attempts, reason, unknownReason, hint, outcome, httpStatus, response } = error;
  return { error: name, message, intent, key, attempts, reason, unknownReason, hint, outcome, httpStatus, status: response?.status };
}

async function describedResponse(response) {
  const read = response.bodyUsed ? "" : await response.text();
  return { status: response.status, text: read, replayed: response.headers.get("idempotent-replayed") === "true" };
}

/** Returns the options of a request. `json`: sent as JSON; `form`: pairs, sent as multipart. */
function requestOf({ json, form, ...init }) {
  if (json !== undefined) {
    return { ...init, headers: { ...init.headers, "content-type": "application/json" }, body: JSON.stringify(json) };
  }
  if (form === undefined) return init;
  const data = new FormData();
  for (const [name, value] of form) data.append(name, value);
  return { ...init, body: data };
}

class Shop {
  events = [];
  /** The results that the form guard reported. */
  ends = [];
  /** The look of the form and its status text, after each change. */
  looks = [];
  isReady = false;
  /** Whether the first load of the core failed. */
  hasFailed = false;
  #calls = [];

  async begin(oncekey) {
    this.oncekey = oncekey;
    if (settings === null) {
      this.isReady = true;
      return;
    }
    if (window.wasm) oncekey.init(() => window.wasm);
    const { credential, ...options } = settings;
    if (credential) options.headers = () => ({ "x-api-key": credential });
    this.client = oncekey.createClient(options);
    for (const type of EVENTS) this.client.addEventListener(type, ({ detail }) => this.events.push({ type, ...detail }));
    if (guard) {
      this.guard = this.guardForm(guard);
      this.#watch();
    }
    this.isWaiting = true;
    await this.client.ready.catch(() => (this.hasFailed = true));
    this.isReady = true;
  }

  guardForm({ intent = "order:1", ...options }) {
    return this.oncekey.guardForm(document.querySelector("form"), {
      client: this.client,
      intent,
      onResponse: async (response) => this.ends.push(await describedResponse(response)),
      onError: (error) => this.ends.push(described(error)),
      ...options,
    });
  }

  look() {
    const form = document.querySelector("form");
    return {
      busy: form.getAttribute("aria-busy"),
      buttons: [...form.querySelectorAll("button, input[type=submit]")].map((button) =>
        [button.textContent || button.value, button.getAttribute("aria-disabled") ?? "-", button.disabled ? "off" : "on"].join(),
      ),
      focus: document.activeElement.id,
      statusText: document.querySelector("[data-oncekey-status], output")?.textContent,
      fields: [...form.elements].map((field) => field.name).filter(Boolean).join(),
    };
  }
  #watch() {
    const note = () => {
      const look = this.look();
      if (JSON.stringify(look) !== JSON.stringify(this.looks.at(-1))) this.looks.push(look);
    };
    note();
    new MutationObserver(note).observe(document.body, { attributes: true, childList: true, characterData: true, subtree: true });
  }

  send(...call) {
    return this.result(this.start(...call));
  }
  start(intent, url, init, options) {
    const controller = new AbortController();
    const sent = this.client.fetch(intent, url, { ...requestOf(init), signal: controller.signal }, options);
    return this.#calls.push({ controller, end: sent.then(describedResponse, described) }) - 1;
  }
  result(number) {
    return this.#calls[number].end;
  }
  abort(number) {
    this.#calls[number].controller.abort(new Error("The buyer left."));
    return this.result(number);
  }
  pending() {
    return this.client.pending();
  }
  status(intent) {
    return this.client.intent(intent).status();
  }
  resolve(intent) {
    return this.client.intent(intent).resolve().catch(described);
  }
  abandon(intent) {
    return this.client.intent(intent).abandon().catch(described);
  }
  forget(intent) {
    this.client.intent(intent).forget();
  }
}

window.shop = new Shop();
await window.shop.begin(await import(`/oncekey/${from}.js`));
