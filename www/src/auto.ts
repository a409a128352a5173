// `oncekey/auto`: guards every <form data-oncekey="order:1042"> of the page, now and later. Importing it is all.
//
// Attributes: `data-oncekey` (the intent's name), and `data-oncekey-send`, `-key-field`, `-expects`, `-next` as in
// markup.ts.
// `<html data-oncekey-key-url="/_oncekey/key">` says where keys are asked.

import { type FormGuard, createClient } from "oncekey";
import { guardByMarkup, tellWrong } from "./markup.js";
import { DATA, wrongAttributes } from "./options.js";

const guards = new WeakMap<HTMLFormElement, FormGuard>();

function start(): void {
  tellWrong(document.documentElement, wrongAttributes(document.documentElement, DATA.html, "data-oncekey-"));
  const client = createClient({ keyUrl: document.documentElement.getAttribute("data-oncekey-key-url") });
  const guardAll = () => {
    for (const form of document.querySelectorAll<HTMLFormElement>("form[data-oncekey]")) {
      if (guards.has(form)) continue;
      tellWrong(form, wrongAttributes(form, DATA.form, "data-oncekey-"));
      const read = (name: string) => form.getAttribute(name === "intent" ? "data-oncekey" : `data-oncekey-${name}`);
      guards.set(form, guardByMarkup(form, client, read));
    }
  };
  guardAll();
  new MutationObserver(guardAll).observe(document.documentElement, { childList: true, subtree: true });
}

if (typeof document !== "undefined") {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
}
