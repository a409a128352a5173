// A request, serialised once: every attempt sends the same bytes and the same content type.

import { type Serialised, multipart } from "./multipart.js";
import { base } from "./settings.js";
import type { Field } from "../packed.js";
import type { IntentInit, IntentOptions } from "../types.js";

export interface Prepared {
  method: string;
  url: URL;
  headers: Headers;
  body: Uint8Array<ArrayBuffer> | undefined;
  /** The header for the key, if `fetch` sends the request. `headers` does not contain it. */
  keyHeader?: string;
  /** The key that the caller chose. */
  ownKey: string | undefined;
  /** Further options of `fetch`. */
  init: RequestInit;
  /** The key that the server put into its form: see src/client/offer.rs. */
  offeredKey?: string | undefined;
  /** Returns the body with the intent's key in the form's field for it. Attempts differ in nothing else. */
  bodyWith?(key: string): Uint8Array<ArrayBuffer>;
}

/** The largest body that `fetch` takes with `keepalive`, in bytes. */
const KEEPALIVE = 65_536;

/**
 * Reads streams, forms and blobs to their end, so that no attempt can differ from the first. Throws a TypeError for
 * requests that `fetch` would refuse, before a key is stored. `expects` are the media types that the caller expects.
 * `keyField` is the form field for the key, which is not part of the payload. `keyHeader` is the header for it.
 */
export async function prepare(
  url: string | URL,
  init: IntentInit = {},
  expects: string | undefined,
  keyField: string | undefined,
  keyHeader: string,
): Promise<Prepared> {
  if (typeof url !== "string" && !(url instanceof URL)) throw new TypeError("An intent takes a URL and an init, not a Request. Pass the URL.");
  const { method = "POST", headers: given, body, signal: _, ...rest } = init;
  const upper = method.toUpperCase();
  // `patch` stays in lower case, because `fetch` does not change it either.
  const known = ["POST", "PUT", "DELETE"].includes(upper) ? upper : method;
  if (upper === "GET" || upper === "HEAD") throw new TypeError(`An intent is a write, and ${upper} needs no key. Use fetch().`);
  if (rest.mode === "no-cors") {
    throw new TypeError('mode "no-cors" hides the response, so the outcome would stay unknown. Use CORS.');
  }
  const headers = new Headers(given);
  const ownKey = headers.get(keyHeader) ?? undefined;
  headers.delete(keyHeader);
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
  // With the key in the form's field, if there is one. A minted key has this length.
  const whole = bodyWith ? bodyWith(offeredKey ?? "0".repeat(36)) : bytes;
  checkSendable(target, { ...all, method: known, headers }, whole?.length ?? 0);
  return {
    method: known,
    url: target,
    headers,
    body: bytes,
    keyHeader,
    ownKey,
    init: all,
    ...(bodyWith && { offeredKey, bodyWith }),
  };
}

/** Returns whether this is a `FormData` of any frame. */
function isFormData(body: BodyInit): body is FormData {
  return Object.prototype.toString.call(body) === "[object FormData]";
}

async function read(body: BodyInit): Promise<Serialised> {
  const whole = new Response(body);
  // The platform's reader would take two tasks for a text.
  const isText = typeof body === "string" || body instanceof URLSearchParams;
  return {
    body: isText ? new TextEncoder().encode(String(body)) : new Uint8Array(await whole.arrayBuffer()),
    contentType: whole.headers.get("content-type"),
    with(name, value) {
      const pairs = new URLSearchParams(body as URLSearchParams);
      pairs.append(name, value);
      return new TextEncoder().encode(pairs.toString());
    },
  };
}

const JSON_TYPE = "application/json";

/** Throws what `fetch` would throw without sending anything. The constructor of `Request` checks only a part. */
function checkSendable(url: URL, init: RequestInit, length: number): void {
  // A user in the URL, or a method, header, mode or other setting that is not allowed.
  new Request(url.href, init);
  if (/^(?:about|blob|data|file|ftp|javascript|mailto|wss?):$/.test(url.protocol)) {
    throw new TypeError(`A request cannot be sent to ${url.protocol} URLs. Use https:.`);
  }
  if (init.keepalive && length > KEEPALIVE) {
    throw new TypeError(`With keepalive a body may have at most ${KEEPALIVE} bytes; this body has ${length}. Leave keepalive out.`);
  }
  const here = globalThis.origin;
  if (init.mode === "same-origin" && here !== undefined && url.origin !== here) {
    throw new TypeError(`mode "same-origin" allows ${here} only, and the URL is on ${url.origin}.`);
  }
  if (init.cache === "only-if-cached") {
    throw new TypeError('cache "only-if-cached" sends nothing. Leave it out.');
  }
}

/** Returns whether a request carries cookies, and whether key calls carry the same ones. See src/client/credential.rs. */
function cookiesOf({ url, init }: Pick<Prepared, "url" | "init">, keyUrl: URL | undefined): "none" | "same" | "elsewhere" {
  const here = globalThis.origin;
  const { credentials = "same-origin" } = init;
  // Without a page, there are no cookies.
  if (here === undefined || credentials === "omit") return "none";
  if (credentials === "same-origin" && url.origin !== here) return "none";
  return url.origin === (keyUrl?.origin ?? here) ? "same" : "elsewhere";
}

/** Returns options that keep responses out of caches. In many Workers `fetch` has no cache, and refuses the option. */
export function uncached(): RequestInit {
  return "cache" in Request.prototype ? { cache: "no-store" } : {};
}

/** Returns the default for the media types of the API's responses. */
function expected(prepared: Prepared): string {
  const accept = prepared.headers.get("accept");
  return accept ? accept.replace(/;[^,]*/g, "") : "application/json";
}

/** Returns the parts of a request that are hashed before its body: see www/wasm/src/calls.rs. */
export function beforeBody({ url, method, headers }: Prepared, ignore: readonly string[] = []): Field[] {
  return [method, url.pathname, url.search.slice(1) || undefined, headers.get("content-type") ?? undefined, ignore];
}

/** What is known about a request when its turn comes. */
export interface AtTurn {
  /** What the platform has hashed of the request. Without it, the core hashes the request. */
  digest?: Uint8Array | undefined;
  /** Since when the request waited for another one, if it did. */
  waitedSince?: number | undefined;
}

/** Returns a request as the core reads it: see `submit` in www/wasm/src/calls.rs. `keyUrl` is the URL of the key calls. */
export function submitOf(
  prepared: Prepared,
  { ignore, expects = expected(prepared) }: Pick<IntentOptions, "ignore" | "expects">,
  keyUrl: URL | undefined,
  { digest, waitedSince }: AtTurn = {},
): Field[] {
  const { url, body, headers, ownKey, offeredKey } = prepared;
  const hashed = digest ? undefined : body;
  const own = [ownKey, offeredKey, waitedSince, cookiesOf(prepared, keyUrl), [...headers].flat()];
  return [expects, url.origin, ...beforeBody(prepared, ignore), hashed, digest, ...own];
}
