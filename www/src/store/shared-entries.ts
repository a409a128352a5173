// The entries of a client in a store outside of a page: asynchronous, and often shared by several processes.
//
// The client decides on texts in memory, in one step, as in a page. Before a call decides, its entry is read from the store
// (`load`). Before the call sends anything, the store has what was decided (`save`). If the store fails, the call rejects:
// nothing is sent under a key that exists in memory only.

import { ENTRY, type Entries, LEASE, type Loss, type Waiting } from "../client/entry-store.js";
import { sleep } from "../client/wait.js";
import { type AsyncStore, StoreError } from "./adapter.js";

/** A text in memory. */
interface Copy {
  text: string | null;
  /** The text that the store has, as far as is known. */
  stored: string | null;
}

/** How many copies stay in memory. A call needs its own; the others are for `status`. */
const KEPT = 10_000;
/** How many entries are read at once. */
const AT_ONCE = 50;

export class SharedEntries implements Entries {
  readonly isShared = true;
  readonly place: string;
  readonly #store: AsyncStore;
  readonly #prefix: string;
  /** By name. The copies that were used last are at the end. */
  readonly #copies = new Map<string, Copy>();
  /** The last access to the store under each name. */
  readonly #accesses = new Map<string, Promise<unknown>>();
  /** Whether all entries are in memory, so that they can be listed. */
  #isWhole = false;
  #loss: Loss | undefined;

  constructor(store: AsyncStore, namespace: string, place: string) {
    this.#store = store;
    this.#prefix = `${namespace.replaceAll(":", "::")}:`;
    this.place = place;
  }

