// The two calls that tell about a key: its state, and to void it.

import { uncached } from "./request.js";
import { sleep } from "./wait.js";

/** What a key call answered; undefined when there was no answer that can be read. */
export type KeyCalls = (
  key: string,
  what: "ask" | "void",
  signal: AbortSignal | undefined,
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
  return async (key, what, signal) => {
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    const tooLate = sleep(PATIENCE, controller.signal).then(abort, () => {});
    try {
      const all = new Headers(await headers?.());
      // In a header, so that it is in no URL and no log.
      all.set("idempotency-key", key);
      all.set("accept", "application/json");
      const target = new URL(url);
      if (what === "void") target.pathname = `${target.pathname.replace(/\/$/, "")}/void`;
      const answer = await fetch.call(globalThis, target, {
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
    } catch {
      return undefined;
    } finally {
      abort();
      await tooLate;
      signal?.removeEventListener("abort", abort);
    }
  };
}
