// The look of a locked form, and how it is restored.
//
// The lock itself is the state of the guard. If a framework renders the form again and so removes the look, the form
// stays locked. The guard restores only attributes and labels that are still as the lock left them, because the framework
// has changed all others.

import { type Control, all, append, attribute, documentOf, focused, setAttribute, submitters } from "./dom.js";

export interface Look {
  /** How the buttons of a busy form are disabled: by `aria-disabled`, or by `disabled`. */
  disable?: "aria" | "native" | undefined;
  /** The label of the clicked button while the form is busy. Its `data-oncekey-busy` takes precedence. */
  busyLabel?: string | undefined;
}

/** Marks the field that the guard has put into a form. */
const KEY = "data-oncekeyed-field";
/** Marks a `<template>` with the label that a button had before. */
const LABEL = "data-oncekeyed-label";
/** The prefix of attributes that hold earlier values of other attributes. */
const WAS = "data-oncekeyed-was-";
/** The attributes that a lock may change. */
const CHANGED = ["aria-busy", "aria-disabled", "value", "disabled"];

interface Change {
  element: Element;
  name: string;
  before: string | null;
  ours: string;
}

interface Label {
  button: Element;
  ours: Node;
  /** A copy of the earlier label in the page, for scripts that copy the page. */
  copy: Element;
  before: Node[];
}

/** The changes of one lock. A new lock has none. */
export class Lock {
  readonly #form: HTMLFormElement;
  readonly #look: Look;
  #attributes: Change[] = [];
  #disabled: Control[] = [];
  #label: Label | undefined;
  /** The hidden field that the guard added. */
  #field: Element | undefined;
  /** A field of the form, and its earlier value. */
  #filled: { field: Element; before: string | null } | undefined;
  /** The element that had the focus when the form was locked. */
  focused: HTMLElement | null = null;

  constructor(form: HTMLFormElement, look: Look) {
    this.#form = form;
    this.#look = look;
  }

  /** Makes the changes that are possible at once. They do not affect the values that the form sends. */
  begin(): this {
    this.#set(this.#form, "aria-busy", "true");
    if (this.#look.disable !== "native") {
      for (const submitter of submitters(this.#form)) this.#set(submitter, "aria-disabled", "true");
    }
    return this;
  }

  /**
   * Makes the changes that must wait until the browser has read the form's values: a disabled button is not sent, and the
   * label of an `<input type=submit>` is its value.
   */
  show(submitter: HTMLElement | null): void {
    if (submitter) this.#relabel(submitter, attribute(submitter, "data-oncekey-busy") ?? this.#look.busyLabel);
    this.focused = focused(this.#form);
    this.#disable();
  }

  /**
   * Shows the form as locked and no longer busy. The clicked button gets the label in its `data-oncekey-done`, or the label
   * that it had before.
   */
  finish(submitter: HTMLElement | null): void {
    if (this.#attributes.length === 0) this.begin();
    this.#disable();
    const isBusy = ({ name }: Change) => name === "aria-busy" || name === "value";
    undoAttributes(this.#attributes.filter(isBusy));
    this.#attributes = this.#attributes.filter((change) => !isBusy(change));
    this.#unlabel();
    if (submitter) this.#relabel(submitter, attribute(submitter, "data-oncekey-done"));
  }

  /** Puts the key into the form's own field. */
  fill(field: Element, key: string): void {
    this.#filled = { field, before: attribute(field, "value") };
    setAttribute(field, "value", key);
  }

  /** Puts the key into a new hidden field. */
  addField(name: string, key: string): void {
    const field = documentOf(this.#form).createElement("input");
    for (const [attribute, value] of [["type", "hidden"], ["name", name], ["value", key], [KEY, ""]] as const) {
      setAttribute(field, attribute, value);
    }
    append(this.#form, field);
    this.#field = field;
  }

  /** Restores everything. */
  undo(): void {
    undoAttributes(this.#attributes);
    this.#unlabel();
    this.#field?.remove();
    if (this.#filled) setAttribute(this.#filled.field, "value", this.#filled.before);
    for (const control of this.#disabled) {
      control.disabled = false;
      unmark(control, "disabled");
    }
    // Disabling the focused button moved the focus to the body.
    if (this.focused && this.#disabled.includes(this.focused as Control)) refocus(this.#form, this.focused);
  }

  #set(element: Element, name: string, ours: string): void {
    const before = attribute(element, name);
    setAttribute(element, name, ours);
    mark(element, name, before);
    this.#attributes.push({ element, name, before, ours });
  }

  #disable(): void {
    if (this.#look.disable !== "native") return;
    for (const submitter of submitters(this.#form)) {
      if (submitter.disabled) continue;
      submitter.disabled = true;
      mark(submitter, "disabled", null);
      this.#disabled.push(submitter);
    }
  }

  /** Replaces the label of a button. The nodes of the old label are kept, so that they come back with their listeners. */
  #relabel(submitter: HTMLElement, text: string | null | undefined): void {
    if (!text) return;
    if (submitter.localName === "button") {
      const before = [...submitter.childNodes];
      submitter.textContent = text;
      this.#label = { button: submitter, ours: submitter.firstChild!, copy: copyOfLabel(submitter, before), before };
    } else if (submitter.localName === "input" && (submitter as HTMLInputElement).type === "submit") {
      this.#set(submitter, "value", text);
    }
  }

  #unlabel(): void {
    if (!this.#label) return;
    const { button, ours, copy, before } = this.#label;
    this.#label = undefined;
    if (ours.parentNode !== button) return copy.remove();
    button.textContent = "";
    for (const node of before) {
      try {
        button.appendChild(node);
      } catch {
        // The page has put the node elsewhere.
      }
    }
  }
}

/** Undoes the changes of a lock in a copy of a form. A script may copy the page while the form is busy, and show the copy on Back. */
export function restoreCopy(form: HTMLFormElement): void {
  for (const element of [form, ...submitters(form)]) {
    for (const name of CHANGED) {
      const was = attribute(element, WAS + name);
      if (was === null) continue;
      setAttribute(element, name, was.startsWith("=") ? was.slice(1) : null);
      unmark(element, name);
    }
  }
  for (const template of all(form, `template[${LABEL}]`)) {
    template.parentElement!.replaceChildren((template as HTMLTemplateElement).content);
  }
  for (const field of all(form, `[${KEY}]`)) field.remove();
}

/** Restores the focus, unless it has moved. */
export function refocus(form: HTMLFormElement, element: HTMLElement): void {
  const now = focused(form);
  if (!now || now.localName === "body") element.focus();
}

function undoAttributes(changes: Change[]): void {
  for (const { element, name, before, ours } of changes) {
    unmark(element, name);
    if (attribute(element, name) === ours) setAttribute(element, name, before);
  }
}

/** Puts a copy of the label into the button, in a `<template>`, which is not shown. */
function copyOfLabel(button: HTMLElement, before: Node[]): Element {
  const template = button.ownerDocument.createElement("template");
  setAttribute(template, LABEL, "");
  template.content.append(...before.map((node) => node.cloneNode(true)));
  button.append(template);
  return template;
}

/** Notes the earlier value of an attribute in the page. */
function mark(element: Element, name: string, before: string | null): void {
  setAttribute(element, WAS + name, before === null ? "" : `=${before}`);
}

function unmark(element: Element, name: string): void {
  setAttribute(element, WAS + name, null);
}
