// `oncekey/auto`: guards every <form data-oncekey="order:1042"> of the page, now and later. The page only imports it.
//
// Attributes: `data-oncekey` (the intent's name), and `data-oncekey-send`, `-key-field`, `-expects`, `-next` as in
// markup.ts.
// `<html data-oncekey-key-url="/_oncekey/key">` names the URL of the key calls, and `data-oncekey-key-header` the header
// for the key.

import { type FormGuard, createClient } from "oncekey";
import { ofForm } from "../form/form-data.js";
import { clientOptions, guardByMarkup, reportMistakes } from "../form/markup.js";
import { DATA, wrongAttributes } from "../form/attributes.js";

/** The forms that have been seen, with their guards; undefined for a form that could not be guarded. */
const guards = new Map<HTMLFormElement, FormGuard | undefined>();

function start(): void {
  reportMistakes(document.documentElement, wrongAttributes(document.documentElement, DATA.html, "data-oncekey-"));
  const ofPage = (name: string) => document.documentElement.getAttribute(`data-oncekey-${name}`);
  const client = createClient(clientOptions(ofPage));
  const guardAll = () => {
    const forms = new Set(document.querySelectorAll<HTMLFormElement>("form[data-oncekey]"));
    for (const form of forms) {
      if (guards.has(form)) continue;
      reportMistakes(form, wrongAttributes(form, DATA.form, "data-oncekey-"));
      const read = (name: string) => ofForm(form, name === "intent" ? "data-oncekey" : `data-oncekey-${name}`);
      // An error in one form must not stop the guarding of others.
      let guard: FormGuard | undefined;
      try {
        guard = guardByMarkup(form, client, read);
      } catch (error) {
        reportError(error);
      }
      guards.set(form, guard);
    }
    // A form that has left the page loses its guard after its submit has ended.
    for (const [form, guard] of guards) {
      if (forms.has(form) || guard?.locked) continue;
      guard?.detach();
      guards.delete(form);
    }
  };
  guardAll();
  new MutationObserver(guardAll).observe(document.documentElement, {
    childList: true,
    subtree: true,
    attributeFilter: ["data-oncekey"],
  });
}

if (typeof document !== "undefined") {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
