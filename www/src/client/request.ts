// A request, serialised once: every attempt sends these bytes and this content type.

import { type Serialised, multipart } from "./multipart.js";
import type { IntentInit } from "../types.js";

export interface Prepared {
  method: string;
  url: URL;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | undefined;
  /** The caller's own key. */
  ownKey: string | undefined;
  /** What else `fetch` is to know. */
  init: RequestInit;
  /** The key that the server has put into its form: see src/client/offer.rs. */
  offeredKey?: string | undefined;
  /** The body with the intent's key in the form's own field. Nothing else tells one attempt from another. */
  bodyWith?(key: string): Uint8Array<ArrayBuffer>;
}

/** The most that `fetch` takes with `keepalive`, in bytes. */
const KEEPALIVE = 65_536;

/**
 * Reads streams, forms and blobs to their end, so that no attempt can differ from the first. What `fetch` would refuse
 * to send is a TypeError now, before a key is stored. `expects`: the media types that the caller expects, if it says so.
 * `keyField`: the field of a form that is for the key; it is no part of the payload.
 */
export async function prepare(
  url: string | URL,
  init: IntentInit = {},
  expects?: string,
  keyField?: string,
): Promise<Prepared> {
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
  if (!headers.has("accept") && /[/+]json\b/i.test(expects ?? JSON_TYPE)) headers.set("accept", expects ?? JSON_TYPE);
  const target = new URL(url, base());
  const all = { ...uncached(), ...rest };
  // With the key of the form's own field, if there is one: a minted key is as long as this.
  const whole = bodyWith ? bodyWith(offeredKey ?? "0".repeat(36)) : bytes;
  checkSendable(target, { ...all, method: known, headers }, whole?.length ?? 0);
  return {
    method: known,
    url: target,
    headers,
    body: bytes,
    ownKey,
    init: all,
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

const JSON_TYPE = "application/json";

/** Throws what `fetch` would throw without sending anything. Its constructor does not see all of it. */
function checkSendable(url: URL, init: RequestInit, length: number): void {
  // A user in the URL, a method, header, mode or other setting that may not be.
  new Request(url.href, init);
  if (/^(?:about|blob|data|file|ftp|javascript|mailto|wss?):$/.test(url.protocol)) {
    throw new TypeError(`A request cannot be sent to ${url.protocol} URLs. Use https:.`);
  }
  if (init.keepalive && length > KEEPALIVE) {
    throw new TypeError(`With keepalive a body may have ${KEEPALIVE} bytes; this one has ${length}. Leave keepalive out.`);
  }
  const here = globalThis.origin;
  if (init.mode === "same-origin" && here !== undefined && url.origin !== here) {
    throw new TypeError(`mode "same-origin" allows ${here} only, and the URL is on ${url.origin}.`);
  }
  if (init.cache === "only-if-cached") {
    throw new TypeError('cache "only-if-cached" sends nothing. Leave it out: the answer to a write is in no cache.');
  }
}

/** Whether a request carries cookies, and whether these are the ones that key calls carry. See src/client/credential.rs. */
export function cookiesOf({ url, init }: Pick<Prepared, "url" | "init">, keyUrl: URL | undefined): "none" | "same" | "elsewhere" {
  const here = globalThis.origin;
  const { credentials = "same-origin" } = init;
  // Where there is no page, there are no cookies.
  if (here === undefined || credentials === "omit") return "none";
  if (credentials === "same-origin" && url.origin !== here) return "none";
  return url.origin === (keyUrl?.origin ?? here) ? "same" : "elsewhere";
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
