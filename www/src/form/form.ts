// The guard of a form: the form cannot be submitted twice, and its request carries the key of the intent.
//
// www/wasm/src/guard.rs locks the form and changes its buttons and its live region. It calls this file to send the form.

import { type Emit, OncekeyClient, type Submitted } from "../client/client.js";
import { named } from "../client/intent.js";
import type { Core } from "../core.js";
import { AbortedError, OutcomeUnknownError, PayloadChangedError, ResponseGoneError } from "../errors.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import { GUARD, checkOptions } from "../client/options.js";
import { type Stay, watchStay } from "./stay.js";
import type { ClientEvents, FormGuard, FormRequest, GuardMessages, GuardOptions } from "../types.js";
import { abortable } from "../client/wait.js";

const KEY_FIELD = "idempotency_key";

const MESSAGES: GuardMessages = {
  busy: "Sending…",
  retry: "No response yet; trying again. Nothing will be done twice.",
  inprogress: "Still being processed. Nothing will be done twice.",
  succeeded: "Done.",
  refused: "This was not accepted. You can change it and try again.",
  failed: "This could not be sent, and nothing was done. You can try again.",
  changed: "This has been done before, with other details. Nothing was done now.",
  unknown: "We don't know yet whether this went through. You can try again: nothing will be done twice.",
};

/** Adds a listener by the prototype's method, because a control named `addEventListener` would hide the form's own. */
function listen(form: HTMLFormElement, type: string, listener: (event: never) => void, capture = false): void {
  EventTarget.prototype.addEventListener.call(form, type, listener as EventListener, { capture });
}
function unlisten(form: HTMLFormElement, type: string, listener: (event: never) => void, capture = false): void {
  EventTarget.prototype.removeEventListener.call(form, type, listener as EventListener, { capture });
}

type CoreGuard = InstanceType<Core["FormGuard"]>;

export function guardForm(form: HTMLFormElement, options: GuardOptions): FormGuard {
  checkOptions("guardForm", options ?? null, GUARD);
  const { client, intent } = options;
  if (!(client instanceof OncekeyClient)) throw new TypeError("guardForm needs a client. Pass the client that createClient returned.");
  if (intent === undefined) throw new TypeError('guardForm needs an intent. Pass its name, such as "order:1042", or a function that returns the name.');
  const guarded = new Guarded(form, options, client);
  const core = client.loadedNow();
  if (core) guarded.attach(core);
  else guarded.attachLater();
  return guarded;
}

class Guarded implements FormGuard {
  readonly #form: HTMLFormElement;
  readonly #options: GuardOptions;
  readonly #client: OncekeyClient;
  readonly #messages: GuardMessages;
  #guard: CoreGuard | undefined;
  #detached = false;
  #loading: Promise<void> | undefined;
  /** The submit that waits until the guard is loaded. */
  #held: { submitter: HTMLElement | null } | undefined;
  /** The number of the last submit that the guard let through. */
  #submission = 0;
  /** Whether an attempt of the last submit was sent. */
  #isSent = false;
  /** Ends the preparation of the last submit. */
  #unsent: AbortController | undefined;
  /** Stops watching whether the page stays after the browser posted the form. */
  #stopWatch = () => {};
  /** The text that tells the buyer that the guard could not be loaded. */
  #notice: HTMLElement | undefined;

  constructor(form: HTMLFormElement, options: GuardOptions, client: OncekeyClient) {
    this.#form = form;
    this.#options = options;
    this.#client = client;
    this.#messages = { ...MESSAGES, ...options.messages };
  }

  get locked(): boolean {
    return this.#guard?.locked ?? this.#held !== undefined;
  }

  release(): void {
    this.#held = undefined;
    this.#isSent = false;
    this.#guard?.release();
    this.#guard?.say("");
  }

  done(): void {
    this.#held = undefined;
    this.#stopWatch();
    this.#unsent?.abort();
    this.#isSent = true;
    this.#guard?.done();
    this.#say("succeeded");
  }

