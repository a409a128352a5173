// Notices that a page stays although the browser posted a form from it: a 204, a download, Stop, "stay" at a
// beforeunload dialog, an answer that goes to another window or a frame.

import { attribute } from "./form-data.js";
import { timer } from "../client/wait.js";

/** `not_sent`: the browser has given the post up before anything was sent. */
export type Stay = "stayed" | "not_sent";

/** How long a page waits for the answer to its post before it counts as one that stays, in milliseconds. */
const PATIENCE = 8000;

interface Navigations extends EventTarget {
  addEventListener(type: "navigate", listener: (event: Event & { signal?: AbortSignal }) => void): void;
}

/** Calls back once, unless the page goes. Gives what ends the watch. */
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
    // In a task of its own: until then the browser reads the form.
    stops.push(timer(0, () => end("stayed")));
    return stop;
  }
  stops.push(timer(PATIENCE, () => end("stayed")));
  on(window, "pagehide", stop);
  // A dialog asks the buyer within the event; nothing is sent before it is answered.
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

/** Whether the answer is shown in another window or frame than this one, or those around it. */
function goesElsewhere(target: string): boolean {
  return !["", "_self", "_parent", "_top", window.name.toLowerCase()].includes(target.trim().toLowerCase());
}

function baseTarget(): string {
  return document.querySelector("base[target]")?.getAttribute("target") ?? "";
}
