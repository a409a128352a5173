// Guards a form by its attributes, for pages without a script of their own.

import { type Client, type ClientOptions, type FormGuard, type GuardOptions, guardForm } from "oncekey";
import { ofForm } from "./form-data.js";
import { DATA, wrongAttributes } from "./attributes.js";

/** Returns the value of an attribute, by its name without the prefix. */
export type Read = (name: string) => string | null;

/**
 * Guards a form. Its attributes are the options:
 *
 * | attribute | |
 * |---|---|
 * | `intent` | the intent's name |
 * | `send` | `fetch` or `navigate` |
 * | `key-field` | see {@link GuardOptions.keyField} |
 * | `expects` | see {@link IntentOptions.expects}: `text/html` for a server that responds with pages |
 * | `next` | with `fetch`: the URL to go to after a success. Without it, the page goes to the `Location` of the response, if there is one |
 */
export function guardByMarkup(form: HTMLFormElement, client: Client, read: Read): FormGuard {
  const send = read("send");
  reportMistakes(form, attributesInside(form));
  if (send !== null && !["", "fetch", "navigate"].includes(send)) {
    reportMistakes(form, [new TypeError(`The attribute "send" of a guarded form must be "fetch" or "navigate". The form is sent with "fetch" now.`)]);
  }
  const next = read("next");
  const name = () => read("intent") || ofForm(form, "id") || "";
  if (name() === "") {
    reportMistakes(form, [new TypeError('This guarded form has no intent and is not sent. Add data-oncekey="order:1042" to the form, or intent="order:1042" to its element.')]);
  }
  const options: GuardOptions = {
    client,
    intent: name,
    send: send === "navigate" ? "navigate" : "fetch",
    onResponse(response, _form, outcome) {
      if (outcome !== "succeeded") return;
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

/** Returns the options of the client of a page or an element, by their attributes. */
export function clientOptions(read: Read): ClientOptions {
  const keyHeader = read("key-header");
  return { keyUrl: read("key-url"), ...(keyHeader && { keyHeader }) };
}

/** Reports mistakes in the markup: as events of the element, and as errors of the page. */
export function reportMistakes(element: Element, errors: TypeError[]): void {
  for (const error of errors) {
    EventTarget.prototype.dispatchEvent.call(element, new CustomEvent("oncekey:error", { bubbles: true, detail: { error } }));
    reportError(error);
  }
}

function attributesInside(form: HTMLFormElement): TypeError[] {
  const inside = Array.from(Element.prototype.querySelectorAll.call(form, "*"));
  return inside.flatMap((element) => wrongAttributes(element, DATA.inside, "data-oncekey-"));
}

/** Goes to a page by http or https. URLs of other schemes, such as `javascript:`, could run text of the server as code. */
function follow({ href, protocol }: URL): void {
  if (protocol === "http:" || protocol === "https:") location.assign(href);
  else reportError(new TypeError(`The address after a success starts with ${protocol} and is not followed. Use an http: or https: address.`));
}
