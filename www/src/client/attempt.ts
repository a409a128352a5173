// One attempt: it is sent, and its answer is read to the end.

import type { Prepared } from "./request.js";
import { abortable, timer } from "./wait.js";

/** What the core is told of an answer. */
export interface Answer {
  status: number;
  headers: Headers;
  body: "whole" | "empty" | "cut";
  redirected: boolean;
  errorType?: string;
  errorCode?: string;
}

export type Heard =
  | { answer: Answer; response: Response }
  | { failed: "network" | "timeout" | "aborted"; cause: unknown };

export interface AttemptOptions {
  fetch: typeof fetch;
  key: string;
  timeout: number;
  signal: AbortSignal | undefined;
  validate: ((response: Response) => boolean | Promise<boolean>) | undefined;
}

/** Sends a request once. What ended it is told by own signals: error texts differ among browsers. */
export async function attempt(prepared: Prepared, options: AttemptOptions): Promise<Heard> {
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
    if (prepared.ownKey === undefined) headers.set("idempotency-key", options.key);
    const exchange = async () => {
      const response = await options.fetch.call(globalThis, prepared.url.href, {
        ...prepared.init,
        method: prepared.method,
        headers,
        body: prepared.body ?? null,
        signal: controller.signal,
      });
      return await hear(response, options.validate);
    };
    // Neither a `fetch` of the page's own nor `validate` need heed the signal.
    return await abortable(exchange(), controller.signal);
  } catch (cause) {
    return { failed: ended ?? "network", cause: ended === "aborted" ? signal?.reason : cause };
  } finally {
    stop();
    signal?.removeEventListener("abort", onAbort);
  }
}

/** Reads a copy to its end, so that the caller gets the answer as it came, and whole. */
async function hear(response: Response, validate: AttemptOptions["validate"]): Promise<Heard> {
  const { status, headers } = response;
  // A `fetch` of the page's own may answer with something like a response.
  const answer: Answer = { status, headers, redirected: response.redirected === true, body: "whole" };
  const text = await readText(response.clone());
  if (text === undefined) {
    answer.body = "cut";
  } else if (text.length === 0) {
    answer.body = "empty";
  } else if (isJson(headers.get("content-type"))) {
    try {
      Object.assign(answer, errorIn(JSON.parse(text)));
    } catch {
      answer.body = "cut";
    }
  }
  if (answer.body !== "cut" && validate && !(await isValid(validate, response.clone()))) answer.body = "cut";
  return { answer, response };
}

/** What the caller cannot read is no answer. */
async function isValid(validate: NonNullable<AttemptOptions["validate"]>, copy: Response): Promise<boolean> {
  try {
    return await validate(copy);
  } catch {
    return false;
  }
}

/** The body, or undefined when it broke off. A time-out or an abort is thrown on. */
async function readText(response: Response): Promise<string | undefined> {
  try {
    return await response.text();
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

function isJson(type: string | null): boolean {
  return /^\s*[^\s;/]+\/(?:[^\s;]+\+)?json\s*(?:;|$)/i.test(type ?? "");
}

/** `type` and `code` of an error, at the top or in its member `error`. */
function errorIn(body: unknown): { errorType?: string; errorCode?: string } {
  const top = memberOf(body);
  const error = top("code") === undefined && top("type") === undefined ? memberOf(top("error")) : top;
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { errorType: text(error("type")), errorCode: text(error("code")) };
}

function memberOf(value: unknown): (name: string) => unknown {
  return (name) => (typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined);
}
