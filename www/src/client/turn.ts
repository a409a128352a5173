// Whose turn it is to send for an intent: one page, and in it one call, at a time.
//
// Web Locks decide among tabs where there are any, else a lease in storage (src/client/tab_lease.rs).

import type { CoreClient } from "../core.js";
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
  /** A key that is new was stored now. */
  keyed(): void;
  /** Since when this call has waited for another one, if it did. */
  waitedSince: number | undefined;
  /** To be called before each attempt: waits until it is this call's turn again, should it have lost it. */
  keep(): Promise<void>;
}

/** Another call has not come to its end: its page may be frozen, with the lock in its hands. */
export class TooLong extends Error {}

/**
 * After how long, in milliseconds, every tab has seen a write. Tabs live in processes of their own, each with a copy
 * of localStorage; a write reaches the others a little later, and a lock does not wait for it. Who took over at once
 * might find no key, and make a second one.
 *
 * - A lock is held until the key that its call stored has been seen. After a success its answer waits for that, since
 *   the page is likely left then, and Firefox keeps no page for Back that holds a lock. Any other answer does not wait.
 * - Who has waited for a lock, or finds an open outcome under a free one, reads again after that time: then it has seen
 *   the last write, too.
 */
const SEEN_AFTER = 100;

/** The calls of this page, the last one of each intent. */
const tails = new Map<string, Promise<unknown>>();

/** The locks that are held after a call has ended, each with what takes it over: this page has seen every write. */
const held = new Map<string, () => Release>();

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
  let keyedAt = -Infinity;
  const go = (claim: () => Promise<void>) => {
    end();
    const keep = () => {
      begin();
      return claim().finally(end);
    };
    const keyed = () => void (keyedAt = performance.now());
    return run({ waitedSince: waited ? since : undefined, keep, keyed });
  };
  /** How long it takes until every tab has seen the key that was stored. */
  const unseen = () => keyedAt + SEEN_AFTER - performance.now();

  const before = tails.get(name);
  const among = async () => {
    if (before) {
      wait();
      await abortable(before, options.signal);
    }
    return options.client.isShared ? amongTabs(name, options, wait, go, unseen) : go(nothing);
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
  unseen: () => number,
): Promise<T> {
  const { client, intent, signal } = options;
  const stateOf = () => (client.status(intent) as { state: string }).state;
  const locks = webLocks();
  if (!locks) return byLease(options, wait, go);
  let release: Release | undefined;
  let isSeen: boolean;
  try {
    release = held.get(name)?.();
    isSeen = release !== undefined;
    release ??= await acquire(locks, name, { ifAvailable: true });
    if (release) {
      isSeen ||= !["sending", "unknown"].includes(stateOf());
    } else {
      wait();
      release = await acquire(locks, name, signal ? { signal } : {});
    }
  } catch (error) {
    // A frame without an origin has the interface and may not use it.
    if ((error as { name?: unknown } | null)?.name !== "SecurityError") throw error;
    return byLease(options, wait, go);
  }
  let isLast = false;
  try {
    if (!isSeen) await sleep(SEEN_AFTER, signal);
    const result = await go(nothing);
    isLast = stateOf() === "succeeded";
    if (isLast && unseen() > 0) await sleep(unseen());
    return result;
  } finally {
    if (isLast || unseen() <= 0) await release?.();
    // Nothing of this page waits for the rest: neither the answer nor the next call.
    else if (release) hold(name, release, unseen());
  }
}

/** Lets go of a lock. Gives when others can have it. */
type Release = () => Promise<void>;

/** Waits for the lock, and gives what lets go of it; undefined where it is not to be waited for, and taken. */
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
      // It may have been stolen while nobody used it.
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
