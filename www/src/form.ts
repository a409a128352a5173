// Guards a form: it cannot be submitted twice, and what is sent carries the intent's key.
//
// Locking, focus, labels and the live region are the core's (src/wasm/guard.rs); this is what it calls.

import { OncekeyClient, type Tell } from "./client.js";
import type { Core } from "./core.js";
import { AnswerGoneError, OutcomeUnknownError, PayloadChangedError } from "./errors.js";
import { asNavigated, asSubmitted } from "./form-data.js";
import type { ClientEvents, FormGuard, GuardMessages, GuardOptions } from "./types.js";

const MESSAGES: GuardMessages = {
  busy: "Sending…",
  retry: "No answer yet; trying again. Nothing will be done twice.",
  inprogress: "Still being processed. Nothing will be done twice.",
  succeeded: "Done.",
  refused: "This was not accepted. You can change it and try again.",
  unknown: "We don't know yet whether this went through. You can try again: nothing will be done twice.",
};

type CoreGuard = InstanceType<Core["FormGuard"]>;

export function guardForm(form: HTMLFormElement, options: GuardOptions): FormGuard {
  const { client } = options;
  if (!(client instanceof OncekeyClient)) throw new TypeError("guardForm needs the client that createClient made.");
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
  /** Ends the hold of a form whose guard is not loaded yet. */
  #unhold: (() => void) | undefined;

  constructor(form: HTMLFormElement, options: GuardOptions, client: OncekeyClient) {
    this.#form = form;
    this.#options = options;
    this.#client = client;
    this.#messages = { ...MESSAGES, ...options.messages };
  }

  get locked(): boolean {
    return this.#guard?.locked ?? this.#unhold !== undefined;
  }

  release(): void {
    this.#guard?.release();
  }

  detach(): void {
    this.#detached = true;
    this.#unhold?.();
    this.#guard?.detach();
    this.#guard = undefined;
  }

  attach(core: Core): void {
    const { send = "fetch", keyField, disable, busyLabel } = this.#options;
    const onSubmit = (submitter: HTMLElement | null, data: FormData) =>
      send === "navigate" ? this.#navigate(submitter, data) : void this.#fetch(submitter, data);
    this.#guard = new core.FormGuard(this.#form, { send, keyField, disable, busyLabel } as never, onSubmit as never);
    this.#form.addEventListener("oncekey:blocked", this.#onBlocked);
  }

  /** Wasm is still on its way: the first submit is held until it is here, others are swallowed. */
  attachLater(): void {
    const form = this.#form;
    let held: { submitter: HTMLElement | null } | undefined;
    const hold = (event: SubmitEvent) => {
      event.preventDefault();
      event.stopImmediatePropagation();
      held ??= { submitter: event.submitter };
    };
    form.addEventListener("submit", hold, { capture: true });
    this.#unhold = () => {
      form.removeEventListener("submit", hold, { capture: true });
      this.#unhold = undefined;
    };
    const go = (core: Core) => {
      if (this.#detached) return;
      this.#unhold?.();
      this.attach(core);
      if (held) this.#guard?.resubmit(held.submitter as never);
    };
    this.#client.loaded().then(go).catch((error: unknown) => {
      this.#unhold?.();
      this.#options.onError?.(error, form);
    });
  }

  async #fetch(submitter: HTMLElement | null, data: FormData): Promise<void> {
    const { request = asSubmitted, options = {}, onAnswer } = this.#options;
    this.#say("busy");
    try {
      const { url, init } = await request(this.#form, data, submitter);
      const response = await this.#client.send(this.#intent(), url, init, options, this.#tell);
      const succeeded = response.status < 400;
      this.#settle(succeeded ? "succeeded" : "refused", succeeded ? "succeeded" : "refused");
      await onAnswer?.(response, this.#form);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The key that the browser is to send, or none when the form may not be sent yet. */
  #navigate(submitter: HTMLElement | null, data: FormData): string | undefined {
    this.#say("busy");
    const intent = this.#intent();
    const prepared = asNavigated(this.#form, data, submitter);
    const key = this.#client.navigate(intent, prepared, this.#options.options?.ignore);
    if (key === undefined) {
      this.#makeRoom(intent, submitter).catch((error: unknown) => this.#fail(error));
      return undefined;
    }
    const { attempts = 1 } = this.#client.status(intent);
    this.#tell("attempt", { intent, key, attempt: attempts });
    return key;
  }

  /** What was sent before is resolved first; then the form goes again. */
  async #makeRoom(intent: string, submitter: HTMLElement | null): Promise<void> {
    this.#say("inprogress");
    const { state, key, attempts = 0, httpStatus } = await this.#client.findOut(intent, {}, true, this.#tell);
    if (state === "succeeded") {
      throw new PayloadChangedError({ intent, key, attempts, outcome: "succeeded", httpStatus });
    } else if (state === "sending" || state === "unknown") {
      throw new PayloadChangedError({ intent, key, attempts, outcome: "unknown" });
    }
    this.#guard?.resubmit(submitter as never);
  }

  #fail(error: unknown): void {
    if (error instanceof AnswerGoneError) this.#settle("succeeded", "succeeded");
    else if (error instanceof OutcomeUnknownError || isOpen(error)) this.#settle("unknown", "unknown");
    else this.#settle("failed", "refused");
    if (this.#options.onError) this.#options.onError(error, this.#form);
    else reportError(error);
  }

  #settle(outcome: "succeeded" | "refused" | "unknown" | "failed", message: keyof GuardMessages): void {
    this.#guard?.settle(outcome);
    this.#say(message);
  }

  #say(message: keyof GuardMessages): void {
    this.#guard?.say(this.#messages[message]);
  }

  #intent(): string {
    const { intent } = this.#options;
    return typeof intent === "function" ? intent(this.#form) : intent;
  }

  readonly #tell: Tell = (type, detail) => {
    if (type === "retry" || type === "inprogress") this.#say(type);
    this.#client.tell(type, detail);
    this.#form.dispatchEvent(new CustomEvent(`oncekey:${type}`, { bubbles: true, detail }));
  };

  readonly #onBlocked = (): void => {
    const detail: ClientEvents["blocked"] = { intent: this.#intent() };
    this.#client.tell("blocked", detail);
  };
}

function isOpen(error: unknown): boolean {
  const { outcome } = (error ?? {}) as { outcome?: unknown };
  return outcome === "unknown";
}
