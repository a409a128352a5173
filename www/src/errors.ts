// Why a call ended without the answer. None of them holds a body.

/** What every error of this package has. */
export interface IntentErrorDetail {
  /** The intent's name. */
  intent: string;
  /** Its key, where it has one: what a merchant's support can look up. */
  key?: string;
  /** How many attempts were sent with the key. */
  attempts: number;
}

abstract class IntentError extends Error implements IntentErrorDetail {
  readonly intent: string;
  readonly key?: string;
  readonly attempts: number;

  constructor(message: string, detail: IntentErrorDetail, options?: ErrorOptions) {
    super(message, options);
    this.intent = detail.intent;
    this.key = detail.key;
    this.attempts = detail.attempts;
  }
}

const AGAIN = "Nothing is done twice: call again, or find out with resolve().";
/** Where to call again is not the way. */
const NEXT: Record<string, string> = {
  // What is stored has another key by now, or none: the next call would not send this one's.
  overtaken: "Its key is not stored any more: find out at the server before you call again.",
  too_old: "It is not sent any more: find out with resolve(), or at the server.",
  credential: "Nothing was asked, and nothing was given up.",
  unreadable: "Nothing is sent for it: find out at the server, and forget() it then.",
};

/**
 * Nobody here knows whether the request was executed. The key is kept: the same call again is safe, and
 * `intent.resolve()` finds out.
 */
export class OutcomeUnknownError extends IntentError {
  override readonly name = "OutcomeUnknownError";
  /**
   * Why no further attempt is made: "retries_used_up", "time_used_up", "outcome" (asking again would not tell),
   * "too_old" (the server may have forgotten the key), "unreadable" (what is stored), "overtaken" (forgotten, or
   * gone on elsewhere), "credential" (key calls cannot be made under that of the request; the hint says what differs).
   */
  readonly reason: string;
  /** What the last attempt left in doubt: "network", "timed_out", "cut", "status", "not_the_api", "no_proof", "redirected" … */
  readonly doubt?: string;
  /** What is likely wrong, where there is something to mend. */
  readonly hint?: string;
  /** The last answer, if there was one. */
  readonly response?: Response;

  constructor(
    detail: IntentErrorDetail & { reason: string; doubt?: string; hint?: string; response?: Response; cause?: unknown },
  ) {
    const { reason, doubt, hint, response, cause } = detail;
    const why = doubt ? `${reason}, ${doubt}` : reason;
    super(
      `The outcome of "${detail.intent}" is unknown (${why}). ${NEXT[reason] ?? AGAIN}` + (hint ? ` ${hint}` : ""),
      detail,
      cause === undefined ? undefined : { cause },
    );
    this.reason = reason;
    this.doubt = doubt;
    this.hint = hint;
    this.response = response;
  }
}

/** The request is not the one that the intent stands for, and its key does not fit. Nothing was sent. */
export class PayloadChangedError extends IntentError {
  override readonly name = "PayloadChangedError";
  /** `succeeded`: it is done, name a new intent. `unknown`: the earlier request's outcome could not be found out. */
  readonly outcome: "succeeded" | "unknown";
  readonly httpStatus?: number;
  /** What is likely wrong, where there is something to mend. */
  readonly hint?: string;

  constructor(detail: IntentErrorDetail & { outcome: "succeeded" | "unknown"; httpStatus?: number; hint?: string }) {
    super(
      detail.outcome === "succeeded"
        ? `"${detail.intent}" has succeeded with another payload. Name a new intent, or forget() this one.`
        : `The payload of "${detail.intent}" was changed while the outcome of the earlier one is unknown, and it could not be found out. Try again later.` +
            (detail.hint ? ` ${detail.hint}` : ""),
      detail,
    );
    this.outcome = detail.outcome;
    this.hint = detail.hint;
    this.httpStatus = detail.httpStatus;
  }
}

/** The intent has succeeded, and its answer cannot be had again. */
export class AnswerGoneError extends IntentError {
  override readonly name = "AnswerGoneError";
  readonly httpStatus: number;

  constructor(detail: IntentErrorDetail & { httpStatus: number }) {
    super(`"${detail.intent}" has succeeded, but its answer could not be had again.`, detail);
    this.httpStatus = detail.httpStatus;
  }
}

/** The server knows the key from another request. Nothing was executed; the next call takes a new key. */
export class KeyReusedError extends IntentError {
  override readonly name = "KeyReusedError";
  /** The server's answer. */
  readonly response?: Response;

  constructor(detail: IntentErrorDetail & { response?: Response }) {
    super(`The key of "${detail.intent}" was used for another request. Call again: it will take a new key.`, detail);
    this.response = detail.response;
  }
}

/** The key was given up: nothing was executed under it, and nothing will be. The next call takes a new one. */
export class KeyVoidedError extends IntentError {
  override readonly name = "KeyVoidedError";

  constructor(detail: IntentErrorDetail) {
    super(`The key of "${detail.intent}" was given up. Call again: it will take a new key.`, detail);
  }
}

/** The caller's signal ended the call. `outcome` tells what that leaves open; the key is kept. */
export class AbortedError extends IntentError {
  override readonly name = "AbortError";
  /** `unknown`: an attempt may have been executed. `not_sent`: surely none was. `succeeded`: an earlier one has. */
  readonly outcome: "unknown" | "not_sent" | "succeeded";

  constructor(detail: IntentErrorDetail & { outcome: AbortedError["outcome"]; cause: unknown }) {
    super(
      {
        unknown: `The call for "${detail.intent}" was aborted; whether it was executed is unknown. Its key is kept.`,
        not_sent: `The call for "${detail.intent}" was aborted before anything was executed.`,
        succeeded: `The call for "${detail.intent}" was aborted. It had succeeded before.`,
      }[detail.outcome],
      detail,
      { cause: detail.cause },
    );
    this.outcome = detail.outcome;
  }
}
