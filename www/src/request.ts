// A request, serialised once: every attempt sends these bytes and this content type.

import { type Serialised, multipart } from "./multipart.js";
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
  /** The key that the server has put into its form: see src/intent/offer.rs. */
  offeredKey?: string | undefined;
  /** The body with the intent's key in the form's own field. Nothing else tells one attempt from another. */
  bodyWith?(key: string): Uint8Array<ArrayBuffer>;
}

/**
 * Reads streams, forms and blobs to their end, so that no attempt can differ from the first. `keyField`: the field of
 * a form that is for the key; it is no part of the payload.
 */
export async function prepare(url: string | URL, init: IntentInit = {}, keyField?: string): Promise<Prepared> {
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
  let offeredKey: string | undefined;
  let field: string | undefined;
  let bodyWith: Prepared["bodyWith"];
  if (body !== undefined && body !== null) {
    if (keyField !== undefined && (body instanceof URLSearchParams || isFormData(body)) && body.has(keyField)) {
      offeredKey = String(body.get(keyField)) || undefined;
      body.delete(keyField);
      field = keyField;
    }
    const { contentType, ...whole } = isFormData(body) ? await multipart(body) : await read(body);
    bytes = whole.body;
    if (field !== undefined) bodyWith = (key) => whole.with(field!, key);
    if (contentType && !headers.has("content-type")) headers.set("content-type", contentType);
  }
  delete (rest as { duplex?: unknown }).duplex;
  return {
    method: known,
    url: new URL(url, base()),
    headers,
    body: bytes,
    ownKey,
    init: { ...uncached(), ...rest },
    ...(bodyWith && { offeredKey, bodyWith }),
  };
}

/** Of any frame: each has a `FormData` of its own. */
function isFormData(body: BodyInit): body is FormData {
  return Object.prototype.toString.call(body) === "[object FormData]";
}

async function read(body: BodyInit): Promise<Serialised> {
  const whole = new Response(body);
  return {
    body: new Uint8Array(await whole.arrayBuffer()),
    contentType: whole.headers.get("content-type"),
    with(name, value) {
      const pairs = new URLSearchParams(body as URLSearchParams);
      pairs.append(name, value);
      return new TextEncoder().encode(pairs.toString());
    },
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
