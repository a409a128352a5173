// The request that a form sends.

import { lines } from "../client/multipart.js";
import type { Prepared } from "../client/request.js";
import type { FormRequest } from "../types.js";

/** Returns the form for `fetch`, as a browser would send it. */
export function asSubmitted(form: HTMLFormElement, data: FormData, submitter: HTMLElement | null): FormRequest {
  refuseCharset(form, data);
  const { url, type } = target(form, submitter);
  const method = attribute(form, submitter, "method")?.toUpperCase();
  if (method !== "POST") throw new TypeError('A guarded form needs method="post". Add it, or return another request from "request".');
  if (type === "multipart/form-data") return { url, init: { method, body: data } };
  const pairs = entries(data);
  if (type === "text/plain") {
    const body = pairs.map(([name, value]) => `${name}=${value}\r\n`).join("");
    return { url, init: { method, body } };
  }
  return { url, init: { method, body: new URLSearchParams(pairs) } };
}

/**
 * Returns the values that the browser will post, to tell payloads apart. A file counts by its name, size, type and date,
 * because its content cannot be read synchronously.
 */
export function asNavigated(
  form: HTMLFormElement,
  data: FormData,
  submitter: HTMLElement | null,
  keyField: string,
): Prepared {
  const { url, type } = target(form, submitter);
  const pairs: [string, string][] = [];
  let offeredKey: string | undefined;
  for (const [name, value] of data) {
    // The server makes a key for each page that it renders. It is no part of the payload.
    if (name === keyField) {
      offeredKey = String(value) || undefined;
      continue;
    }
    pairs.push(
      typeof value === "string"
        ? [name, value]
        : [name, JSON.stringify([value.name, value.size, value.type, value.lastModified])],
    );
  }
  const body = new TextEncoder().encode(new URLSearchParams(pairs).toString());
  const headers = new Headers({ "content-type": type === "multipart/form-data" ? "application/x-form" : type });
  // A form sends the cookies of its target, and no headers of the page.
  return { method: "POST", url: new URL(url), headers, body, ownKey: undefined, offeredKey, init: { credentials: "include" } };
}

/**
 * Refuses text that the server would decode wrongly: the package sends UTF-8, and a browser sends the charset of the form
 * or of its page. Only the author of the page knows which charset the server expects. ASCII is the same in both.
 */
function refuseCharset(form: HTMLFormElement, data: FormData): void {
  const isAscii = (text: string) => /^[\x00-\x7f]*$/.test(text);
  if ([...data].every(([name, value]) => isAscii(name) && isAscii(typeof value === "string" ? value : value.name))) return;
  const document = of(Node.prototype, "ownerDocument", form) as Document;
  const named = ofForm(form, "accept-charset")?.trim().split(/[\s,]+/)[0];
  const charset = named || document.characterSet;
  if (/^(unicode-1-1-)?utf-?8$|^utf-16(le|be)?$|^unicode20utf8$|^x-unicode20utf8$/i.test(charset)) return;
  throw new TypeError(
    `A browser would send this form in ${charset}, but the package sends UTF-8. Add accept-charset="utf-8" to the form, or use send: "navigate".`,
  );
}

function target(form: HTMLFormElement, submitter: HTMLElement | null): { url: string; type: string } {
  const type = attribute(form, submitter, "enctype")?.toLowerCase();
  return {
    // An empty action is the page's own address.
    url: new URL(attribute(form, submitter, "action") || location.href, of(Node.prototype, "baseURI", form) as string).href,
    type: type === "multipart/form-data" || type === "text/plain" ? type : "application/x-www-form-urlencoded",
  };
}

/** Returns the attribute of the clicked button, or that of the form. */
export function attribute(form: HTMLFormElement, submitter: HTMLElement | null, name: string): string | undefined {
  return submitter?.getAttribute(`form${name}`) ?? ofForm(form, name) ?? undefined;
}

/** Returns the form's attribute. A control with the same name would hide the form's own property, so it is not used. */
export function ofForm(form: HTMLFormElement, name: string): string | null {
  return Element.prototype.getAttribute.call(form, name);
}

/** Returns a property of the form from its prototype. */
function of(prototype: object, name: string, form: HTMLFormElement): unknown {
  return Reflect.get(prototype, name, form);
}

/** Returns names and values. A form that is not multipart sends the name of a file, and every line ends with CRLF. */
function entries(data: FormData): [string, string][] {
  return [...data].map(([name, value]) => [lines(name), lines(typeof value === "string" ? value : value.name)]);
}
