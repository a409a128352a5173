// A guard that is described by attributes, for pages without a script of their own.

import { type Client, type FormGuard, type GuardOptions, guardForm } from "oncekey";
import { ofForm } from "./form-data.js";
import { DATA, wrongAttributes } from "../client/options.js";

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
  const name = () => read("intent") || ofForm(form, "id") || "";
  if (name() === "") {
    tellWrong(form, [new TypeError('A form that is guarded by its markup needs an intent: data-oncekey="order:1042", or intent="order:1042" of the element. It is not sent without one.')]);
  }
  const options: GuardOptions = {
    client,
    intent: name,
    send: send === "navigate" ? "navigate" : "fetch",
    onAnswer(response) {
      if (response.status >= 400) return;
      const target = next ?? response.headers.get("location");
      if (target) follow(new URL(target, response.url || location.href));
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
    EventTarget.prototype.dispatchEvent.call(element, new CustomEvent("oncekey:error", { bubbles: true, detail: { error } }));
    reportError(error);
  }
}

function attributesInside(form: HTMLFormElement): TypeError[] {
  const inside = Array.from(Element.prototype.querySelectorAll.call(form, "*"));
  return inside.flatMap((element) => wrongAttributes(element, DATA.inside, "data-oncekey-"));
}

/** Goes to a page. Anything but http and https would be a script, or a page, that the server of an answer wrote. */
function follow({ href, protocol }: URL): void {
  if (protocol === "http:" || protocol === "https:") location.assign(href);
  else reportError(new TypeError(`The answer's address is not followed: it begins with ${protocol} and only http: and https: are.`));
}
