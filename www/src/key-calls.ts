// The two calls that tell about a key: its state, and to void it.

import { uncached } from "./request.js";
import { abortable, timer } from "./wait.js";

/**
 * What a key call answered; undefined when there was no answer that can be read. `like` are the headers of the
 * request that the key is to make room for: under another credential it is another key, and what is said of it, not
 * even that it is voided, says nothing of the one that was sent.
 */
export type KeyCalls = (
  key: string,
  what: "ask" | "void",
  signal: AbortSignal | undefined,
  like?: Headers,
) => Promise<{ status: number; state?: string; httpStatus?: number } | undefined>;

/** How long a key call may take, in milliseconds. */
const PATIENCE = 15_000;

export interface KeyCallOptions {
  url: URL;
  headers: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  credentials: RequestCredentials | undefined;
  fetch: typeof fetch;
}

export function keyCalls({ url, headers, credentials, fetch }: KeyCallOptions): KeyCalls {
  return async (key, what, signal, like) => {
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    const stop = timer(PATIENCE, abort);
    const call = async () => {
      const all = new Headers(await headers?.());
      if (like && !areOneCaller(all, like)) return undefined;
      // In a header, so that it is in no URL and no log.
      all.set("idempotency-key", key);
      all.set("accept", "application/json");
      const target = new URL(url);
      if (what === "void") target.pathname = `${target.pathname.replace(/\/$/, "")}/void`;
      if (controller.signal.aborted) return undefined;
      const answer = await fetch.call(globalThis, target.href, {
        method: what === "void" ? "POST" : "GET",
        headers: all,
        ...uncached(),
        signal: controller.signal,
        ...(credentials && { credentials }),
      });
      const { status } = answer;
      const text = await answer.text();
      if (status !== 200) return { status };
      const body = JSON.parse(text) as { state?: unknown; http_status?: unknown };
      return {
        status,
        ...(typeof body.state === "string" && { state: body.state }),
        ...(typeof body.http_status === "number" && { httpStatus: body.http_status }),
      };
    };
    try {
      // `headers` need not heed the signal.
      return await abortable(call(), controller.signal);
    } catch {
      return undefined;
    } finally {
      stop();
      signal?.removeEventListener("abort", abort);
    }
  };
}

/** Whether both carry the same of everything that may say who is calling. */
function areOneCaller(calls: Headers, request: Headers): boolean {
  const names = new Set([...calls.keys(), "authorization", "x-api-key"]);
  for (const name of ["accept", "content-type", "idempotency-key"]) names.delete(name);
  return [...names].every((name) => calls.get(name) === request.get(name));
}
