// Sends a guarded form, by `fetch` or by the browser. Needs the core.

import type { Engine, Submitted } from "../client/engine.js";
import type { Emit } from "../client/events.js";
import { abortable } from "../client/wait.js";
import { AbortedError, OutcomeUnknownError, PayloadChangedError, ResponseGoneError } from "../errors.js";
import type { FormRequest, GuardMessages, GuardOptions } from "../types.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import { type Stay, watchStay } from "./stay.js";

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

/** A submit that the guard let through. */
export interface Submit {
  readonly submitter: HTMLElement | null;
  readonly data: FormData;
  /** The number of the submit, for the guard. */
  readonly number: number;
  /** Ends the preparation of the submit; undefined when it was sent. */
  unsent: AbortController | undefined;
  /** Stops watching whether the page stays after the browser posted the form. */
  stopWatch?: () => void;
}

/** What the sender needs of a guarded form. */
export interface SentForm {
  readonly form: HTMLFormElement;
  readonly options: GuardOptions;
  readonly keyField: string;
  readonly locked: boolean;
  readonly emit: Emit;
  intent(): string;
  resubmit(submit: Submit): void;
  sent(submit: Submit): void;
  settle(submit: Submit, outcome: "succeeded" | "refused" | "unknown" | "failed", text: string): void;
  say(text: string): void;
  report(error: unknown): void;
}

export class FormSender {
  readonly #of: SentForm;
  readonly #engine: Engine;

  constructor(of: SentForm, engine: Engine) {
    this.#of = of;
    this.#engine = engine;
  }

  async fetch(submit: Submit): Promise<void> {
    const { form, keyField } = this.#of;
    const { request = asSubmitted, options = {}, onResponse } = this.#of.options;
    const { signal } = submit.unsent!;
    let submitted: Submitted;
    let intent: string | undefined;
    try {
      // The name comes from the form as it is now; `request` may take time.
      intent = this.#of.intent();
      const made: Promise<FormRequest> = Promise.resolve(request(form, submit.data, submit.submitter));
      const { url, init } = await abortable(made, signal);
      const emit: Emit = (type, detail) => {
        // An attempt that was sent is not cancelled, because its outcome would be unknown.
        if (type === "attempt") this.#of.sent(submit);
        this.#emit(type, detail);
      };
      const both = either(init.signal ?? undefined, signal);
      const field = request === asSubmitted ? keyField : undefined;
      submitted = await this.#engine.submit(intent, url, { ...init, signal: both }, options, emit, field);
    } catch (error) {
      submit.unsent = undefined;
      // After the page called `cancel` or `done`, the error is not reported.
      if (!signal.aborted) this.#fail(error, submit, intent);
      return;
    }
    this.#of.sent(submit);
    const { response, outcome } = submitted;
    this.#settle(submit, outcome, outcome);
    try {
      await onResponse?.(response, form, outcome);
    } catch (error) {
      // An error of the page does not change the outcome of the order.
      reportError(error);
    }
  }

  /** Returns the key that the browser sends, or nothing if the form must not be sent yet. */
  navigate(submit: Submit): string | undefined {
    const { form } = this.#of;
    const { submitter, data } = submit;
    let intent: string | undefined;
    let error: unknown;
    try {
      intent = this.#of.intent();
      const prepared = asNavigated(form, data, submitter, this.#of.keyField);
      const { key, stays, ...end } = this.#engine.navigate(intent, prepared, this.#of.options.options?.ignore, this.#emit);
      if (key !== undefined) {
        const { attempts = 1 } = this.#engine.status(intent);
        this.#emit("attempt", { intent, key, attempt: attempts });
        this.#of.sent(submit);
        submit.stopWatch = watchStay(form, submitter, (how) => {
          stays!(how);
          this.#stayed(how, submit);
        });
        return key;
      }
      error = end.error;
    } catch (mistake) {
      error = mistake;
    }
    const { signal } = (submit.unsent ??= new AbortController());
    this.#makeRoom(intent, submit, error, signal)
      .catch((error: unknown) => signal.aborted || this.#fail(error, submit, intent))
      .finally(() => (submit.unsent = undefined));
    return undefined;
  }

  /** Settles a submit that the browser posted although the page stays. */
  #stayed(how: Stay, submit: Submit): void {
    // Another handler may have cancelled it.
    if (!this.#of.locked) return;
    const outcome = how === "not_sent" ? "failed" : "unknown";
    this.#settle(submit, outcome, outcome);
  }

  /** Resolves the earlier request, then submits the form again. */
  async #makeRoom(intent: string | undefined, submit: Submit, error: unknown, signal: AbortSignal): Promise<void> {
    // Any other error is the end of the intent, or an error of the page.
    if (intent === undefined || (error !== undefined && !(error instanceof OutcomeUnknownError))) throw error;
    this.#say("inprogress");
    const { status, settled } = await this.#engine.end(intent, { signal }, "abandon", this.#emit);
    const { state, key, attempts = 0, httpStatus } = status;
    if (signal.aborted) return;
    if (state === "succeeded") {
      // An entry that is too old to be sent again has the same payload, as far as it can be known.
      if (error) throw new ResponseGoneError({ intent, key, attempts, httpStatus: httpStatus! });
      throw new PayloadChangedError({ intent, key, attempts, outcome: "succeeded", httpStatus });
    } else if (!settled && state !== "idle") {
      throw error ?? new PayloadChangedError({ intent, key, attempts, outcome: "unknown" });
    }
    this.#of.resubmit(submit);
  }

  #settle(submit: Submit, outcome: "succeeded" | "refused" | "unknown" | "failed", message: keyof GuardMessages): void {
    this.#of.settle(submit, outcome, this.#text(message));
  }

  #say(message: keyof GuardMessages): void {
    this.#of.say(this.#text(message));
  }

  #text(message: keyof GuardMessages): string {
    return this.#of.options.messages?.[message] ?? MESSAGES[message];
  }

  readonly #emit: Emit = (type, detail) => {
    if (type === "retry" || type === "inprogress") this.#say(type);
    this.#of.emit(type, detail);
  };

  #fail(error: unknown, submit: Submit, intent: string | undefined): void {
    const isDone = error instanceof ResponseGoneError || (error instanceof AbortedError && error.outcome === "succeeded");
    if (isDone) this.#settle(submit, "succeeded", "succeeded");
    else if (error instanceof OutcomeUnknownError || isUnknown(error) || this.#isOpen(intent)) this.#settle(submit, "unknown", "unknown");
    else if (error instanceof PayloadChangedError) this.#settle(submit, "failed", "changed");
    else this.#settle(submit, "failed", "failed");
    this.#of.report(error);
  }

  /** Returns whether an earlier submit may have been executed, whatever went wrong with this one. */
  #isOpen(intent: string | undefined): boolean {
    return intent !== undefined && this.#engine.afterAbort(intent) === "unknown";
  }
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
