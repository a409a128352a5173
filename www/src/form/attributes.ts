// The names of the attributes in markup, and the check that none is misspelt.

import { spelling, unknownName } from "../client/options.js";

/** Attributes of <once-form>. */
export const ELEMENT = ["intent", "send", "key-field", "expects", "next", "key-url", "key-header"];
/** The attributes after `data-oncekey-`: on <html>, on a form, and on elements in the form. */
export const DATA = { html: ["key-url", "key-header"], form: ["send", "key-field", "expects", "next"], inside: ["busy", "done", "status"] };

/** Returns the errors in the attributes of a guarded form or of its element. The guard works in spite of them. */
export function wrongAttributes(element: Element, known: string[], prefix: string): TypeError[] {
  const wrong: TypeError[] = [];
  for (const { name } of Array.from(element.attributes)) {
    if (!name.startsWith(prefix) || known.includes(name.slice(prefix.length))) continue;
    const found = spelling(name.slice(prefix.length), known);
    // An element may have attributes of any framework; the prefix is ours.
    if (prefix === "" && !found) continue;
    const others = known.map((name) => prefix + name);
    wrong.push(unknownName(`<${element.localName}>`, name, others, "attribute", found && prefix + found));
  }
  return wrong;
}

