// Whose turn it is to send for an intent: one page, and in it one call, at a time.
//
// Web Locks decide among tabs where there are any, else a lease in storage (src/intent/claim.rs).

import type { CoreClient } from "./core.js";
import { sleep } from "./wait.js";

export interface TurnOptions {
  client: CoreClient;
  namespace: string;
  intent: string;
  signal: AbortSignal | undefined;
  /** Another call is sending for this intent. */
  onWait(): void;
}

export interface Turn {
  /** Since when this call has waited for another one, if it did. */
  waitedSince: number | undefined;
  /** To be called before each attempt: waits until it is this call's turn again, should it have lost it. */
  keep(): Promise<void>;
}

/** The calls of this page, the last one of each intent. */
const tails = new Map<string, Promise<unknown>>();

/** Runs when it is the call's turn; the next one has to wait until that has ended. */
export async function takeTurn<T>(options: TurnOptions, run: (turn: Turn) => Promise<T>): Promise<T> {
  const name = `${options.namespace}:${options.intent}`;
  const since = Date.now();
  let waited = false;
  const wait = () => {
    if (!waited) options.onWait();
    waited = true;
  };
  const go = (keep: () => Promise<void>) => run({ waitedSince: waited ? since : undefined, keep });

  const before = tails.get(name);
  const among = async () => {
    if (before) {
      wait();
      await abortable(before, options.signal);
    }
    return options.client.isShared ? amongTabs(name, options, wait, go) : go(nothing);
  };
  const mine = among();
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

async function amongTabs<T>(
  name: string,
  options: TurnOptions,
  wait: () => void,
  go: (keep: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const locks = webLocks();
  if (!locks) return byLease(options, wait, go);
  const lock = `oncekey:${name}`;
  let begun = false;
  const run = () => {
    begun = true;
    return go(nothing);
  };
  try {
    const free = await locks.request(lock, { ifAvailable: true }, async (held) => (held ? { result: await run() } : undefined));
    if (free) return free.result;
    wait();
    return await locks.request(lock, options.signal ? { signal: options.signal } : {}, run);
  } catch (error) {
    // A frame without an origin has the interface and may not use it.
    if (begun || (error as { name?: unknown } | null)?.name !== "SecurityError") throw error;
    return byLease(options, wait, go);
  }
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
  await claim();
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

function abortable(before: Promise<unknown>, signal: AbortSignal | undefined): Promise<unknown> {
  if (!signal) return before;
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason);
    signal.addEventListener("abort", aborted);
    void before.then(resolve).finally(() => signal.removeEventListener("abort", aborted));
    if (signal.aborted) aborted();
  });
}

async function nothing(): Promise<void> {}
