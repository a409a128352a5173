// Waits that can be ended early.

/** The longest wait of a timer. A longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

/** Calls back after this many milliseconds. Returns a function that cancels the timer. */
export function timer(after: number, callback: () => void): () => void {
  const id = setTimeout(callback, Math.min(after, LONGEST));
  return () => clearTimeout(id);
}

/** Waits for `after` milliseconds. Rejects with the signal's reason if the signal aborts first. `wake` may end the wait early. */
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

/** Returns what the promise returns, or rejects with the signal's reason if the signal aborts first. */
export function abortable<T>(coming: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return coming;
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted);
    if (signal.aborted) aborted();
    void coming.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}

/** Waits until the browser is online, at most `longest` milliseconds. Returns at once if the browser is not offline. */
export async function online(longest: number, signal?: AbortSignal): Promise<void> {
  if (globalThis.navigator?.onLine !== false || typeof addEventListener !== "function") return;
  await sleep(longest, signal, (resolve) => {
    addEventListener("online", resolve);
    return () => removeEventListener("online", resolve);
  });
}