  read(name: string): string | undefined {
    const copy = this.#copies.get(name);
    if (!copy && name.startsWith(ENTRY) && !this.#isWhole) throw notLoaded();
    return copy?.text ?? undefined;
  }

  write(name: string, text: string): void {
    const copy = this.#copies.get(name);
    if (!copy) throw notLoaded();
    copy.text = text;
  }

  remove(name: string): Promise<void> {
    const before = this.#copies.get(name);
    if (before) before.text = null;
    const done = this.#load(name).then((copy) => {
      copy.text = null;
      return this.save(name);
    });
    // A caller that does not wait gets no error of the process.
    done.catch(() => {});
    return done;
  }

  names(start: string): string[] {
    if (!this.#isWhole) throw notLoaded();
    return [...this.#copies].filter(([name, { text }]) => name.startsWith(start) && text !== null).map(([name]) => name.slice(start.length));
  }

  /** Only `prune` removes old entries, because each look at others would be a call to the store. */
  some(): string[] {
    return [];
  }

  takeLoss(): Loss | undefined {
    const loss = this.#loss;
    this.#loss = undefined;
    return loss;
  }

  async load(name?: string): Promise<void> {
    await (name === undefined ? this.#loadAll() : this.#load(name));
  }

  async save(name: string, isEnd = false): Promise<void> {
    try {
      if (await this.#put(name)) return;
      throw new StoreError("Another process changed the entry of this intent. Call again.");
    } catch (error) {
      if (!isEnd) throw error;
      // The caller gets its result. The store has the key, so the next call gets the same result from the server.
      this.#loss = "unavailable";
    }
  }

  /** Without `replace`, only one process uses the store, and its calls take turns already. */
  async turn<T>(waiting: Waiting, wait: () => void, go: (keep: () => Promise<void>) => Promise<T>): Promise<T> {
    const { client, intent } = waiting;
    if (!this.#store.replace) {
      await this.#load(ENTRY + intent);
      return go(async () => {});
    }
    const lease = LEASE + intent;
    let renewing: ReturnType<typeof setInterval> | undefined;
    try {
      const renewal = await this.#acquire(waiting, wait);
      renewing = setInterval(() => {
        if (client.renewLease(intent)) void this.#put(lease).catch(() => {});
      }, renewal);
      await this.#load(ENTRY + intent);
      return await go(async () => {
        await this.#load(lease);
        if (client.holdsLease(intent)) return;
        await this.#acquire(waiting, wait);
        // The process that sent meanwhile may have changed the entry.
        await this.#load(ENTRY + intent);
      });
    } finally {
      clearInterval(renewing);
      await this.#release(waiting);
    }
  }

  /** Waits until the call holds the lease. Returns how often it must be renewed. */
  async #acquire({ client, intent, signal }: Waiting, wait: () => void): Promise<number> {
    const lease = LEASE + intent;
    for (;;) {
      signal?.throwIfAborted();
      await this.#load(lease);
      const { do: what, after, renewal } = client.acquireLease(intent);
      if (what === "send") return renewal;
      if (what === "wait") {
        wait();
        await sleep(after!, signal);
      } else {
        // The store has compared, so there is no need to wait and read again: whoever wrote first has the lease.
        await this.#put(lease);
      }
    }
  }

  async #release({ client, intent }: Waiting): Promise<void> {
    try {
      await this.#load(LEASE + intent);
      client.releaseLease(intent);
      await this.#put(LEASE + intent);
    } catch {
      // The lease ends by itself.
    }
    this.#copies.delete(LEASE + intent);
  }

  async #loadAll(): Promise<void> {
    const start = this.#prefix + ENTRY;
    const full = await this.#ask("names", async () => [...(await this.#store.names(start))]);
    const stored = full.filter((name) => name.startsWith(start)).map((name) => name.slice(this.#prefix.length));
    // A copy whose text is not stored any more is read again, too.
    const names = [...new Set([...this.#copies.keys(), ...stored])].filter((name) => name.startsWith(ENTRY));
    for (let at = 0; at < names.length; at += AT_ONCE) {
      await Promise.all(names.slice(at, at + AT_ONCE).map((name) => this.#load(name, Infinity)));
    }
    this.#isWhole = true;
  }

  /** Reads a text, unless the store still lacks what was written to the copy. */
  #load(name: string, kept = KEPT): Promise<Copy> {
    return this.#inTurn(name, async () => {
      const text = await this.#ask("read", async () => this.#store.read(this.#prefix + name));
      if (typeof (text ?? "") !== "string") throw new StoreError("The store returned something other than a text. Return what was stored, unchanged.");
      const copy = this.#copies.get(name) ?? { text: null, stored: null };
      if (copy.text === copy.stored) copy.text = copy.stored = text ?? null;
      this.#copies.delete(name);
      this.#copies.set(name, copy);
      this.#shrink(kept);
      return copy;
    });
  }

  /** Stores what was written to the copy. Returns false if the store has another text by now, and forgets the copy. */
  #put(name: string): Promise<boolean> {
    return this.#inTurn(name, async () => {
      const copy = this.#copies.get(name);
      if (!copy || copy.text === copy.stored) return true;
      const { text, stored } = copy;
      const full = this.#prefix + name;
      try {
        const isDone = await this.#ask("write", async () =>
          this.#store.replace ? this.#store.replace(full, stored, text) : (await this.#store.write!(full, text), true),
        );
        if (isDone === true) copy.stored = text;
        else this.#drop(name);
        return isDone === true;
      } catch (error) {
        // It is unknown what the store has.
        this.#drop(name);
        throw error;
      }
    });
  }

  /** Accesses to one name follow each other. */
  #inTurn<T>(name: string, access: () => Promise<T>): Promise<T> {
    const mine = (this.#accesses.get(name) ?? Promise.resolve()).then(access, access);
    this.#accesses.set(name, mine);
    const end = () => {
      if (this.#accesses.get(name) === mine) this.#accesses.delete(name);
    };
    mine.then(end, end);
    return mine;
  }

  async #ask<T>(what: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      throw new StoreError(`The store failed (${what}). Its own error is the cause of this one.`, { cause });
    }
  }

  #shrink(kept: number): void {
    for (const [name, copy] of this.#copies) {
      if (this.#copies.size <= kept) return;
      if (copy.text !== copy.stored || !name.startsWith(ENTRY)) continue;
      this.#drop(name);
    }
  }

  #drop(name: string): void {
    this.#copies.delete(name);
    if (name.startsWith(ENTRY)) this.#isWhole = false;
  }
}

function notLoaded(): StoreError {
  return new StoreError("This entry was not read from the store yet. Await client.ready first: it reads all entries.");
}
