// Guards a form: it cannot be submitted twice, and what is sent carries the intent's key.
//
// Locking, focus, labels and the live region are the core's (src/wasm/guard.rs); this is what it calls.

import { OncekeyClient, type Tell, isOpen, named } from "./client.js";
import type { Core } from "./core.js";
import { AbortedError, AnswerGoneError, OutcomeUnknownError, PayloadChangedError } from "./errors.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import { GUARD, checkOptions } from "./options.js";
import type { ClientEvents, FormGuard, GuardMessages, GuardOptions } from "./types.js";

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
    this.#guard?.release();
    this.#guard?.say("");
  }

  detach(): void {
    this.#detached = true;
    this.#held = undefined;
    this.#form.removeEventListener("submit", this.#hold, { capture: true });
    this.#form.removeEventListener("oncekey:blocked", this.#onBlocked);
    removeEventListener("pageshow", this.#onShown);
    this.#guard?.detach();
    this.#guard = undefined;
  }

  attach(core: Core): void {
    const { send = "fetch", keyField, disable, busyLabel } = this.#options;
    const onSubmit = (submitter: HTMLElement | null, data: FormData, submission: number) => {
      this.#submission = submission;
      return send === "navigate" ? this.#navigate(submitter, data, submission) : void this.#fetch(submitter, data, submission);
    };
    const detail = (): ClientEvents["blocked"] => ({ intent: this.#intent() });
    const all = { send, keyField, disable, busyLabel, detail };
    this.#guard = new core.FormGuard(this.#form, all as never, onSubmit as never);
    this.#form.addEventListener("oncekey:blocked", this.#onBlocked);
    addEventListener("pageshow", this.#onShown);
  }

  /** Wasm is still on its way: the first submit is held until it is here, others are swallowed. */
  attachLater(): void {
    this.#form.addEventListener("submit", this.#hold, { capture: true });
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
    this.#loading ??= this.#client.loaded().then(
      (core) => this.#loaded(core),
      (error: unknown) => {
        this.#loading = undefined;
        this.#held = undefined;
        this.#report(error);
      },
    );
  }

  #loaded(core: Core): void {
    if (this.#detached) return;
    this.#form.removeEventListener("submit", this.#hold, { capture: true });
    this.attach(core);
    const held = this.#held;
    this.#held = undefined;
    if (!held) return;
    // The button may have left the form meanwhile.
    const { submitter } = held;
    const isThere = submitter !== null && (submitter as HTMLButtonElement).form === this.#form;
    HTMLFormElement.prototype.requestSubmit.call(this.#form, isThere ? submitter : null);
  }

  async #fetch(submitter: HTMLElement | null, data: FormData, submission: number): Promise<void> {
    const { request = asSubmitted, options = {}, onAnswer } = this.#options;
    this.#say("busy");
    let response: Response;
    let intent: string | undefined;
    try {
      // As the form is now: the request may take its time.
      intent = this.#intent();
      const { url, init } = await request(this.#form, data, submitter);
      response = await this.#client.send(intent, url, init, options, this.#tell);
    } catch (error) {
      this.#fail(error, submission, intent);
      return;
    }
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
      const prepared = asNavigated(this.#form, data, submitter);
      const { key, ...end } = this.#client.navigate(intent, prepared, this.#options.options?.ignore, this.#tell);
      if (key !== undefined) {
        const { attempts = 1 } = this.#client.status(intent);
        this.#tell("attempt", { intent, key, attempt: attempts });
        return key;
      }
      error = end.error;
    } catch (mistake) {
      error = mistake;
    }
    this.#makeRoom(intent, submitter, error).catch((error: unknown) => this.#fail(error, submission, intent));
    return undefined;
  }

  /** What was sent before is resolved first; then the form goes again. */
  async #makeRoom(intent: string | undefined, submitter: HTMLElement | null, error: unknown): Promise<void> {
    // The end of the intent, or the page's own mistake.
    if (intent === undefined || (error !== undefined && !(error instanceof OutcomeUnknownError))) throw error;
    this.#say("inprogress");
    const { state, key, attempts = 0, httpStatus } = await this.#client.findOut(intent, {}, true, this.#tell);
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

  readonly #tell: Tell = (type, detail) => {
    if (type === "retry" || type === "inprogress") this.#say(type);
    this.#client.tell(type, detail);
    this.#form.dispatchEvent(new CustomEvent(`oncekey:${type}`, { bubbles: true, detail }));
  };

  /** Back from the browser's cache the form is free (the guard sees to that), and nothing is being sent. */
  readonly #onShown = (event: PageTransitionEvent): void => {
    if (event.persisted) this.#guard?.say("");
  };

  readonly #onBlocked = (event: Event): void => {
    this.#client.tell("blocked", (event as CustomEvent<ClientEvents["blocked"]>).detail);
  };
}

function isUnknown(error: unknown): boolean {
  const { outcome } = (error ?? {}) as { outcome?: unknown };
  return outcome === "unknown";
}
