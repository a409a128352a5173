"use client";

// `oncekey/react`: the guard of a form, and the state of an intent, as hooks.

import { type Client, type FormGuard, type GuardOptions, type IntentStatus, guardForm } from "oncekey";
import { type RefCallback, useCallback, useRef, useState, useSyncExternalStore } from "react";

/**
 * Returns a ref that guards its form: `<form ref={guard} method="post" action="/v1/orders">`. The lock is kept outside of
 * rendering, so no render can undo it. Later changes of `client`, `send` and `keyField` have no effect.
 */
export function useFormGuard(options: GuardOptions): RefCallback<HTMLFormElement> {
  const latest = useRef(options);
  latest.current = options;
  const guard = useRef<FormGuard | null>(null);
  return useCallback((form: HTMLFormElement | null) => {
    // React 18 ignores a clean-up function that a ref returns, but every version calls the ref with null at the end.
    guard.current?.detach();
    guard.current = null;
    if (!form) return;
    guard.current = guardForm(form, {
      ...latest.current,
      intent: (form) => {
        const { intent } = latest.current;
        return typeof intent === "function" ? intent(form) : intent;
      },
      onResponse: (response, form, outcome) => latest.current.onResponse?.(response, form, outcome),
      onError: (error, form) => (latest.current.onError ?? reportError)(error, form),
    });
  }, []);
}

const CHANGES = ["attempt", "retry", "inprogress", "settled", "unknown", "keyrotated"] as const;
const IDLE: IntentStatus = { state: "idle" };

/** Returns what is known about an intent. Renders again when that changes, in this page or in another tab. */
export function useIntentStatus(client: Client & { ready: Promise<void> }, intent: string): IntentStatus {
  const [shown] = useState(() => ({ text: "", status: IDLE }));
  const subscribe = useCallback(
    (changed: () => void) => {
      for (const type of CHANGES) client.addEventListener(type, changed);
      addEventListener("storage", changed);
      // If the core cannot be loaded now, a later call loads it, and its events tell the change.
      client.ready.then(changed, () => {});
      return () => {
        for (const type of CHANGES) client.removeEventListener(type, changed);
        removeEventListener("storage", changed);
      };
    },
    [client],
  );
  const read = () => {
    let status = IDLE;
    try {
      status = client.intent(intent).status();
    } catch {
      // The core is not loaded yet. `ready` reads again.
    }
    const text = JSON.stringify(status);
    // The same object while nothing has changed, as React asks for.
    if (text !== shown.text) Object.assign(shown, { text, status });
    return shown.status;
  };
  return useSyncExternalStore(subscribe, read, () => IDLE);
}
