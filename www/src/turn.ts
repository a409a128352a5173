// Whose turn it is to send for an intent: one page, and in it one call, at a time.
//
// Web Locks decide among tabs where there are any, else a lease in storage (src/intent/claim.rs).

import type { CoreClient } from "./core.js";
import { abortable, sleep, timer } from "./wait.js";

export interface TurnOptions {
  client: CoreClient;
  namespace: string;
  intent: string;
  signal: AbortSignal | undefined;
  /** The longest that it waits for other calls, in milliseconds; then it rejects with {@link TooLong}. */
  longest: number;
  /** Another call is sending for this intent. */
  onWait(): void;
}

export interface Turn {
  /** Since when this call has waited for another one, if it did. */
  waitedSince: number | undefined;
  /** To be called before each attempt: waits until it is this call's turn again, should it have lost it. */
  keep(): Promise<void>;
}

/** Another call has not come to its end: its page may be frozen, with the lock in its hands. */
export class TooLong extends Error {}

/**
 * How long a lock is held after the last write, in milliseconds. Tabs live in processes of their own, each with a
 * copy of localStorage; a write reaches the others a little later, and the lock does not wait for it. Who took over
 * at once might find no key, and make a second one.
 */
const SEEN_AFTER = 100;

/** The calls of this page, the last one of each intent. */
const tails = new Map<string, Promise<unknown>>();

/** The locks that are held after a call has ended, each with what takes it over: this page has seen every write. */
const held = new Map<string, () => () => void>();

/** Runs when it is the call's turn; the next one has to wait until that has ended. */
export async function takeTurn<T>(given: TurnOptions, run: (turn: Turn) => Promise<T>): Promise<T> {
  const name = lockName(given.namespace, given.intent);
  const { options, begin, end } = patient(given);
  const since = Date.now();
  let waited = false;
  const wait = () => {
    if (!waited) options.onWait();
    waited = true;
  };
  const go = (claim: () => Promise<void>) => {
    end();
    const keep = () => {
      begin();
      return claim().finally(end);
    };
    return run({ waitedSince: waited ? since : undefined, keep });
  };

  const before = tails.get(name);
  const among = async () => {
    if (before) {
      wait();
      await abortable(before, options.signal);
    }
    return options.client.isShared ? amongTabs(name, options, wait, go) : go(nothing);
  };
  begin();
  const mine = among().finally(end);
  // Who comes next waits for this call and, should it give up early, for those before it.
  const tail = Promise.allSettled([before, mine]);
  tails.set(name, tail);
  try {
    return await mine;
  } finally {
    void tail.then(() => {
      if (tails.get(name) === tail) tails.delete(name);
    });
  }
}

/**
 * One name for each pair: a colon in the namespace is none between the two. Without one the name is that of earlier
 * releases, which may be open in another tab.
 */
function lockName(namespace: string, intent: string): string {
  if (!namespace.includes(":")) return `oncekey:${namespace}:${intent}`;
  return `oncekey ${namespace.length}:${namespace}:${intent}`;
}

/** Gives the options a signal that aborts as the caller's does, or when it has been waited too long. */
function patient(options: TurnOptions): { options: TurnOptions; begin(): void; end(): void } {
  const { signal, longest } = options;
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  let stop = () => {};
  return {
    options: { ...options, signal: controller.signal },
    begin() {
      stop = timer(longest, () => controller.abort(new TooLong()));
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
    },
    end() {
      stop();
      signal?.removeEventListener("abort", abort);
    },
  };
}

async function amongTabs<T>(
  name: string,
  options: TurnOptions,
  wait: () => void,
  go: (keep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const locks = webLocks();
  if (!locks) return byLease(options, wait, go);
  let release: (() => void) | undefined;
  try {
    release = held.get(name)?.() ?? (await acquire(locks, name, { ifAvailable: true }));
    if (!release) {
      wait();
      release = await acquire(locks, name, options.signal ? { signal: options.signal } : {});
    }
  } catch (error) {
    // A frame without an origin has the interface and may not use it.
    if ((error as { name?: unknown } | null)?.name !== "SecurityError") throw error;
    return byLease(options, wait, go);
  }
  try {
    return await go(nothing);
  } finally {
    // The answer need not wait for it, nor this page's next call.
    if (release) hold(name, release);
  }
}

/** Waits for the lock, and gives what lets go of it; undefined where it is not to be waited for, and taken. */
function acquire(locks: LockManager, name: string, options: LockOptions): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const got = (lock: Lock | null) => (lock ? new Promise<void>((release) => resolve(release)) : resolve(undefined));
    locks.request(name, options, got).catch((error: unknown) => {
      // It may have been stolen while nobody used it.
      held.delete(name);
      reject(error);
    });
  });
}

function hold(name: string, release: () => void): void {
  const take = () => {
    stop();
    if (held.get(name) === take) held.delete(name);
    return release;
  };
  const stop = timer(SEEN_AFTER, () => take()());
  held.set(name, take);
}

async function byLease<T>(
  options: TurnOptions,
  wait: () => void,
  go: (keep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { client, intent } = options;
  const claim = async () => {
    for (;;) {
      const claimed = client.claim(intent) as { do: "send" } | { do: "wait" | "confirm"; after: number };
      if (claimed.do === "send") return;
      if (claimed.do === "wait") wait();
      await sleep(claimed.after, options.signal, claimed.do === "wait" ? storageChange : undefined);
      if (claimed.do === "confirm" && client.isClaimed(intent)) return;
    }
  };
  try {
    await claim();
  } catch (error) {
    // It may have been written, and not confirmed.
    client.unclaim(intent);
    throw error;
  }
  const renewal = setInterval(() => client.renewClaim(intent), client.claimRenewal);
  // Its successor, often this very page loaded anew, need not wait until the claim dies.
  const stay = on("pagehide", () => client.unclaim(intent));
  try {
    return await go(async () => {
      if (!client.isClaimed(intent)) await claim();
    });
  } finally {
    clearInterval(renewal);
    stay();
    client.unclaim(intent);
  }
}

function storageChange(resolve: () => void): () => void {
  return on("storage", resolve);
}

/** Listens, where there is a page. Gives what ends that. */
function on(event: "storage" | "pagehide", listener: () => void): () => void {
  if (typeof addEventListener !== "function") return () => {};
  addEventListener(event, listener);
  return () => removeEventListener(event, listener);
}

function webLocks(): LockManager | undefined {
  try {
    return globalThis.navigator?.locks;
  } catch {
    return undefined;
  }
}

async function nothing(): Promise<void> {}
