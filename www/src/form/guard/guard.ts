// The guard of a form in a page: it carries out what the rules (rules.ts) decide.
//
// A submit
//
// Locking is synchronous, because after an `await` a double click would already be sent.
//
// 1. A capturing listener on the form gets every submit before other handlers. It swallows the submit, or locks the form.
// 2. The last listener of the form decides. If another handler has prevented the submit, the guard cancels it, and nothing
//    is sent. Otherwise the browser's own POST is prevented (`fetch`), or gets the key in a hidden field (`navigate`).
// 3. A separate task runs after the event. A handler further up (the root of a framework) may have prevented the event,
//    which cancels the submit. Otherwise the form gets its full busy look (an earlier change would affect the values that
//    the form sends), and with `fetch` the callback is called.
//
// Which submits the guard gets
//
// | case | what happens |
// |---|---|
// | a handler stops the event before step 2 | step 2 runs at that moment, so there is no POST without a key. The form's values are read at that moment (`navigate`) or in step 3 (`fetch`) |
// | a handler that captures on an ancestor prevents it | nothing is sent, and nothing is locked |
// | a capturing handler on an ancestor stops it, or a capturing handler on the form that is older than the guard calls `stopImmediatePropagation` | the event does not reach the guard, so the submit is not guarded |
// | the submitter has a `formmethod` other than POST (`get`, or `dialog`: a Cancel button) | if the form is free, the submit passes, unguarded and without a key. If it is locked, the submit is swallowed |
// | a required field is empty | there is no event, and nothing is locked |
// | `form.submit()` | there is no event: not guarded. Use `requestSubmit()` |
// | a script's own `dispatchEvent` | `fetch`: like any submit. `navigate`: the browser posts nothing, so the event passes when the form is free |
// | an inline `onsubmit` of an ancestor returns false | with `fetch` the guard cannot notice this, and sends the form |
// | the form posts to another window, or the response is a download | the page stays, and the form locked, until it is released |
//
// A double click or a held key sends only the first submit, even if that has ended before the second one comes: see
// press.ts.
//
// The guard reads the form's values by `new FormData(form, submitter)`, so the page gets one more `formdata` event than
// without a guard.

import { type Control, attribute, controls, documentOf, entriesOf, listen, unlisten } from "./dom.js";
import { type Flight, hearPrevents, hearStops, unhear, unhearStops } from "./flight.js";
import { Lock, type Look, refocus, restoreCopy } from "./lock.js";
import { Presses } from "./press.js";
import { Region } from "./region.js";
import { ENDED, type FormAction, type FormEvent, type FormOutcome, type FormState, NEXT } from "./rules.js";

export interface GuardSettings extends Look {
  /** `fetch`: the callback sends the form. `navigate`: the browser posts it, with the key in a hidden field. */
  send: "fetch" | "navigate";
  /** The name of the hidden field. */
  keyField: string;
  /** Returns the `detail` of the event `oncekey:blocked`. */
  detail?(): unknown;
}

/**
 * Called for a submit that the guard lets through. With `send: "navigate"` it returns the key, or nothing if the key comes
 * later. `submission` is the number to pass to `settle`.
 */
export type OnSubmit = (submitter: HTMLElement | null, data: FormData, submission: number) => unknown;

/** Marks a guarded form. Every copy of this package uses the same symbol, and no control can hide it. */
const MARK = Symbol.for("oncekey.guard");

export class Guard {
  readonly #form: HTMLFormElement;
  readonly #window: EventTarget;
  readonly #settings: GuardSettings;
  readonly #onSubmit: OnSubmit;
  readonly #presses: Presses;
  readonly #region: Region;
  #isAttached = true;
  #state: FormState = "free";
  /** How many submits the guard let through. The number of a submit is its place, from 1. */
  #submissions = 0;
  /** The number of the last submit for which the callback was called. */
  #calledFor = 0;
  #flight: Flight | undefined;
  #lock: Lock;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** An error of the callback. It is thrown in step 3, where it disturbs no other handler. */
  #failure: { error: unknown } | undefined;

