// What a form sends.

import type { Prepared } from "./request.js";
import type { FormRequest } from "./types.js";

/** The form as a browser would send it, for `fetch`. */
export function asSubmitted(form: HTMLFormElement, data: FormData, submitter: HTMLElement | null): FormRequest {
  const { url, type } = target(form, submitter);
  const method = attribute(form, submitter, "method")?.toUpperCase();
  if (method !== "POST") throw new TypeError('A guarded form that is sent as it is needs method="post".');
  if (type === "multipart/form-data") return { url, init: { method, body: data } };
  const pairs = entries(data);
  if (type === "text/plain") {
    const body = pairs.map(([name, value]) => `${name}=${value}\r\n`).join("");
    return { url, init: { method, body } };
  }
  return { url, init: { method, body: new URLSearchParams(pairs) } };
}

/**
 * The form that the browser itself will send, as far as it tells one payload from another. A file counts by its
 * name, size and date: its content cannot be read at once.
 */
export function asNavigated(form: HTMLFormElement, data: FormData, submitter: HTMLElement | null): Prepared {
  const { url, type } = target(form, submitter);
  const pairs: [string, string][] = [];
  for (const [name, value] of data) {
    pairs.push(
      typeof value === "string"
        ? [name, value]
        : [name, JSON.stringify([value.name, value.size, value.type, value.lastModified])],
    );
  }
  const body = new TextEncoder().encode(new URLSearchParams(pairs).toString());
  const headers = new Headers({ "content-type": type === "multipart/form-data" ? "application/x-form" : type });
  return { method: "POST", url: new URL(url), headers, body, ownKey: undefined, init: {} };
}

function target(form: HTMLFormElement, submitter: HTMLElement | null): { url: string; type: string } {
  const { baseURI } = form;
  const type = attribute(form, submitter, "enctype")?.toLowerCase();
  return {
    // An empty action is the page's own address.
    url: new URL(attribute(form, submitter, "action") || location.href, baseURI).href,
    type: type === "multipart/form-data" || type === "text/plain" ? type : "application/x-www-form-urlencoded",
  };
}

/** The attribute, not the property: a control of that name would hide it. */
function attribute(form: HTMLFormElement, submitter: HTMLElement | null, name: string): string | undefined {
  return submitter?.getAttribute(`form${name}`) ?? Element.prototype.getAttribute.call(form, name) ?? undefined;
}

/** A file is sent by its name where a form is not multipart, and every line ends with CRLF. */
function entries(data: FormData): [string, string][] {
  const lines = (text: string) => text.replace(/\r\n?|\n/g, "\r\n");
  return [...data].map(([name, value]) => [lines(name), lines(typeof value === "string" ? value : value.name)]);
}
