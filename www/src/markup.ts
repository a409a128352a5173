// A guard that is described by attributes, for pages without a script of their own.

import { DATA, wrongAttributes } from "./options.js";
import { type Client, type FormGuard, type GuardOptions, guardForm } from "oncekey";

/** What the attributes of an element say, without their prefix. */
export type Read = (name: string) => string | null;

/**
 * | attribute | |
 * |---|---|
 * | `intent` | the intent's name |
 * | `send` | `fetch` or `navigate` |
 * | `key-field` | see {@link GuardOptions.keyField} |
 * | `expects` | see {@link IntentOptions.expects}: `text/html` for a server that answers with pages |
 * | `next` | fetch: where to go after a success; without it the answer's `Location` counts, if it has one |
 */
export function guardByMarkup(form: HTMLFormElement, client: Client, read: Read): FormGuard {
  const send = read("send");
  tellWrong(form, attributesInside(form));
  if (send !== null && !["", "fetch", "navigate"].includes(send)) {
    tellWrong(form, [new TypeError(`A guarded form: send has to be "fetch" or "navigate". It is sent by "fetch" now.`)]);
  }
  const next = read("next");
  const options: GuardOptions = {
    client,
    intent: () => read("intent") || form.id,
    send: send === "navigate" ? "navigate" : "fetch",
    onAnswer(response) {
      if (response.status >= 400) return;
      const target = next ?? response.headers.get("location");
      if (target) location.assign(new URL(target, response.url || location.href));
    },
  };
  const keyField = read("key-field");
  if (keyField) options.keyField = keyField;
  const expects = read("expects");
  if (expects) options.options = { expects };
  return guardForm(form, options);
}

/** Tells mistakes in markup: by an event at the element, and as errors of the page. */
export function tellWrong(element: Element, errors: TypeError[]): void {
  for (const error of errors) {
    element.dispatchEvent(new CustomEvent("oncekey:error", { bubbles: true, detail: { error } }));
    reportError(error);
  }
}

function attributesInside(form: HTMLFormElement): TypeError[] {
  const inside = Array.from(Element.prototype.querySelectorAll.call(form, "*"));
  return inside.flatMap((element) => wrongAttributes(element, DATA.inside, "data-oncekey-"));
}
