// The two calls that tell about a key: its state, and to void it.

import type { KeyCallAs } from "../core.js";
import { uncached } from "./request.js";
import { abortable, timer } from "./wait.js";

export interface KeyCall {
  key: string;
  what: "ask" | "void";
  signal: AbortSignal | undefined;
  /** How it is to be made, with the headers that there are: the core compares them with those of the request. */
  as(headers: Headers): KeyCallAs;
  /** The headers of the call's own request. */
  own: Headers | undefined;
  /** Those of the request with this key, where it is still in memory. */
  sent: Headers | undefined;
}

/** What a key call answered. Undefined when there was no answer that can be read. */
export interface KeyReport {
  status: number;
  state?: string;
  httpStatus?: number;
  /** Why the call was not made: under another credential the key is another key. Then the status is 0. */
  differs?: string;
}

export type KeyCalls = (call: KeyCall) => Promise<KeyReport | undefined>;

/** How long a key call may take, in milliseconds. */
const PATIENCE = 15_000;

export interface KeyCallOptions {
  url: URL;
  headers: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  credentials: RequestCredentials | undefined;
  fetch: typeof fetch;
}

export function keyCalls({ url, headers, credentials, fetch }: KeyCallOptions): KeyCalls {
  return async (given) => {
    const { key, what, signal } = given;
    const controller = new AbortController();
    const abort = () => controller.abort();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    const stop = timer(PATIENCE, abort);
    const call = async () => {
      const credential = await credentialOf(given, headers);
      if ("differs" in credential) return { status: 0, differs: credential.differs };
      const { headers: all, cookies } = credential;
      // In a header, so that it is in no URL and no log.
      all.set("idempotency-key", key);
      all.set("accept", "application/json");
      const target = new URL(url);
      if (what === "void") target.pathname = `${target.pathname.replace(/\/$/, "")}/void`;
      if (controller.signal.aborted) return undefined;
      const mode = cookies === undefined ? credentials : cookies ? "include" : "omit";
      const answer = await fetch.call(globalThis, target.href, {
        method: what === "void" ? "POST" : "GET",
        headers: all,
        ...uncached(),
        signal: controller.signal,
        ...(mode && globalThis.origin !== undefined && { credentials: mode }),
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

/** The credential of the request, from wherever it can be had. `cookies` is undefined where nothing is known of it. */
async function credentialOf(
  { as, own, sent }: KeyCall,
  headers: KeyCallOptions["headers"],
): Promise<{ headers: Headers; cookies: boolean | undefined } | { differs: string }> {
  const known = [own, sent, new Headers()];
  for (const source of known) {
    const found = source && as(source);
    if (!found || found.differs) continue;
    // Of a request that nothing is known of, the call's own speaks, or what the page says.
    if (found.cookies !== undefined || source === own) return { headers: pick(source, found.names), cookies: found.cookies };
  }
  const source = new Headers(await headers?.());
  const found = as(source);
  if (found.differs) return { differs: worded(found) };
  return { headers: pick(source, found.names), cookies: found.cookies };
}

function pick(source: Headers, names: string[] = []): Headers {
  return new Headers(names.map((name) => [name, source.get(name)!]));
}

function worded({ differs, names = [] }: KeyCallAs): string {
  const why = "Under another credential its key is another key, so it was neither asked about nor given up.";
  switch (differs) {
    case "headers": {
      const which = names.map((name) => `"${name}"`).join(", ");
      return `${why} The client's "headers" lack what the request carried, or have another value of it: ${which}.`;
    }
    case "cookie":
      return `${why} The request carried cookies of another origin than that of "keyUrl": serve both on one origin.`;
    default:
      return `${why} It was sent under more than one credential (a header or a cookie differed), and no key call speaks for all of them.`;
  }
}
