// Notes clicks and keys, to recognize submits that come from one press: a double click, or a key that is held.
//
// src/client/form_guard/press.rs explains the presses.

import { listen, unlisten } from "./dom.js";
import { DOUBLE_TAP, type FormEvent, OVER, PRESSED, type Press, SUBMITTED } from "./rules.js";

/** The events that a submit may follow. */
const KINDS = ["click", "keydown", "keypress", "keyup"];

export class Presses {
  readonly #window: EventTarget;
  #state = 0;
  /** The timer that ends the task of a press. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The last tap. */
  #tapped: { target: EventTarget | null; at: number } | undefined;

  /** Listens on the window: a button may be anywhere in the page, and a handler may stop a click before it gets there. */
  constructor(window: EventTarget) {
    this.#window = window;
    for (const kind of KINDS) listen(window, kind, this.#note, true);
  }

  /** Returns the event of a submit, and notes that the press has submitted. */
  submit(): FormEvent {
    const [state, event] = SUBMITTED[this.#state]!;
    this.#state = state;
    return event;
  }

  /** Stops listening. */
  end(): void {
    for (const kind of KINDS) unlisten(this.#window, kind, this.#note, true);
    clearTimeout(this.#timer);
  }

  readonly #note = (event: KeyboardEvent | PointerEvent): void => {
    const press = this.#press(event);
    if (!press) return;
    this.#state = PRESSED[press][this.#state]!;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#state = OVER[this.#state]!));
  };

  /** Returns undefined for a key event of a script, which submits nothing. */
  #press(event: KeyboardEvent | PointerEvent): Press | undefined {
    const { type, isTrusted, detail } = event;
    if (type !== "click") {
      if (!isTrusted) return undefined;
      if (type !== "keydown") return "key";
      return (event as KeyboardEvent).repeat ? "keyHeld" : "keyDown";
    }
    if (!isTrusted) return detail > 1 ? "scriptedAgain" : "scripted";
    const isTap = (event as PointerEvent).pointerType === "touch";
    const before = this.#tapped;
    this.#tapped = isTap ? { target: event.target, at: event.timeStamp } : undefined;
    if (detail <= 0) return "clickByKey";
    const isDoubleTap = isTap && before?.target === event.target && event.timeStamp - before.at <= DOUBLE_TAP;
    return detail > 1 || isDoubleTap ? "clickAgain" : "click";
  }
}
