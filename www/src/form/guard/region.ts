// The live region: texts for screen readers.

import { all, append, attribute, documentOf, parentOf, setAttribute } from "./dom.js";

/** The style that hides the region from sight, but not from screen readers. */
const HIDDEN = "position:absolute;width:1px;height:1px;margin:-1px;padding:0;border:0;overflow:hidden;clip-path:inset(50%);white-space:nowrap";

/** Marks a region that the guard made. */
const OURS = "data-oncekeyed-region";

export class Region {
  readonly #form: HTMLFormElement;
  #made: HTMLElement | undefined;

  /** Makes the region at once, because screen readers announce its text only if it was there before. */
  constructor(form: HTMLFormElement) {
    this.#form = form;
    this.#region();
  }

  say(text: string): void {
    this.#region().textContent = text;
  }

  /** Removes the region that was made. */
  remove(): void {
    this.#made?.remove();
    this.#made = undefined;
  }

  /**
   * Returns the live region of the page in the form, or one that is made after the form. A screen reader may ignore a
   * region inside of a busy form.
   */
  #region(): Element {
    const form = this.#form;
    const theirs = all(form, "[data-oncekey-status]")[0];
    if (theirs) return theirs;
    const region = (this.#made ??= made(form));
    // The region is new, or was lost when the page was rendered again.
    if (!region.parentNode) {
      if (parentOf(form)) Element.prototype.after.call(form, region);
      else append(form, region);
    }
    return region;
  }
}

function made(form: HTMLFormElement): HTMLElement {
  // A copy of a page has a copy of the region.
  const next = Reflect.get(Element.prototype, "nextElementSibling", form) as Element | null;
  if (next && attribute(next, OURS) !== null) next.remove();
  const region = documentOf(form).createElement("output");
  for (const [name, value] of [[OURS, ""], ["role", "status"], ["aria-live", "polite"]] as const) setAttribute(region, name, value);
  // A strict content security policy would refuse a `style` attribute.
  region.style.cssText = HIDDEN;
  return region;
}
