// `oncekey/element`: <once-form> guards the form inside it.
//
//   <once-form intent="order:1042" key-url="/_oncekey/key"><form method="post" action="/v1/orders">…</form></once-form>

import { type Client, type FormGuard, createClient } from "oncekey";
import { clientOptions, guardByMarkup, reportMistakes } from "../form/markup.js";
import { ELEMENT, wrongAttributes } from "../form/attributes.js";

/**
 * Defines the element. All elements use `client`. Without it, each element has a client of its own, whose `keyUrl` and
 * `keyHeader` are the attributes `key-url` and `key-header`. For the other attributes see markup.ts.
 */
export function defineElement(name = "once-form", client?: Client): void {
  if (customElements.get(name)) return;
  class OnceForm extends HTMLElement {
    #guard: FormGuard | undefined;
    #observer: MutationObserver | undefined;

    connectedCallback(): void {
      this.#guardForm();
      // The parser may not have reached the form yet.
      this.#observer = new MutationObserver(() => this.#guardForm());
      this.#observer.observe(this, { childList: true, subtree: true });
    }

    disconnectedCallback(): void {
      this.#observer?.disconnect();
      this.#guard?.detach();
      this.#guard = undefined;
    }

    /** Lets the form be submitted again. */
    release(): void {
      this.#guard?.release();
    }

    #guardForm(): void {
      const form = this.#guard ? null : this.querySelector("form");
      if (!form) return;
      reportMistakes(this, wrongAttributes(this, ELEMENT, ""));
      const read = (attribute: string) => this.getAttribute(attribute);
      this.#guard = guardByMarkup(form, client ?? createClient(clientOptions(read)), read);
    }
  }
  customElements.define(name, OnceForm);
}
