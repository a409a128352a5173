// Notices that a page stays although the browser posted its form: a 204, a download, Stop, "stay" at a beforeunload
// dialog, or a response in another window or frame.

import { attribute } from "./form-data.js";
import { timer } from "../client/wait.js";

/** `not_sent`: the browser dropped the post before anything was sent. */
export type Stay = "stayed" | "not_sent";

/** How long a page waits for the response to its post before it counts as staying, in milliseconds. */
const PATIENCE = 8000;

interface Navigations extends EventTarget {
  addEventListener(type: "navigate", listener: (event: Event & { signal?: AbortSignal }) => void): void;
}

/** Calls `stays` once if the page stays. Returns a function that ends the watch. */
export function watchStay(form: HTMLFormElement, submitter: HTMLElement | null, stays: (how: Stay) => void): () => void {
  const stops: (() => void)[] = [];
  const stop = () => {
    for (const end of stops.splice(0)) end();
  };
  const end = (how: Stay) => {
    stop();
    stays(how);
  };
  const on = (target: EventTarget, type: string, listener: (event: never) => void) => {
    target.addEventListener(type, listener as EventListener);
    stops.push(() => target.removeEventListener(type, listener as EventListener));
  };
  if (goesElsewhere(attribute(form, submitter, "target") ?? baseTarget())) {
    // In a separate task: until then the browser reads the form.
    stops.push(timer(0, () => end("stayed")));
    return stop;
  }
  stops.push(timer(PATIENCE, () => end("stayed")));
  on(window, "pagehide", stop);
  // A dialog may ask the buyer during the event. Nothing is sent before the buyer has chosen.
  let asked: BeforeUnloadEvent | undefined;
  on(window, "beforeunload", (event: BeforeUnloadEvent) => {
    asked = event;
    stops.push(timer(0, () => (asked = undefined)));
  });
  const { navigation } = window as { navigation?: Navigations };
  if (navigation) {
    let seen = false;
    on(navigation, "navigate", (event: Event & { signal?: AbortSignal }) => {
      if (seen) return;
      seen = true;
      event.signal?.addEventListener("abort", () => {
        const isKept = asked !== undefined && (asked.defaultPrevented || Boolean(asked.returnValue));
        if (stops.length > 0) end(isKept ? "not_sent" : "stayed");
      });
    });
  }
  return stop;
}

/** Returns whether the response goes to another window or frame than this one and its parents. */
function goesElsewhere(target: string): boolean {
  return !["", "_self", "_parent", "_top", window.name.toLowerCase()].includes(target.trim().toLowerCase());
}

function baseTarget(): string {
  return document.querySelector("base[target]")?.getAttribute("target") ?? "";
}
