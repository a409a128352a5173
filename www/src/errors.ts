// The errors of calls that end without a response for the caller. No error contains a body.

/** The members that every error of this package has. */
export interface IntentErrorDetail {
  /** The intent's name. */
  intent: string;
  /** The key, if there is one. The merchant's support can look up the payment by it. */
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

const AGAIN = "Call again, or call resolve(). Nothing is executed twice.";
/** What to do if calling again does not help, by the reason. */
const NEXT: Record<string, string> = {
  // The stored entry has another key now, or is gone. The next call would not send this key.
  overtaken: "Its key is no longer stored. Look up the result before you call again.",
  too_old: "The server may have forgotten its key. Call resolve(), or look up the result.",
  // The hint says what to do.
  credential: "",
  unreadable: "Look up the result, then call forget().",
};

/**
 * It is unknown whether the request was executed. The key is kept, so the same call is safe to repeat, and
 * `intent.resolve()` asks the server.
 */
export class OutcomeUnknownError extends IntentError {
  override readonly name = "OutcomeUnknownError";
  /**
   * Why no further attempt is made: "retries_used_up", "time_used_up", "outcome" (a retry would not help), "too_old" (the
   * server may have forgotten the key), "unreadable" (the stored entry), "overtaken" (the intent was forgotten, or has
   * another key now), "credential" (the request's credential is not available for key calls; the hint says what differs).
   */
  readonly reason: string;
  /** Why the last attempt settled nothing: "network", "timed_out", "cut", "status", "not_the_api", "no_proof", "redirected" … */
  readonly unknownReason?: string;
  /** What to check first, if something is likely wrong. */
  readonly hint?: string;
  /** The last response, if there was one. */
  readonly response?: Response;

  constructor(
    detail: IntentErrorDetail & { reason: string; unknownReason?: string; hint?: string; response?: Response; cause?: unknown },
  ) {
    const { reason, unknownReason, hint, response, cause } = detail;
    const why = unknownReason ? `${reason}, ${unknownReason}` : reason;
    super(
      [`The outcome of "${detail.intent}" is unknown (${why}).`, NEXT[reason] ?? AGAIN, hint].filter(Boolean).join(" "),
      detail,
      cause === undefined ? undefined : { cause },
    );
    this.reason = reason;
    this.unknownReason = unknownReason;
    this.hint = hint;
    this.response = response;
  }
}

/** The intent was used with another payload before. The new payload was not sent. */
export class PayloadChangedError extends IntentError {
  override readonly name = "PayloadChangedError";
  /** `succeeded`: the intent is done, use a new name. `unknown`: the earlier request is still unresolved. */
  readonly outcome: "succeeded" | "unknown";
  readonly httpStatus?: number;
  /** What to check first, if the reason suggests something. */
  readonly hint?: string;

  constructor(detail: IntentErrorDetail & { outcome: "succeeded" | "unknown"; httpStatus?: number; hint?: string }) {
    super(
      detail.outcome === "succeeded"
        ? `"${detail.intent}" has succeeded with another payload. Use a new intent, or call forget() first.`
        : `The payload of "${detail.intent}" changed while an earlier request is still unresolved. Call resolve() first.` +
            (detail.hint ? ` ${detail.hint}` : ""),
      detail,
    );
    this.outcome = detail.outcome;
    this.hint = detail.hint;
    this.httpStatus = detail.httpStatus;
  }
}

/** The intent has succeeded, and the server no longer has its response. */
export class ResponseGoneError extends IntentError {
  override readonly name = "ResponseGoneError";
  readonly httpStatus: number;

  constructor(detail: IntentErrorDetail & { httpStatus: number }) {
    super(`"${detail.intent}" has succeeded, but its response is no longer available. Do not send it again.`, detail);
    this.httpStatus = detail.httpStatus;
  }
}

/** The key belongs to another request. Nothing was executed. The next call uses a new key. */
export class KeyReusedError extends IntentError {
  override readonly name = "KeyReusedError";
  /** The response of the server. */
  readonly response?: Response;

  constructor(detail: IntentErrorDetail & { response?: Response }) {
    super(`The key of "${detail.intent}" belongs to another request. Call again to use a new key.`, detail);
    this.response = detail.response;
  }
}

/** The key was voided: nothing was executed under it, and nothing will be. The next call uses a new key. */
export class KeyVoidedError extends IntentError {
  override readonly name = "KeyVoidedError";

  constructor(detail: IntentErrorDetail) {
    super(`The key of "${detail.intent}" was voided. Call again to use a new key.`, detail);
  }
}

/** The caller's signal ended the call. `outcome` says what is known. The key is kept. */
export class AbortedError extends IntentError {
  override readonly name = "AbortError";
  /**
   * `unknown`: an attempt may have been executed. `not_sent`: no attempt was executed. `succeeded`: an earlier attempt
   * succeeded.
   */
  readonly outcome: "unknown" | "not_sent" | "succeeded";

  constructor(detail: IntentErrorDetail & { outcome: AbortedError["outcome"]; cause: unknown }) {
    super(
      {
        unknown: `The call for "${detail.intent}" was aborted, and it is unknown whether it was executed. Call again, or call resolve().`,
        not_sent: `The call for "${detail.intent}" was aborted before anything was executed.`,
        succeeded: `The call for "${detail.intent}" was aborted. An earlier request has succeeded.`,
      }[detail.outcome],
      detail,
      { cause: detail.cause },
    );
    this.outcome = detail.outcome;
  }
}
