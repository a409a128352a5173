// Guards a form: it cannot be submitted twice, and what is sent carries the intent's key.
//
// Locking, focus, labels and the live region are the core's (www/wasm/src/guard.rs); this is what it calls.

import { OncekeyClient, type Tell, isOpen, named } from "../client/client.js";
import type { Core } from "../core.js";
import { AbortedError, AnswerGoneError, OutcomeUnknownError, PayloadChangedError } from "../errors.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import { GUARD, checkOptions } from "../client/options.js";
import { type Stay, watchStay } from "./stay.js";
import type { ClientEvents, FormGuard, FormRequest, GuardMessages, GuardOptions } from "../types.js";
import { abortable } from "../client/wait.js";

const KEY_FIELD = "idempotency_key";

const MESSAGES: GuardMessages = {
  busy: "Sending…",
  retry: "No answer yet; trying again. Nothing will be done twice.",
  inprogress: "Still being processed. Nothing will be done twice.",
  succeeded: "Done.",
  refused: "This was not accepted. You can change it and try again.",
  failed: "This could not be sent, and nothing was done. You can try again.",
  changed: "This has been done before, with other details. Nothing was done now.",
  unknown: "We don't know yet whether this went through. You can try again: nothing will be done twice.",
};

/** The form's own functions: a control of that name would hide them. */
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
  if (!(client instanceof OncekeyClient)) throw new TypeError("guardForm needs the client that createClient made.");
  if (intent === undefined) throw new TypeError('guardForm needs an intent: its name, such as "order:1042", or a function that gives it.');
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
  /** The submit that waits for the guard to be loaded. */
  #held: { submitter: HTMLElement | null } | undefined;
  /** The number of the last submit that went. */
  #submission = 0;
  /** Whether something of the last submit was sent. */
  #isOut = false;
  /** Ends what is being prepared. */
  #unsent: AbortController | undefined;
  /** Ends the watch on a page whose form the browser has posted. */
  #stopWatch = () => {};
  /** Where a buyer reads that the guard could not be loaded. */
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
    this.#isOut = false;
    this.#guard?.release();
    this.#guard?.say("");
  }

  done(): void {
    this.#held = undefined;
    this.#stopWatch();
    this.#unsent?.abort();
    this.#isOut = true;
    this.#guard?.done();
    this.#say("succeeded");
  }

  cancel(): boolean {
    if (!this.locked || this.#isOut) return false;
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
      this.#isOut = false;
      return send === "navigate" ? this.#navigate(submitter, data, submission) : void this.#fetch(submitter, data, submission);
    };
    const detail = (): ClientEvents["blocked"] => ({ intent: this.#intent() });
    const all = { send, keyField, disable, busyLabel, detail };
    this.#guard = new core.FormGuard(this.#form, all as never, onSubmit as never);
    listen(this.#form, "oncekey:blocked", this.#onBlocked);
    addEventListener("pageshow", this.#onShown);
  }

  /** Wasm is still on its way: the first submit is held until it is here, others are swallowed. */
  attachLater(): void {
    listen(this.#form, "submit", this.#hold, true);
    this.#load();
  }

  readonly #hold = (event: SubmitEvent): void => {
    const method = event.submitter?.getAttribute("formmethod")?.toLowerCase();
    // None of the guard's business, now as later.
    if (event.defaultPrevented || (method !== undefined && method !== "post")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (this.#held) this.#tell("blocked", { intent: this.#intent() });
    else this.#held = { submitter: event.submitter };
    this.#load();
  };

  /** After a failure the next submit tries again: without a guard it would go without a key. */
  #load(): void {
    this.#loading ??= this.#client
      .loaded()
      .then((core) => this.#loaded(core))
      .catch((error: unknown) => {
        if (this.#detached) return;
        this.#loading = undefined;
        const wasHeld = this.#held !== undefined;
        this.#held = undefined;
        this.#tell("guard-failed", { intent: this.#intentIfAny(), reason: String(error), held: wasHeld });
        // The submit has not vanished: the buyer reads that it was not sent.
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
      // A form that cannot be guarded does not go without a key.
      listen(this.#form, "submit", this.#hold, true);
      throw error;
    }
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    // The button may have left the form meanwhile.
    const { submitter } = held;
    const isThere = submitter !== null && (submitter as HTMLButtonElement).form === this.#form;
    HTMLFormElement.prototype.requestSubmit.call(this.#form, isThere ? submitter : null);
  }

  /** Says it where the page has a place for it, or below the form: there is no guard yet that could. */
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
    const { request = asSubmitted, options = {}, onAnswer, keyField = KEY_FIELD } = this.#options;
    this.#say("busy");
    let response: Response;
    let intent: string | undefined;
    const unsent = new AbortController();
    this.#unsent = unsent;
    const { signal } = unsent;
    // What is under way is not cancelled: whether it is executed would be unknown.
    const sends = () => {
      if (this.#unsent !== unsent) return;
      this.#unsent = undefined;
      this.#isOut = true;
    };
    try {
      // As the form is now: the request may take its time.
      intent = this.#intent();
      const made: Promise<FormRequest> = Promise.resolve(request(this.#form, data, submitter));
      const { url, init } = await abortable(made, signal);
      const tell: Tell = (type, detail) => {
        if (type === "attempt") sends();
        this.#tell(type, detail);
      };
      const both = either(init.signal ?? undefined, signal);
      const field = request === asSubmitted ? keyField : undefined;
      response = await this.#client.send(intent, url, { ...init, signal: both }, options, tell, field);
    } catch (error) {
      if (this.#unsent === unsent) this.#unsent = undefined;
      // The page has cancelled it, or said that it is done.
      if (!signal.aborted) this.#fail(error, submission, intent);
      return;
    }
    sends();
    const outcome = response.status < 400 ? "succeeded" : "refused";
    this.#settle(submission, outcome, outcome);
    try {
      await onAnswer?.(response, this.#form);
    } catch (error) {
      // The page's own mistake. The buyer's order is what it is.
      reportError(error);
    }
  }

  /** The key that the browser is to send, or none when the form may not be sent yet, or not at all. */
  #navigate(submitter: HTMLElement | null, data: FormData, submission: number): string | undefined {
    this.#say("busy");
    let intent: string | undefined;
    let error: unknown;
    try {
      intent = this.#intent();
      const prepared = asNavigated(this.#form, data, submitter, this.#options.keyField ?? KEY_FIELD);
      const { key, stays, ...end } = this.#client.navigate(intent, prepared, this.#options.options?.ignore, this.#tell);
      if (key !== undefined) {
        const { attempts = 1 } = this.#client.status(intent);
        this.#tell("attempt", { intent, key, attempt: attempts });
        this.#isOut = true;
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

  /** The browser has posted the form, and the page is still here. */
  #stayed(how: Stay, submission: number): void {
    // Another handler may have cancelled it.
    if (!this.locked) return;
    if (how === "not_sent") this.#settle(submission, "failed", "failed");
    else this.#settle(submission, "unknown", "unknown");
  }

  /** What was sent before is resolved first; then the form goes again. */
  async #makeRoom(
    intent: string | undefined,
    submitter: HTMLElement | null,
    error: unknown,
    { signal }: AbortController,
  ): Promise<void> {
    // The end of the intent, or the page's own mistake.
    if (intent === undefined || (error !== undefined && !(error instanceof OutcomeUnknownError))) throw error;
    this.#say("inprogress");
    const { state, key, attempts = 0, httpStatus } = await this.#client.findOut(intent, { signal }, true, this.#tell);
    if (signal.aborted) return;
    if (state === "succeeded") {
      // One that is too old to be asked again is the same payload, as far as anybody can tell.
      if (error) throw new AnswerGoneError({ intent, key, attempts, httpStatus: httpStatus! });
      throw new PayloadChangedError({ intent, key, attempts, outcome: "succeeded", httpStatus });
    } else if (state === "sending" || state === "unknown" || state === "prepared") {
      throw error ?? new PayloadChangedError({ intent, key, attempts, outcome: "unknown" });
    }
    this.#guard?.resubmit(submitter as never);
  }

  #fail(error: unknown, submission: number, intent: string | undefined): void {
    const isDone = error instanceof AnswerGoneError || (error instanceof AbortedError && error.outcome === "succeeded");
    if (isDone) this.#settle(submission, "succeeded", "succeeded");
    else if (error instanceof OutcomeUnknownError || isUnknown(error) || this.#isOpen(intent)) this.#settle(submission, "unknown", "unknown");
    else if (error instanceof PayloadChangedError) this.#settle(submission, "failed", "changed");
    else this.#settle(submission, "failed", "failed");
    this.#report(error);
  }

  /** The end of a submit, unless the form was released and submitted again since. */
  #settle(submission: number, outcome: "succeeded" | "refused" | "unknown" | "failed", message: keyof GuardMessages): void {
    if (submission !== this.#submission) return;
    if (outcome !== "succeeded") this.#isOut = false;
    this.#guard?.settle(outcome, submission);
    this.#say(message);
  }

  /** Whether an earlier submit may have been executed, whatever went wrong with this one. */
  #isOpen(intent: string | undefined): boolean {
    return intent !== undefined && isOpen(this.#client.status(intent));
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

  /** For an event that has to be told whatever the page's own function does. */
  #intentIfAny(): string | undefined {
    try {
      return this.#intent();
    } catch {
      return undefined;
    }
  }

  readonly #tell: Tell = (type, detail) => {
    if (type === "retry" || type === "inprogress") this.#say(type);
    this.#client.tell(type, detail);
    EventTarget.prototype.dispatchEvent.call(this.#form, new CustomEvent(`oncekey:${type}`, { bubbles: true, detail }));
  };

  /** Back from the browser's cache the form is free (the guard sees to that), and nothing is being sent. */
  readonly #onShown = (event: PageTransitionEvent): void => {
    if (!event.persisted) return;
    this.#stopWatch();
    this.#isOut = false;
    this.#guard?.say("");
  };

  readonly #onBlocked = (event: Event): void => {
    this.#client.tell("blocked", (event as CustomEvent<ClientEvents["blocked"]>).detail);
  };
}

function isUnknown(error: unknown): boolean {
  const { outcome } = (error ?? {}) as { outcome?: unknown };
  return outcome === "unknown";
}

/** A signal that aborts when either of them does. */
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
