// Waiting, so that it can be ended.

/** The longest that a timer can wait; beyond it, it would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Calls back after so many milliseconds. Gives what cancels that. */
export function timer(after: number, callback: () => void): () => void {
  const id = setTimeout(callback, Math.min(after, LONGEST));
  return () => clearTimeout(id);
}

/** Waits; rejects with the signal's reason when that comes first. `wake` may end it early. */
export function sleep(after: number, signal?: AbortSignal, wake?: (resolve: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (then: () => void) => () => {
      stop();
      unwake?.();
      signal?.removeEventListener("abort", aborted);
      then();
    };
    const aborted = done(() => reject(signal?.reason));
    const stop = timer(after, done(resolve));
    const unwake = wake?.(done(resolve));
    signal?.addEventListener("abort", aborted);
    if (signal?.aborted) aborted();
  });
}

/** What comes; rejects with the signal's reason when that comes first, whatever becomes of the rest. */
export function abortable<T>(coming: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return coming;
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted);
    if (signal.aborted) aborted();
    void coming.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}

/** Waits until the browser has a network again, where it says that it has none: an attempt would likely be in vain. */
export async function online(longest: number, signal?: AbortSignal): Promise<void> {
  if (globalThis.navigator?.onLine !== false || typeof addEventListener !== "function") return;
  await sleep(longest, signal, (resolve) => {
    addEventListener("online", resolve);
    return () => removeEventListener("online", resolve);
  });
}
