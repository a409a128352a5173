// The check of the `init` of `fetch`.

import { INTENT, anObject, shown, spelling, unknownName } from "./options.js";

/** The options of `fetch`: those of the standard, and those of single hosts. */
const INIT = (
    "method headers body signal mode credentials cache redirect referrer referrerPolicy integrity keepalive duplex priority window " +
    "attributionReporting browsingTopics sharedStorageWritable adAuctionHeaders privateToken targetAddressSpace " +
    "cf encodeResponseBody dispatcher next client proxy tls unix verbose decompress"
).split(" ");

/** Checks the `init` of `fetch`. If the page has its own `fetch`, unknown names are allowed unless they look misspelt. */
export function checkInit(init: unknown, isOwnFetch: boolean): void {
  if (init === undefined) return;
  if (!anObject(init)) throw new TypeError(`fetch: init must be an object, not ${shown(init)}.`);
  for (const name of Object.keys(init as object)) {
    if (INIT.includes(name)) continue;
    if (Object.hasOwn(INTENT, name)) throw new TypeError(`fetch: "${name}" is an option of the intent. Pass it to client.intent(name, { ${name} }).`);
    if (!isOwnFetch || spelling(name, INIT)) throw unknownName("fetch", name, INIT.slice(0, 15));
  }
  checkHeaders((init as RequestInit).headers);
}

const CREDENTIALS = /^(authorization|.*api-?key|.*token)$/i;

/** Refuses headers without a value: a variable that was not set would be sent as the text "undefined". */
function checkHeaders(headers: unknown): void {
  if (!anObject(headers)) return;
  const isPairs = typeof (headers as Iterable<unknown>)[Symbol.iterator] === "function";
  const pairs = (isPairs ? [...(headers as Iterable<unknown>)] : Object.entries(headers as object)) as [unknown, unknown][];
  for (const pair of pairs) {
    if (!Array.isArray(pair)) continue;
    const [name, value] = pair;
    const text = String(value).trim();
    const isMissing = value === undefined || value === null;
    const isEmpty = CREDENTIALS.test(String(name)) && (text === "" || /(^|\s)(undefined|null|Bearer)$/i.test(text));
    if (isMissing || isEmpty) {
      throw new TypeError(`fetch: the header ${String(name)} has no value${isMissing ? ` but ${String(value)}` : ""}. Set it, or leave it out.`);
    }
  }
}