  /** Guards the form. Throws if it already has a guard, or cannot be sent as the settings say. */
  constructor(form: HTMLFormElement, settings: GuardSettings, onSubmit: OnSubmit) {
    try {
      controls(form);
    } catch {
      throw new TypeError("oncekey: guardForm needs a form element.");
    }
    if (settings.send === "navigate") {
      requirePost(attribute(form, "method"));
      keyField(form, settings.keyField);
    }
    if (MARK in form) throw new Error("oncekey: this form already has a guard. Detach the other guard first.");
    Reflect.set(form, MARK, true);
    this.#form = form;
    this.#settings = settings;
    this.#onSubmit = onSubmit;
    this.#window = documentOf(form).defaultView ?? globalThis;
    this.#lock = new Lock(form, settings);
    restoreCopy(form);
    this.#region = new Region(form);
    this.#presses = new Presses(this.#window);
    listen(form, "submit", this.#first, true);
    listen(this.#window, "pageshow", this.#shown);
  }

  /** Whether the form is locked: further submits are swallowed. */
  get locked(): boolean {
    return this.#state !== "free";
  }

  /** Unlocks the form in any state, and restores its look. */
  release(): void {
    this.#apply("release");
  }

  /**
   * Ends a submit. After "succeeded" the form stays locked; the other outcomes unlock it. Without a number, this ends the
   * last submit. The end of an earlier submit changes nothing.
   */
  settle(outcome: FormOutcome, submission = this.#submissions): void {
    // If the callback was not called for a submit yet, the submit cannot have ended.
    if (this.#calledFor === this.#submissions && submission === this.#submissions) this.#apply(ENDED[outcome]);
  }

  /** Marks the form as done: it stays locked and is no longer busy. A submit that was not sent yet is not sent. */
  done(): void {
    if (this.#isAttached) this.#apply("done");
  }

  /** Submits the form again after it waited for its key, by the same button or by `submitter`. Does nothing if no submit waits. */
  resubmit(submitter?: HTMLElement | null): void {
    if (this.#state !== "waiting") return;
    const flight = this.#flight;
    if (flight) {
      if (submitter) flight.submitter = submitter;
      // A form submits nothing during its submit event.
      if (flight.stage === "ours") flight.stage = "keyReady";
      if (flight.stage !== "over") return;
    }
    if (this.#apply("resubmit") !== "resend") return;
    try {
      HTMLFormElement.prototype.requestSubmit.call(this.#form, flight?.submitter ?? null);
    } finally {
      // A field became invalid, or the form has left the page: there was no event.
      if (this.#is("resending")) this.#apply("cancelled");
    }
  }

  /** Announces a text to screen readers. */
  say(text: string): void {
    if (this.#isAttached) this.#region.say(text);
  }

  /** Removes the guard and restores the form. Afterwards this object does nothing. */
  detach(): void {
    if (!this.#isAttached) return;
    this.#isAttached = false;
    unlisten(this.#form, "submit", this.#first, true);
    unlisten(this.#form, "submit", this.#last);
    unlisten(this.#window, "pageshow", this.#shown);
    this.#presses.end();
    clearTimeout(this.#timer);
    this.#apply("release");
    this.#region.remove();
    Reflect.deleteProperty(this.#form, MARK);
  }

  /** Asks the rules, restores the form if they say so, and returns their action. */
  #apply(event: FormEvent): FormAction {
    const [state, action] = NEXT[event][this.#state];
    this.#state = state;
    if (action === "restore" || action === "resend") this.#restore();
    else if (action === "finish") this.#finish();
    return action;
  }

  #is(state: FormState): boolean {
    return this.#state === state;
  }

  /** Takes step 1: swallows the submit, or locks the form. */
  readonly #first = (event: SubmitEvent): void => {
    // The event is that of another form, in a shadow tree or (by a script) inside of this form.
    if (event.target !== this.#form) return;
    if (this.#state === "free" && this.#passes(event)) {
      // The last listener may be left from an earlier submit whose event did not reach it.
      unlisten(this.#form, "submit", this.#last);
      return;
    }
    if (this.#apply(this.#presses.submit()) === "go") {
      this.#go(event);
    } else {
      event.preventDefault();
      event.stopImmediatePropagation();
      this.#tellBlocked();
    }
  };

  /** Returns whether the guard ignores a submit. */
  #passes(event: SubmitEvent): boolean {
    const method = event.submitter && attribute(event.submitter, "formmethod");
    return (
      event.defaultPrevented ||
      (method !== null && !isPost(method)) ||
      (this.#settings.send === "navigate" && !event.isTrusted)
    );
  }

  #go(event: SubmitEvent): void {
    const number = ++this.#submissions;
    // A listener that is older than the guard may have stopped the event.
    const isStopped = event.cancelBubble;
    hearStops(event, this.#stopped);
    this.#flight = { number, event, submitter: event.submitter, stage: "undecided" };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#afterwards(number));
    unlisten(this.#form, "submit", this.#last);
    listen(this.#form, "submit", this.#last);
    this.#keep(number, new Lock(this.#form, this.#settings).begin());
    if (isStopped) this.#decide(event, true);
  }

  readonly #last = (event: SubmitEvent): void => this.#decide(event, false);

  /** Takes step 2 when a handler stops the event, because the last listener may not be reached. */
  readonly #stopped = (stop: "stopPropagation" | "stopImmediatePropagation"): void => {
    const event = this.#flight?.event;
    if (!event) return;
    unhearStops(event);
    event[stop]();
    this.#decide(event, true);
  };

  /** Takes step 2: cancels the submit, holds the browser's POST back, or adds the key to it. */
  #decide(event: SubmitEvent, isStopped: boolean): void {
    const flight = this.#flight;
    // If the form was released during the event, it must not be sent without a key.
    if (flight?.event !== event) return event.preventDefault();
    const { stage, number } = flight;
    const isFetch = this.#settings.send === "fetch";
    if (stage === "undecided") {
      if (event.defaultPrevented) {
        this.#apply("cancelled");
        return;
      }
      if (!isFetch) return this.#navigate(flight);
      this.#holdBack(flight);
    } else if (stage !== "ours" || !isFetch) {
      return;
    }
    // The handler that stopped the event may fill in values. They are read later.
    if (!isStopped) this.#read(number);
  }

  /** Prevents the browser's own POST. */
  #holdBack(flight: Flight): void {
    flight.event.preventDefault();
    flight.stage = "ours";
    hearPrevents(flight.event, () => {
      if (flight.stage === "ours" || flight.stage === "keyReady") flight.stage = "cancelled";
    });
  }

  /** Reads the current values of the form. This runs the `formdata` handlers of the page. */
  #read(number: number): void {
    let entries: FormData | undefined;
    try {
      entries = this.#entries();
    } catch {
      // They are read again in step 3, which reports the error.
    }
    if (this.#flight?.number === number) this.#flight.entries = entries;
  }

  #entries(): FormData {
    return entriesOf(this.#form, this.#flight?.submitter ?? null);
  }

  #navigate(flight: Flight): void {
    const { event, number } = flight;
    try {
      this.#refuseGet(flight);
      const key = keyOf(this.#call(number, this.#entries()));
      if (!this.#isCurrent(number)) {
        event.preventDefault();
      } else if (key === undefined) {
        this.#holdBack(flight);
        this.#apply("keyPending");
      } else {
        this.#putKey(key);
        flight.stage = "native";
      }
    } catch (error) {
      event.preventDefault();
      if (this.#isCurrent(number)) this.#apply("failed");
      this.#failure = { error };
    }
  }

  /** Refuses a GET: the method may have been changed since the form was guarded. */
  #refuseGet({ submitter }: Flight): void {
    requirePost((submitter && attribute(submitter, "formmethod")) ?? attribute(this.#form, "method"));
  }

  /** Puts the key into the form: into the field that the server made for it, or into a new one. */
  #putKey(key: string): void {
    const { keyField: name } = this.#settings;
    const field = keyField(this.#form, name);
    if (field) this.#lock.fill(field, key);
    else this.#lock.addField(name, key);
  }

  /** Takes step 3, in a task after the event. Throws an error of the callback, if there was one. */
  #afterwards(number: number): void {
    try {
      this.#after(number);
    } finally {
      const failure = this.#failure;
      this.#failure = undefined;
      if (failure) throw failure.error;
    }
  }

  #after(number: number): void {
    const flight = this.#flight;
    if (flight?.number !== number) return;
    const { event, stage } = flight;
    flight.stage = "over";
    unhear(event);
    // The page called `done` before anything was sent.
    if (this.#state === "done") return;
    const isPrevented = (stage === "undecided" || stage === "native") && event.defaultPrevented;
    if (stage === "cancelled" || isPrevented) this.#apply("cancelled");
    else if (stage === "keyReady") this.resubmit();
    else if (stage === "ours" && this.#settings.send === "fetch") this.#send(flight);
    else this.#show(flight);
  }

  #send(flight: Flight): void {
    const { number } = flight;
    try {
      const entries = flight.entries ?? this.#entries();
      flight.entries = undefined;
      this.#call(number, entries);
    } catch (error) {
      if (this.#isCurrent(number)) this.#apply("failed");
      throw error;
    }
    if (this.#isCurrent(number)) this.#show(flight);
  }

  #call(number: number, entries: FormData): unknown {
    this.#calledFor = number;
    const onSubmit = this.#onSubmit;
    return onSubmit(this.#flight?.submitter ?? null, entries, number);
  }

  /** Completes the busy look. */
  #show({ number, submitter }: Flight): void {
    const lock = this.#takeLock();
    lock.show(submitter);
    this.#keep(number, lock);
  }

  /** Shows the form as locked and no longer busy. */
  #finish(): void {
    const lock = this.#takeLock();
    lock.finish(this.#flight?.submitter ?? null);
    if (this.locked) this.#lock = lock;
    else lock.undo();
  }

  /** Unlocks the form and restores its look. */
  #restore(): void {
    const flight = this.#flight;
    this.#flight = undefined;
    const lock = this.#takeLock();
    if (flight) unhear(flight.event);
    lock.undo();
  }

  /** Takes the lock while it changes the page, because a change may run code of the page, which may call the guard. */
  #takeLock(): Lock {
    const lock = this.#lock;
    this.#lock = new Lock(this.#form, this.#settings);
    return lock;
  }

  /** Keeps the lock of a submit, unless code of the page has ended the submit in the meantime. */
  #keep(number: number, lock: Lock): void {
    if (this.#isCurrent(number)) this.#lock = lock;
    else lock.undo();
  }

  readonly #shown = (event: PageTransitionEvent): void => {
    if (!event.persisted) return;
    const { focused } = this.#lock;
    this.#apply("shown");
    // A page that was kept comes back without its focus.
    if (focused) refocus(this.#form, focused);
  };

  /** Returns whether this is the last submit and the form has not been freed since. */
  #isCurrent(number: number): boolean {
    return this.#flight?.number === number;
  }

  /** Dispatches an event for the page. It contains no values of the form. */
  #tellBlocked(): void {
    let detail: unknown;
    try {
      detail = this.#settings.detail?.();
    } catch {
      // The page's own function. The event is sent in any case.
    }
    EventTarget.prototype.dispatchEvent.call(this.#form, new CustomEvent("oncekey:blocked", { bubbles: true, detail }));
  }
}

function keyOf(returned: unknown): string | undefined {
  if (returned === undefined || returned === null) return undefined;
  if (typeof returned === "string" && returned !== "") return returned;
  throw new TypeError("oncekey: the callback must return a key or nothing.");
}

/** Returns whether the method of a form or button is POST. Without one, it is GET. */
function isPost(method: string | null): boolean {
  return method?.toLowerCase() === "post";
}

/** Requires POST for a form that the browser sends: a GET would put the key into the URL. */
function requirePost(method: string | null): void {
  if (!isPost(method)) throw new TypeError('oncekey: send "navigate" needs a form with method="post".');
}

/**
 * Returns the form's own field for the key, if it has one. Throws if there are several such fields, or one that is not
 * hidden, because then the page uses the name for something else.
 */
function keyField(form: HTMLFormElement, name: string): Control | undefined {
  const fields = controls(form).filter((field) => attribute(field, "name") === name);
  if (fields.length > 1 || (fields[0] && fields[0].type !== "hidden")) {
    throw new Error("oncekey: keyField must name one hidden field of the form, or none.");
  }
  return fields[0];
}
