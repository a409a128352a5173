// Sends a guarded form, by `fetch` or by the browser. Needs the core.

import type { Emit, OncekeyClient, Submitted } from "../client/client.js";
import { abortable } from "../client/wait.js";
import { AbortedError, OutcomeUnknownError, PayloadChangedError, ResponseGoneError } from "../errors.js";
import type { FormRequest, GuardMessages, GuardOptions } from "../types.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import { type Stay, watchStay } from "./stay.js";

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
  readonly client: OncekeyClient;
  readonly keyField: string;
  readonly locked: boolean;
  readonly emit: Emit;
  intent(): string;
  resubmit(submit: Submit): void;
  sent(submit: Submit): void;
  settle(submit: Submit, outcome: "succeeded" | "refused" | "unknown" | "failed", message: keyof GuardMessages): void;
  say(message: keyof GuardMessages): void;
  report(error: unknown): void;
}

export class FormSender {
  readonly #of: SentForm;

  constructor(of: SentForm) {
    this.#of = of;
  }

  async fetch(submit: Submit): Promise<void> {
    const { form, client, keyField } = this.#of;
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
        this.#of.emit(type, detail);
      };
      const both = either(init.signal ?? undefined, signal);
      const field = request === asSubmitted ? keyField : undefined;
      submitted = await client.submit(intent, url, { ...init, signal: both }, options, emit, field);
    } catch (error) {
      submit.unsent = undefined;
      // After the page called `cancel` or `done`, the error is not reported.
      if (!signal.aborted) this.#fail(error, submit, intent);
      return;
    }
    this.#of.sent(submit);
    const { response, outcome } = submitted;
    this.#of.settle(submit, outcome, outcome);
    try {
      await onResponse?.(response, form, outcome);
    } catch (error) {
      // An error of the page does not change the outcome of the order.
      reportError(error);
    }
  }

  /** Returns the key that the browser sends, or nothing if the form must not be sent yet. */
  navigate(submit: Submit): string | undefined {
    const { form, client, emit } = this.#of;
    const { submitter, data } = submit;
    let intent: string | undefined;
    let error: unknown;
    try {
      intent = this.#of.intent();
      const prepared = asNavigated(form, data, submitter, this.#of.keyField);
      const { key, stays, ...end } = client.navigate(intent, prepared, this.#of.options.options?.ignore, emit);
      if (key !== undefined) {
        const { attempts = 1 } = client.status(intent);
        emit("attempt", { intent, key, attempt: attempts });
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
    this.#of.settle(submit, outcome, outcome);
  }

  /** Resolves the earlier request, then submits the form again. */
  async #makeRoom(intent: string | undefined, submit: Submit, error: unknown, signal: AbortSignal): Promise<void> {
    // Any other error is the end of the intent, or an error of the page.
    if (intent === undefined || (error !== undefined && !(error instanceof OutcomeUnknownError))) throw error;
    this.#of.say("inprogress");
    const { status, settled } = await this.#of.client.end(intent, { signal }, "abandon", this.#of.emit);
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

  #fail(error: unknown, submit: Submit, intent: string | undefined): void {
    const isDone = error instanceof ResponseGoneError || (error instanceof AbortedError && error.outcome === "succeeded");
    if (isDone) this.#of.settle(submit, "succeeded", "succeeded");
    else if (error instanceof OutcomeUnknownError || isUnknown(error) || this.#isOpen(intent)) this.#of.settle(submit, "unknown", "unknown");
    else if (error instanceof PayloadChangedError) this.#of.settle(submit, "failed", "changed");
    else this.#of.settle(submit, "failed", "failed");
    this.#of.report(error);
  }

  /** Returns whether an earlier submit may have been executed, whatever went wrong with this one. */
  #isOpen(intent: string | undefined): boolean {
    return intent !== undefined && this.#of.client.core().afterAbort(intent) === "unknown";
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
