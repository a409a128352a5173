// The guard of a form: the form cannot be submitted twice, and its request carries the key of the intent.
//
// guard/guard.ts locks the form, from the first moment. send.ts sends it, as soon as the core is loaded.

import { OncekeyClient } from "../client/client.js";
import type { Emit } from "../client/events.js";
import { named } from "../client/intent.js";
import { GUARD, checkOptions } from "../client/options.js";
import type { ClientEvents, FormGuard, GuardOptions } from "../types.js";
import { listen, unlisten } from "./guard/dom.js";
import { Guard } from "./guard/guard.js";
import type { FormSender, SentForm, Submit } from "./send.js";

const KEY_FIELD = "idempotency_key";

/** The texts that may be needed before send.ts, which has the others, is loaded. */
const MESSAGES = {
  busy: "Sending…",
  succeeded: "Done.",
  failed: "This could not be sent, and nothing was done. You can try again.",
};

export function guardForm(form: HTMLFormElement, options: GuardOptions): FormGuard {
  checkOptions("guardForm", options ?? null, GUARD);
  const { client, intent } = options;
  if (!(client instanceof OncekeyClient)) throw new TypeError("guardForm needs a client. Pass the client that createClient returned.");
  if (intent === undefined) throw new TypeError('guardForm needs an intent. Pass its name, such as "order:1042", or a function that returns the name.');
  return new Guarded(form, options, client);
}

class Guarded implements FormGuard, SentForm {
  readonly form: HTMLFormElement;
  readonly options: GuardOptions;
  readonly keyField: string;
  readonly #guard: Guard;
  readonly #client: OncekeyClient;
  #sender: FormSender | undefined;
  /** The last submit that the guard let through. */
  #submit: Submit | undefined;
  /** Whether an attempt of the last submit was sent. */
  #isSent = false;

  constructor(form: HTMLFormElement, options: GuardOptions, client: OncekeyClient) {
    this.form = form;
    this.options = options;
    this.#client = client;
    const { send = "fetch", keyField = KEY_FIELD, disable, busyLabel } = options;
    this.keyField = keyField;
    const detail = (): ClientEvents["blocked"] => ({ intent: this.intent() });
    this.#guard = new Guard(form, { send, keyField, disable, busyLabel, detail }, this.#onSubmit);
    listen(form, "oncekey:blocked", this.#onBlocked);
    listen(form, "focusin", this.#onFocus);
    addEventListener("pageshow", this.#onShown);
  }

  get locked(): boolean {
    return this.#guard.locked;
  }

  release(): void {
    this.#isSent = false;
    this.#guard.release();
    this.#guard.say("");
  }

  done(): void {
    this.#submit?.stopWatch?.();
    this.#submit?.unsent?.abort();
    this.#isSent = true;
    this.#guard.done();
    this.#say("succeeded");
  }

  cancel(): boolean {
    if (!this.locked || this.#isSent) return false;
    this.#submit?.unsent?.abort();
    this.release();
    return true;
  }

  detach(): void {
    this.#submit?.stopWatch?.();
    unlisten(this.form, "oncekey:blocked", this.#onBlocked);
    unlisten(this.form, "focusin", this.#onFocus);
    removeEventListener("pageshow", this.#onShown);
    this.#guard.detach();
  }

  /** Sends a submit of the guard. Returns its key if the browser can post it at once. */
  readonly #onSubmit = (submitter: HTMLElement | null, data: FormData, number: number): string | undefined => {
    const submit: Submit = { submitter, data, number, unsent: new AbortController() };
    this.#submit = submit;
    this.#isSent = false;
    this.#say("busy");
    const sender = (this.#sender ??= this.#client.sender(this));
    if (!sender) void this.#sendLater(submit);
    else if (this.options.send === "navigate") return sender.navigate(submit);
    else void sender.fetch(submit);
    return undefined;
  };

  /** Sends a submit when the core is loaded. If it cannot be loaded, nothing is sent, and the next submit tries again. */
  async #sendLater(submit: Submit): Promise<void> {
    try {
      await this.#client.load();
      this.#sender ??= this.#client.sender(this);
    } catch (error) {
      this.emit("load-failed", { intent: this.#intentIfAny(), reason: String(error) });
      this.settle(submit, "failed", this.#text("failed"));
      this.report(error);
      return;
    }
    // The page may have released the form, cancelled the submit, or removed the guard since.
    if (submit !== this.#submit || !this.locked || !submit.unsent || submit.unsent.signal.aborted) return;
    if (this.options.send === "navigate") this.resubmit(submit);
    else void this.#sender!.fetch(submit);
  }

  /** Submits the form again, now that its key can be there at once. */
  resubmit(submit: Submit): void {
    if (submit === this.#submit) this.#guard.resubmit(submit.submitter);
  }

  /** Notes that a submit is being sent. It can no longer be cancelled. */
  sent(submit: Submit): void {
    if (submit !== this.#submit || !submit.unsent) return;
    submit.unsent = undefined;
    this.#isSent = true;
  }

  /** Settles a submit, unless the form was released and submitted again since. */
  settle({ number }: Submit, outcome: "succeeded" | "refused" | "unknown" | "failed", text: string): void {
    if (number !== this.#submit?.number) return;
    if (outcome !== "succeeded") this.#isSent = false;
    this.#guard.settle(outcome, number);
    this.say(text);
  }

  say(text: string): void {
    this.#guard.say(text);
  }

  #say(message: keyof typeof MESSAGES): void {
    this.say(this.#text(message));
  }

  #text(message: keyof typeof MESSAGES): string {
    return this.options.messages?.[message] ?? MESSAGES[message];
  }

  report(error: unknown): void {
    if (this.options.onError) this.options.onError(error, this.form);
    else reportError(error);
  }

  intent(): string {
    const { intent } = this.options;
    return named(typeof intent === "function" ? intent(this.form) : intent);
  }

  /** Returns the name; undefined if the page's function throws. Used for an event that must be sent in any case. */
  #intentIfAny(): string | undefined {
    try {
      return this.intent();
    } catch {
      return undefined;
    }
  }

  readonly emit: Emit = (type, detail) => {
    this.#client.emit(type, detail);
    EventTarget.prototype.dispatchEvent.call(this.form, new CustomEvent(`oncekey:${type}`, { bubbles: true, detail }));
  };

  /** Resets this object when the page comes back from the browser's cache (Back). The guard frees the form then. */
  readonly #onShown = (event: PageTransitionEvent): void => {
    if (!event.persisted) return;
    this.#submit?.stopWatch?.();
    this.#isSent = false;
    this.#guard.say("");
  };

  /** Loads the core when the buyer comes to the form, if the page was not idle before. */
  readonly #onFocus = (): void => this.#client.preload();

  readonly #onBlocked = (event: Event): void => {
    this.#client.emit("blocked", (event as CustomEvent<ClientEvents["blocked"]>).detail);
  };
}
