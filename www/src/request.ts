// A request, serialised once: every attempt sends these bytes and this content type.

import type { IntentInit } from "./types.js";

export interface Prepared {
  method: string;
  url: URL;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | undefined;
  /** The caller's own key. */
  ownKey: string | undefined;
  /** What else `fetch` is to know. */
  init: RequestInit;
}

/** Reads streams, forms and blobs to their end, so that no attempt can differ from the first. */
export async function prepare(url: string | URL, init: IntentInit = {}): Promise<Prepared> {
  if (typeof url !== "string" && !(url instanceof URL)) throw new TypeError("An intent takes an URL and an init, no Request.");
  const { method = "POST", headers: given, body, signal: _, ...rest } = init;
  const upper = method.toUpperCase();
  // `patch` stays as it is: fetch does not change it either, and servers would see another method.
  const known = ["POST", "PUT", "DELETE"].includes(upper) ? upper : method;
  if (upper === "GET" || upper === "HEAD") throw new TypeError(`An intent is a write; ${upper} needs no key. Use fetch().`);
  if (rest.mode === "no-cors") {
    throw new TypeError('mode "no-cors" hides the answer, so that nobody could tell whether it succeeded. Use CORS.');
  }
  const headers = new Headers(given);
  const ownKey = headers.get("idempotency-key") ?? undefined;
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  if (body !== undefined && body !== null) {
    const whole = new Response(body);
    bytes = new Uint8Array(await whole.arrayBuffer());
    const type = whole.headers.get("content-type");
    if (type && !headers.has("content-type")) headers.set("content-type", type);
  }
  delete (rest as { duplex?: unknown }).duplex;
  return {
    method: known,
    url: new URL(url, base()),
    headers,
    body: bytes,
    ownKey,
    init: { ...uncached(), ...rest },
  };
}

/** What relative URLs are relative to, as for `fetch`: `<base href>` counts, and a frame of `srcdoc` has its page's. */
export function base(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href;
}

/** No answer may come out of a cache. Where `fetch` knows none, as in many Workers, it refuses to be told so. */
export function uncached(): RequestInit {
  return "cache" in Request.prototype ? { cache: "no-store" } : {};
}

/** The media types that the API answers with, where the caller does not say so. */
export function expected(prepared: Prepared): string {
  const accept = prepared.headers.get("accept");
  return accept ? accept.replace(/;[^,]*/g, "") : "application/json";
}
