// Makes sure that only one call at a time sends requests for an intent: it takes the intent's turn.
//
// Between tabs, Web Locks decide. Browsers without them use a lease in storage (src/client/tab_lease.rs). A store outside
// of the page has turns of its own.

import type { CoreClient } from "./core-client.js";
import { abortable, sleep, timer } from "./wait.js";

export interface TurnOptions {
  client: CoreClient;
  namespace: string;
  intent: string;
  signal: AbortSignal | undefined;
  /** The longest wait for other calls, in milliseconds. After it, `takeTurn` rejects with {@link TooLong}. */
  longest: number;
  /** Called when another call is sending for this intent. */
  onWait(): void;
}

export interface Turn {
  /** Notes that a new key was stored now. */
  keyed(): void;
  /** Since when this call waited for another call, if it did. */
  waitedSince: number | undefined;
  /** Called before each attempt: if the call has lost its turn, waits until it has it again. */
  keep(): Promise<void>;
}

/** Another call did not end in time. Its page may be frozen while it holds the lock. */
export class TooLong extends Error {}

/**
 * The time, in milliseconds, after which every tab has seen a write. Tabs run in different processes, each with a copy of
 * localStorage. A write reaches the other tabs a little later, and a lock does not wait for it. A tab that took the lock
 * at once might not find the key and would make a second one.
 *
 * - A call holds its lock until other tabs have seen the key that it stored. After a success the call returns only then,
 *   because the page is likely to be left, and Firefox keeps no page for Back that holds a lock. Other ends do not wait.
 * - A call that waited for a lock, or finds an open outcome under a free lock, reads again after this time. Then it has
 *   seen the last write.
 */
const SEEN_AFTER = 100;

/** The last call of this page for each intent. */
const tails = new Map<string, Promise<unknown>>();

/**
 * The locks that this page holds after a call has ended, each with a function that takes the lock over. While it holds a
 * lock, the page has seen every write.
 */
const held = new Map<string, () => Release>();

/** Runs `run` when it is the call's turn, and returns its result. The next call waits until `run` has ended. */
export async function takeTurn<T>(given: TurnOptions, run: (turn: Turn) => Promise<T>): Promise<T> {
  const name = (given.client.store.place ?? "") + lockName(given.namespace, given.intent);
  const { options, begin, end } = patient(given);
  const since = Date.now();
  let waited = false;
  const wait = () => {
    if (!waited) options.onWait();
    waited = true;
  };
  let keyedAt = -Infinity;
  const go = (takeBack: () => Promise<void>) => {
    end();
    const keep = () => {
      begin();
      return takeBack().finally(end);
    };
    const keyed = () => void (keyedAt = performance.now());
    return run({ waitedSince: waited ? since : undefined, keep, keyed });
  };
  /** Returns how long it takes until every tab has seen the stored key. */
  const unseen = () => keyedAt + SEEN_AFTER - performance.now();

  const before = tails.get(name);
  const among = async () => {
    if (before) {
      wait();
      await abortable(before, options.signal);
    }
    const { store } = options.client;
    if (store.turn) return store.turn(options, wait, go);
    return store.isShared ? amongTabs(name, options, wait, go, unseen) : go(nothing);
  };
  begin();
  const mine = among().finally(end);
  // The next call waits for this call and, if this one ends early, for the calls before it.
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
 * Returns a different name for each pair, even if the namespace contains a colon. For a namespace without a colon it is
 * the name that earlier releases use, because another tab may run one.
 */
function lockName(namespace: string, intent: string): string {
  if (!namespace.includes(":")) return `oncekey:${namespace}:${intent}`;
  return `oncekey ${namespace.length}:${namespace}:${intent}`;
}

/** Returns the options with a signal that aborts with the caller's signal, or after the longest wait. */
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
  unseen: () => number,
): Promise<T> {
  const { client, intent, signal } = options;
  const locks = webLocks();
  if (!locks) return byLease(options, wait, go);
  let release: Release | undefined;
  let isSeen: boolean;
  try {
    release = held.get(name)?.();
    isSeen = release !== undefined;
    release ??= await acquire(locks, name, { ifAvailable: true });
    if (release) {
      isSeen ||= client.afterAbort(intent) !== "unknown";
    } else {
      wait();
      release = await acquire(locks, name, signal ? { signal } : {});
    }
  } catch (error) {
    // A frame without an origin has Web Locks but must not use them.
    if ((error as { name?: unknown } | null)?.name !== "SecurityError") throw error;
    return byLease(options, wait, go);
  }
  let isLast = false;
  try {
    if (!isSeen) await sleep(SEEN_AFTER, signal);
    const result = await go(nothing);
    isLast = client.afterAbort(intent) === "succeeded";
    if (isLast && unseen() > 0) await sleep(unseen());
    return result;
  } finally {
    if (isLast || unseen() <= 0) await release?.();
    // The lock is held for the rest of that time, but the call returns.
    else if (release) hold(name, release, unseen());
  }
}

/** Releases a lock. Resolves when other tabs can take it. */
type Release = () => Promise<void>;

/** Waits for the lock and returns the function that releases it. With `ifAvailable`, returns undefined if it is taken. */
function acquire(locks: LockManager, name: string, options: LockOptions): Promise<Release | undefined> {
  return new Promise((resolve, reject) => {
    let isHeld = false;
    const got = (lock: Lock | null) => {
      if (!lock) return resolve(undefined);
      isHeld = true;
      return new Promise<void>((release) => {
        resolve(() => {
          release();
          return ended;
        });
      });
    };
    const ended: Promise<void> = locks.request(name, options, got as LockGrantedCallback<void>).catch((error: unknown) => {
      // The lock may have been stolen while no call used it.
      if (isHeld) held.delete(name);
      reject(error);
    });
  });
}

function hold(name: string, release: Release, longest: number): void {
  const take = () => {
    stop();
    stay();
    if (held.get(name) === take) held.delete(name);
    return release;
  };
  const end = () => void take()();
  const stop = timer(longest, end);
  const stay = on("pagehide", end);
  held.set(name, take);
}

async function byLease<T>(
  options: TurnOptions,
  wait: () => void,
  go: (keep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const { client, intent } = options;
  let renewal = 0;
  const acquireLease = async () => {
    for (;;) {
      const lease = client.acquireLease(intent);
      renewal = lease.renewal;
      if (lease.do === "send") return;
      if (lease.do === "wait") wait();
      await sleep(lease.after!, options.signal, lease.do === "wait" ? storageChange : undefined);
      if (lease.do === "confirm" && client.holdsLease(intent)) return;
    }
  };
  try {
    await acquireLease();
  } catch (error) {
    // The lease may be written and not confirmed.
    client.releaseLease(intent);
    throw error;
  }
  const renewing = setInterval(() => client.renewLease(intent), renewal);
  // Without this, the next page (often this page after a reload) would wait until the lease expires.
  const stay = on("pagehide", () => client.releaseLease(intent));
  try {
    return await go(async () => {
      if (!client.holdsLease(intent)) await acquireLease();
    });
  } finally {
    clearInterval(renewing);
    stay();
    client.releaseLease(intent);
  }
}

function storageChange(resolve: () => void): () => void {
  return on("storage", resolve);
}

/** Listens, if there is a page. Returns a function that stops. */
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
