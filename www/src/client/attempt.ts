// One attempt: sends the request and reads the response to its end.

import type { Prepared } from "./request.js";
import { abortable, timer } from "./wait.js";

/** The parts of a response that the core reads. */
export interface ResponseSummary {
  status: number;
  headers: Headers;
  body: "whole" | "empty" | "cut";
  redirected: boolean;
  errorType?: string;
  errorCode?: string;
}

export type AttemptResult =
  | { summary: ResponseSummary; response: Response }
  | { failed: "network" | "timeout" | "aborted"; cause: unknown };

export interface AttemptOptions {
  fetch: typeof fetch;
  key: string;
  timeout: number;
  signal: AbortSignal | undefined;
  validate?: ((response: Response) => boolean | Promise<boolean>) | undefined;
  /** Whether a `Content-Type` is that of JSON. */
  isJson(contentType: string): boolean;
}

/** Sends a request once. Notes itself whether a time-out or an abort ended it, because errors differ among browsers. */
export async function attempt(prepared: Prepared, options: AttemptOptions): Promise<AttemptResult> {
  const { signal } = options;
  const controller = new AbortController();
  let ended: "timeout" | "aborted" | undefined;
  const end = (how: "timeout" | "aborted") => {
    ended ??= how;
    controller.abort();
  };
  const onAbort = () => end("aborted");
  const stop = timer(options.timeout, () => end("timeout"));
  signal?.addEventListener("abort", onAbort);
  if (signal?.aborted) onAbort();
  try {
    const headers = new Headers(prepared.headers);
    headers.set(prepared.keyHeader!, prepared.ownKey ?? options.key);
    const send = async () => {
      const response = await options.fetch.call(globalThis, prepared.url.href, {
        ...prepared.init,
        method: prepared.method,
        headers,
        body: prepared.body ?? null,
        signal: controller.signal,
      });
      return await readResponse(response, options);
    };
    // A `fetch` of the page and `validate` may ignore the signal.
    return await abortable(send(), controller.signal);
  } catch (cause) {
    return { failed: ended ?? "network", cause: ended === "aborted" ? signal?.reason : cause };
  } finally {
    stop();
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Reads a copy of the response to its end. The caller gets the response itself, unread. */
async function readResponse(response: Response, { validate, isJson }: AttemptOptions): Promise<AttemptResult> {
  const { status, headers } = response;
  // A `fetch` of the page may return something that only resembles a response.
  const summary: ResponseSummary = { status, headers, redirected: response.redirected === true, body: "whole" };
  const text = await readText(response.clone());
  if (text === undefined) {
    summary.body = "cut";
  } else if (text.length === 0) {
    summary.body = "empty";
  } else if (isJson(headers.get("content-type") ?? "")) {
    try {
      Object.assign(summary, errorIn(JSON.parse(text)));
    } catch {
      summary.body = "cut";
    }
  }
  if (summary.body !== "cut" && validate && !(await isValid(validate, response.clone()))) summary.body = "cut";
  return { summary, response };
}

/** Returns whether `validate` accepts the response. An error that it throws counts as a no. */
async function isValid(validate: NonNullable<AttemptOptions["validate"]>, copy: Response): Promise<boolean> {
  try {
    return await validate(copy);
  } catch {
    return false;
  }
}

/** Returns the body; undefined if it broke off. Throws after a time-out or an abort. */
async function readText(response: Response): Promise<string | undefined> {
  try {
    return await response.text();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns `type` and `code` of an error, from the top or from its member `error`. */
function errorIn(body: unknown): { errorType?: string; errorCode?: string } {
  const top = memberOf(body);
  const error = top("code") === undefined && top("type") === undefined ? memberOf(top("error")) : top;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { errorType: text(error("type")), errorCode: text(error("code")) };
}

function memberOf(value: unknown): (name: string) => unknown {
  return (name) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined);
}