  cancel(): boolean {
    if (!this.locked || this.#isSent) return false;
    this.#unsent?.abort();
    this.release();
    return true;
  }

  detach(): void {
    this.#detached = true;
    this.#held = undefined;
    this.#stopWatch();
    unlisten(this.#form, "submit", this.#hold, true);
    unlisten(this.#form, "oncekey:blocked", this.#onBlocked);
    removeEventListener("pageshow", this.#onShown);
    this.#notice?.remove();
    this.#guard?.detach();
    this.#guard = undefined;
  }

  attach(core: Core): void {
    const { send = "fetch", keyField, disable, busyLabel } = this.#options;
    const onSubmit = (submitter: HTMLElement | null, data: FormData, submission: number) => {
      this.#submission = submission;
      this.#isSent = false;
      return send === "navigate" ? this.#navigate(submitter, data, submission) : void this.#fetch(submitter, data, submission);
    };
    const detail = (): ClientEvents["blocked"] => ({ intent: this.#intent() });
    const all = { send, keyField, disable, busyLabel, detail };
    this.#guard = new core.FormGuard(this.#form, all as never, onSubmit as never);
    listen(this.#form, "oncekey:blocked", this.#onBlocked);
    addEventListener("pageshow", this.#onShown);
  }

  /** Holds the first submit until the wasm is loaded, and swallows the others. */
  attachLater(): void {
    listen(this.#form, "submit", this.#hold, true);
    this.#load();
  }

  readonly #hold = (event: SubmitEvent): void => {
    const method = event.submitter?.getAttribute("formmethod")?.toLowerCase();
    // The guard ignores these submits, loaded or not.
    if (event.defaultPrevented || (method !== undefined && method !== "post")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (this.#held) this.#emit("blocked", { intent: this.#intent() });
    else this.#held = { submitter: event.submitter };
    this.#load();
  };

  /** Loads the core. After a failure the next submit tries again: without a guard it would be sent without a key. */
  #load(): void {
    this.#loading ??= this.#client
      .loaded()
      .then((core) => this.#loaded(core))
      .catch((error: unknown) => {
        if (this.#detached) return;
        this.#loading = undefined;
        const wasHeld = this.#held !== undefined;
        this.#held = undefined;
        this.#emit("guard-failed", { intent: this.#intentIfAny(), reason: String(error), held: wasHeld });
        // The buyer has to read that the submit was not sent.
        if (wasHeld) this.#show(this.#messages.failed);
        this.#report(error);
      });
  }

  #loaded(core: Core): void {
    if (this.#detached) return;
    unlisten(this.#form, "submit", this.#hold, true);
    this.#notice?.remove();
    try {
      this.attach(core);
    } catch (error) {
      // A form that cannot be guarded must not be sent without a key.
      listen(this.#form, "submit", this.#hold, true);
      throw error;
    }
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    // The button may have left the form in the meantime.
    const { submitter } = held;
    const isThere = submitter !== null && (submitter as HTMLButtonElement).form === this.#form;
    HTMLFormElement.prototype.requestSubmit.call(this.#form, isThere ? submitter : null);
  }

  /** Shows a text in the page's `data-oncekey-status` element, or below the form. Used while there is no guard. */
  #show(text: string): void {
    const place = Element.prototype.querySelector.call(this.#form, "[data-oncekey-status]");
    if (place) {
      place.textContent = text;
      return;
    }
    this.#notice ??= document.createElement("output");
    this.#notice.setAttribute("role", "alert");
    if (!this.#notice.isConnected) Element.prototype.after.call(this.#form, this.#notice);
    this.#notice.textContent = text;
  }

  async #fetch(submitter: HTMLElement | null, data: FormData, submission: number): Promise<void> {
    const { request = asSubmitted, options = {}, onResponse, keyField = KEY_FIELD } = this.#options;
    this.#say("busy");
    let submitted: Submitted;
    let intent: string | undefined;
    const unsent = new AbortController();
    this.#unsent = unsent;
    const { signal } = unsent;
    // An attempt that was sent is not cancelled, because its outcome would be unknown.
    const sends = () => {
      if (this.#unsent !== unsent) return;
      this.#unsent = undefined;
      this.#isSent = true;
    };
    try {
      // The name comes from the form as it is now; `request` may take time.
      intent = this.#intent();
      const made: Promise<FormRequest> = Promise.resolve(request(this.#form, data, submitter));
      const { url, init } = await abortable(made, signal);
      const emit: Emit = (type, detail) => {
        if (type === "attempt") sends();
        this.#emit(type, detail);
      };
      const both = either(init.signal ?? undefined, signal);
      const field = request === asSubmitted ? keyField : undefined;
      submitted = await this.#client.submit(intent, url, { ...init, signal: both }, options, emit, field);
    } catch (error) {
      if (this.#unsent === unsent) this.#unsent = undefined;
      // After the page called `cancel` or `done`, the error is not reported.
      if (!signal.aborted) this.#fail(error, submission, intent);
      return;
    }
    sends();
    const { response, outcome } = submitted;
    this.#settle(submission, outcome, outcome);
    try {
      await onResponse?.(response, this.#form, outcome);
    } catch (error) {
      // An error of the page does not change the outcome of the order.
      reportError(error);
    }
  }

  /** Returns the key that the browser sends, or nothing if the form must not be sent yet. */
  #navigate(submitter: HTMLElement | null, data: FormData, submission: number): string | undefined {
    this.#say("busy");
    let intent: string | undefined;
    let error: unknown;
    try {
      intent = this.#intent();
      const prepared = asNavigated(this.#form, data, submitter, this.#options.keyField ?? KEY_FIELD);
      const { key, stays, ...end } = this.#client.navigate(intent, prepared, this.#options.options?.ignore, this.#emit);
      if (key !== undefined) {
        const { attempts = 1 } = this.#client.status(intent);
        this.#emit("attempt", { intent, key, attempt: attempts });
        this.#isSent = true;
        this.#stopWatch();
        this.#stopWatch = watchStay(this.#form, submitter, (how) => {
          stays!(how);
          this.#stayed(how, submission);
        });
        return key;
      }
      error = end.error;
    } catch (mistake) {
      error = mistake;
    }
    const unsent = new AbortController();
    this.#unsent = unsent;
    this.#makeRoom(intent, submitter, error, unsent)
      .catch((error: unknown) => unsent.signal.aborted || this.#fail(error, submission, intent))
      .finally(() => this.#unsent === unsent && (this.#unsent = undefined));
    return undefined;
  }

  /** Settles a submit that the browser posted although the page stays. */
  #stayed(how: Stay, submission: number): void {
    // Another handler may have cancelled it.
    if (!this.locked) return;
    if (how === "not_sent") this.#settle(submission, "failed", "failed");
    else this.#settle(submission, "unknown", "unknown");
  }

  /** Resolves the earlier request, then submits the form again. */
  async #makeRoom(
    intent: string | undefined,
    submitter: HTMLElement | null,
    error: unknown,
    { signal }: AbortController,
  ): Promise<void> {
    // Any other error is the end of the intent, or an error of the page.
    if (intent === undefined || (error !== undefined && !(error instanceof OutcomeUnknownError))) throw error;
    this.#say("inprogress");
    const { status, settled } = await this.#client.end(intent, { signal }, "abandon", this.#emit);
    const { state, key, attempts = 0, httpStatus } = status;
    if (signal.aborted) return;
    if (state === "succeeded") {
      // An entry that is too old to be sent again has the same payload, as far as it can be known.
      if (error) throw new ResponseGoneError({ intent, key, attempts, httpStatus: httpStatus! });
      throw new PayloadChangedError({ intent, key, attempts, outcome: "succeeded", httpStatus });
    } else if (!settled && state !== "idle") {
      throw error ?? new PayloadChangedError({ intent, key, attempts, outcome: "unknown" });
    }
    this.#guard?.resubmit(submitter as never);
  }

  #fail(error: unknown, submission: number, intent: string | undefined): void {
    const isDone = error instanceof ResponseGoneError || (error instanceof AbortedError && error.outcome === "succeeded");
    if (isDone) this.#settle(submission, "succeeded", "succeeded");
    else if (error instanceof OutcomeUnknownError || isUnknown(error) || this.#isOpen(intent)) this.#settle(submission, "unknown", "unknown");
    else if (error instanceof PayloadChangedError) this.#settle(submission, "failed", "changed");
    else this.#settle(submission, "failed", "failed");
    this.#report(error);
  }

  /** Settles a submit, unless the form was released and submitted again since. */
  #settle(submission: number, outcome: "succeeded" | "refused" | "unknown" | "failed", message: keyof GuardMessages): void {
    if (submission !== this.#submission) return;
    if (outcome !== "succeeded") this.#isSent = false;
    this.#guard?.settle(outcome, submission);
    this.#say(message);
  }

  /** Returns whether an earlier submit may have been executed, whatever went wrong with this one. */
  #isOpen(intent: string | undefined): boolean {
    return intent !== undefined && this.#client.core().afterAbort(intent) === "unknown";
  }

  #report(error: unknown): void {
    if (this.#options.onError) this.#options.onError(error, this.#form);
    else reportError(error);
  }

  #say(message: keyof GuardMessages): void {
    this.#guard?.say(this.#messages[message]);
  }

  #intent(): string {
    const { intent } = this.#options;
    return named(typeof intent === "function" ? intent(this.#form) : intent);
  }

  /** Returns the name; undefined if the page's function throws. Used for an event that must be sent in any case. */
  #intentIfAny(): string | undefined {
    try {
      return this.#intent();
    } catch {
      return undefined;
    }
  }

  readonly #emit: Emit = (type, detail) => {
    if (type === "retry" || type === "inprogress") this.#say(type);
    this.#client.emit(type, detail);
    EventTarget.prototype.dispatchEvent.call(this.#form, new CustomEvent(`oncekey:${type}`, { bubbles: true, detail }));
  };

  /** Resets this object when the page comes back from the browser's cache (Back). The guard frees the form then. */
  readonly #onShown = (event: PageTransitionEvent): void => {
    if (!event.persisted) return;
    this.#stopWatch();
    this.#isSent = false;
    this.#guard?.say("");
  };

  readonly #onBlocked = (event: Event): void => {
    this.#client.emit("blocked", (event as CustomEvent<ClientEvents["blocked"]>).detail);
  };
}

function isUnknown(error: unknown): boolean {
  const { outcome } = (error ?? {}) as { outcome?: unknown };
  return outcome === "unknown";
}

/** Returns a signal that aborts when either of the two does. */
function either(theirs: AbortSignal | undefined, ours: AbortSignal): AbortSignal {
  if (!theirs) return ours;
  const both = new AbortController();
  for (const signal of [theirs, ours]) {
    const abort = () => both.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
  }
  return both.signal;
}
