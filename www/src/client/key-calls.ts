// The two key calls: one asks for the state of a key, one voids it.

import type { KeyCallCredential } from "../core.js";
import { uncached } from "./request.js";
import { abortable, timer } from "./wait.js";

export interface KeyCall {
  key: string;
  what: "ask" | "void";
  signal: AbortSignal | undefined;
  /** Returns the credential to use. The core compares these headers with those of the request. */
  credentialFrom(headers: Headers): KeyCallCredential;
  /** The headers of the call's own request. */
  own: Headers | undefined;
  /** The headers of the request with this key, if it is still in memory. */
  sent: Headers | undefined;
}

/** The result of a key call. Undefined if there was no readable response. */
export interface KeyReport {
  status: number;
  state?: string;
  httpStatus?: number;
  /** Why the key call was not made: under another credential it would be another key. The status is 0 then. */
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
      // In a header, so that no URL and no log contains the key.
      all.set("idempotency-key", key);
      all.set("accept", "application/json");
      const target = new URL(url);
      if (what === "void") target.pathname = `${target.pathname.replace(/\/$/, "")}/void`;
      if (controller.signal.aborted) return undefined;
      const mode = cookies === undefined ? credentials : cookies ? "include" : "omit";
      const response = await fetch.call(globalThis, target.href, {
        method: what === "void" ? "POST" : "GET",
        headers: all,
        ...uncached(),
        signal: controller.signal,
        ...(mode && globalThis.origin !== undefined && { credentials: mode }),
      });
      const { status } = response;
      const text = await response.text();
      if (status !== 200) return { status };
      const body = JSON.parse(text) as { state?: unknown; http_status?: unknown };
      return {
        status,
        ...(typeof body.state === "string" && { state: body.state }),
        ...(typeof body.http_status === "number" && { httpStatus: body.http_status }),
      };
    };
    try {
      // `headers` may ignore the signal.
      return await abortable(call(), controller.signal);
    } catch {
      return undefined;
    } finally {
      stop();
      signal?.removeEventListener("abort", abort);
    }
  };
}

/**
 * Returns the credential of the request from the first source that has it. `cookies` is undefined if the credential of the
 * request is not known.
 */
async function credentialOf(
  { credentialFrom, own, sent }: KeyCall,
  headers: KeyCallOptions["headers"],
): Promise<{ headers: Headers; cookies: boolean | undefined } | { differs: string }> {
  const known = [own, sent, new Headers()];
  for (const source of known) {
    const found = source && credentialFrom(source);
    if (!found || found.differs) continue;
    // If nothing is known about the request, the headers of the own request count, or those that the page returns.
    if (found.cookies !== undefined || source === own) return { headers: pick(source, found.names), cookies: found.cookies };
  }
  const source = new Headers(await headers?.());
  const found = credentialFrom(source);
  if (found.differs) return { differs: differenceText(found) };
  return { headers: pick(source, found.names), cookies: found.cookies };
}

function pick(source: Headers, names: string[] = []): Headers {
  return new Headers(names.map((name) => [name, source.get(name)!]));
}

function differenceText({ differs, names = [] }: KeyCallCredential): string {
  const why = "The key call was not made, because the same key under another credential is another key.";
  switch (differs) {
    case "headers": {
      const which = names.map((name) => `"${name}"`).join(", ");
      return `${why} The client's "headers" must return the values of the request for ${which}.`;
    }
    case "cookie":
      return `${why} The request sent cookies to another origin than that of "keyUrl". Serve both on one origin.`;
    default:
      return `${why} The key was sent under several credentials: a header or a cookie differed.`;
  }
}
