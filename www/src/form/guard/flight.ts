// A submit in progress (a *flight*): its event and its stage.

/** The last submit. It is kept until the form is free again. */
export interface Flight {
  /** The submit's place, from 1. */
  number: number;
  event: SubmitEvent;
  submitter: HTMLElement | null;
  stage: Stage;
  entries?: FormData | undefined;
}

/**
 * - `undecided`: step 2 has not run yet, and other handlers may still prevent the submit
 * - `ours`: the guard has prevented the browser's own POST
 * - `native`: the browser posts the form, with the key in a field
 * - `keyReady`: like `ours`, and the key that the submit waits for has arrived
 * - `cancelled`: another handler prevented the submit after the guard had prevented it
 * - `over`: the event is over
 */
export type Stage = "undecided" | "ours" | "native" | "keyReady" | "cancelled" | "over";

const STOPS = ["stopPropagation", "stopImmediatePropagation", "cancelBubble"] as const;
const PREVENTS = ["preventDefault", "returnValue"] as const;

/** Calls back when a handler stops the event, so that it may not reach the guard's last listener. */
export function hearStops(event: Event, stopped: (name: "stopPropagation" | "stopImmediatePropagation") => void): void {
  shadowMethod(event, STOPS[0], () => stopped(STOPS[0]));
  shadowMethod(event, STOPS[1], () => stopped(STOPS[1]));
  // `cancelBubble = false` stops nothing.
  shadowFlag(event, STOPS[2], (value) => value !== false && stopped(STOPS[0]));
}

/** Calls back when a handler prevents an event that the guard has already prevented. */
export function hearPrevents(event: Event, prevented: () => void): void {
  shadowMethod(event, PREVENTS[0], prevented);
  // `returnValue = true` prevents nothing.
  shadowFlag(event, PREVENTS[1], (value) => value !== true && prevented());
}

/** Restores the methods that stop the event. */
export function unhearStops(event: Event): void {
  for (const name of STOPS) Reflect.deleteProperty(event, name);
}

/** Restores the event. */
export function unhear(event: Event): void {
  for (const name of [...STOPS, ...PREVENTS]) Reflect.deleteProperty(event, name);
}

/** Replaces a method. An event that cannot be changed keeps its own, and the guard notices less. */
function shadowMethod(event: Event, name: string, method: () => void): void {
  Reflect.set(event, name, method);
}

/** Replaces a property: it reads as false, and an assignment calls `set`. */
function shadowFlag(event: Event, name: string, set: (value: unknown) => void): void {
  Reflect.defineProperty(event, name, { configurable: true, get: () => false, set });
}
