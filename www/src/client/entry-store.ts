// The storage of a page: `localStorage`, or any object with its methods.
//
// Storage fails in many ways: a sandboxed frame may not use it, full storage accepts nothing, and the storage of a private
// window forgets. The page keeps in memory each text that storage does not accept. The text in memory is newer, so it
// takes precedence over the stored text of the same name. `takeLoss` reports once that the page may lose texts. If storage
// works, but cannot read one name, that name counts as an entry that cannot be read.

import type { StorageLike } from "../types.js";

/** The start of the name that an entry is stored under, and of that of a lease. The name of its intent follows. */
export const ENTRY = "i:";
export const LEASE = "c:";

/** What is wrong if a storage returns promises. */
export const ASYNC = 'storage is asynchronous. Use asyncStore of oncekey/store, and send: "fetch".';

/** Why a text would not survive a reload. */
export type Loss = "denied" | "quota" | "unavailable";

/** What to do to become the only sender. `renewal` is how often a lease must be renewed, in milliseconds. */
export interface LeaseCommand {
  do: "send" | "wait" | "confirm";
  after?: number;
  renewal: number;
}

/** A call that waits for its turn. `client` decides on its lease. */
export interface Waiting {
  client: {
    acquireLease(intent: string): LeaseCommand;
    holdsLease(intent: string): boolean;
    renewLease(intent: string): boolean;
    releaseLease(intent: string): void;
  };
  intent: string;
  signal: AbortSignal | undefined;
}

/** What a client needs of its store. The store of a page is below; others are in www/src/store. */
export interface Entries {
  /** Whether other tabs may see the texts. */
  readonly isShared: boolean;
  read(name: string): string | undefined;
  write(name: string, text: string): void;
  /** Removes a text. A store outside of the page returns when it has done so. */
  remove(name: string): void | Promise<void>;
  /** Returns the names that begin with `start`, without it. */
  names(start: string): string[];
  /** Returns those of the next `count` stored names that begin with `start`, without it; all names if storage is in memory. */
  some(start: string, count: number): string[];
  /** Returns why a text would not survive the page. Returns it once. */
  takeLoss(): Loss | undefined;
  /** A name for a store outside of the page: calls on different stores do not wait for each other. */
  readonly place?: string;
  /** For a store outside of the page: reads a text, or every entry, so that `read` and `names` find it. */
  load?(name?: string): Promise<void>;
  /**
   * For a store outside of the page: stores what was written under this name. Rejects if that fails; at the end of a call,
   * whose result counts more, `takeLoss` reports it.
   */
  save?(name: string, isEnd?: boolean): Promise<void>;
  /** For a store outside of the page: runs `go` when it is the call's turn among all who use the store. */
  turn?<T>(waiting: Waiting, wait: () => void, go: (keep: () => Promise<void>) => Promise<T>): Promise<T>;
}

export interface EntryStoreOptions {
  /** Undefined for `localStorage`, null for memory only. */
  storage: StorageLike | null | undefined;
  namespace: string;
  /** Returns whether the next submit of an entry starts anew, so that the entry may be removed to make room. */
  isSpent(text: string): boolean;
}

export class EntryStore implements Entries {
  readonly #prefix: string;
  readonly #storage: StorageLike | undefined;
  readonly #isSpent: (text: string) => boolean;
  /** The texts that storage did not accept; null for a text that it did not remove. */
  readonly #memory = new Map<string, string | null>();
  /** The texts of this page that storage accepted. They still count if storage breaks later. */
  readonly #taken = new Map<string, string>();
  #loss: Loss | undefined;
  #isReported = false;
  /** Where `some` continues. It starts at a random place, because many pages make only one call. */
  #at: number | undefined;

  /**
   * Colons in the namespace are doubled, so that the namespace `a` with the intent `b:i:c` has other names than the
   * namespace `a:i:b` with the intent `c`.
   */
  constructor({ storage, namespace, isSpent }: EntryStoreOptions) {
    this.#prefix = `${namespace.replaceAll(":", "::")}:`;
    this.#isSpent = isSpent;
    if (storage === undefined) [this.#storage, this.#loss] = localStorageIfAny();
    else this.#storage = storage ?? undefined;
    let then: unknown;
    try {
      then = (storage!.getItem("") as unknown as PromiseLike<string>).then;
    } catch {
      // It has no text of that name, or fails, or is not there.
    }
    // The texts of such a storage would seem to be missing.
    if (then) throw new TypeError(ASYNC);
  }

  get isShared(): boolean {
    return this.#storage !== undefined;
  }

  read(name: string): string | undefined {
    const full = this.#prefix + name;
    const kept = this.#memory.get(full);
    if (kept !== undefined) return kept ?? undefined;
    if (!this.#storage) return undefined;
    try {
      return this.#get(full);
    } catch (error) {
      const taken = this.#taken.get(full);
      // Storage may hold an unknown outcome under this name, so a text that cannot be read counts as one.
      if (taken === undefined && this.#isUsable()) return this.#getOr(full, "");
      this.#loss = lossOf(error);
      return taken;
    }
  }

  write(name: string, text: string): void {
    const full = this.#prefix + name;
    let loss = this.#tryWrite(full, text);
    if (loss === "quota" && this.#makeRoom()) loss = this.#tryWrite(full, text);
    if (loss === undefined) {
      this.#memory.delete(full);
      this.#taken.set(full, text);
    } else {
      if (this.isShared) this.#loss = loss;
      this.#memory.set(full, text);
    }
  }

  remove(name: string): void {
    const full = this.#prefix + name;
    this.#memory.delete(full);
    this.#taken.delete(full);
    try {
      this.#storage?.removeItem(full);
    } catch (error) {
      this.#loss = lossOf(error);
      this.#memory.set(full, null);
    }
  }

  names(start: string): string[] {
    const stored = this.#namesFrom(0, Infinity).filter((full) => !this.#memory.has(full));
    return this.#without(start, [...this.#memory.keys(), ...stored]);
  }

  some(start: string, count: number): string[] {
    const length = this.#length();
    if (!this.#storage) return this.names(start);
    this.#at = (this.#at ?? Math.trunc(Math.random() * 2 ** 24)) % (length || 1);
    const at = this.#at;
    this.#at += count;
    const some = Math.min(count, length);
    return this.#without(start, [...this.#namesFrom(at, some), ...this.#namesFrom(0, at + some - length)]);
  }

  takeLoss(): Loss | undefined {
    const loss = this.#isReported ? undefined : this.#loss;
    this.#loss = undefined;
    this.#isReported ||= loss !== undefined;
    return loss;
  }

  /** Returns whether storage accepts a text at all. */
  #isUsable(): boolean {
    const full = `${this.#prefix}probe`;
    const isUsable = this.#tryWrite(full, "probe") === undefined;
    try {
      this.#storage?.removeItem(full);
    } catch {
      // It stays, and means nothing.
    }
    return isUsable;
  }

  #get(full: string): string | undefined {
    const text = this.#storage?.getItem(full);
    return typeof text === "string" ? text : undefined;
  }

  #getOr(full: string, other: string): string | undefined {
    try {
      return this.#get(full);
    } catch {
      return other;
    }
  }

  #tryWrite(full: string, text: string): Loss | undefined {
    if (!this.#storage) return "unavailable";
    try {
      this.#storage.setItem(full, text);
    } catch (error) {
      return lossOf(error);
    }
    // Some storages accept every text and keep nothing.
    return this.#getOr(full, "") === text ? undefined : "unavailable";
  }

  /** Removes entries whose next submit starts anew. Returns whether there were any. */
  #makeRoom(): boolean {
    let removed = false;
    for (const name of this.names("")) {
      const full = this.#prefix + name;
      const text = this.#getOr(full, "");
      if (text === undefined || !this.#isSpent(text)) continue;
      try {
        this.#storage?.removeItem(full);
        removed = true;
      } catch {
        // Another one may be removed.
      }
    }
    return removed;
  }

  #length(): number {
    try {
      return Number(this.#storage?.length) || 0;
    } catch {
      return 0;
    }
  }

  /** Returns up to `count` full names in storage, whoever's they are. */
  #namesFrom(at: number, count: number): string[] {
    const names: string[] = [];
    const end = Math.min(this.#length(), at + count);
    for (let index = at; index < end; index++) {
      try {
        const name = this.#storage?.key(index);
        if (typeof name === "string") names.push(name);
      } catch {
        // The other names may be readable.
      }
    }
    return names;
  }

  #without(start: string, names: string[]): string[] {
    const full = this.#prefix + start;
    return names.filter((name) => name.startsWith(full)).map((name) => name.slice(full.length));
  }
}

/** Returns `localStorage`. A sandboxed frame throws when the name is read. */
function localStorageIfAny(): [StorageLike | undefined, Loss | undefined] {
  try {
    const storage = globalThis.localStorage as StorageLike | null | undefined;
    return typeof storage === "object" && storage !== null ? [storage, undefined] : [undefined, "unavailable"];
  } catch {
    return [undefined, "denied"];
  }
}

function lossOf(error: unknown): Loss {
  const name = (error as { name?: unknown } | null | undefined)?.name;
  // The second name is that of Firefox.
  if (name === "QuotaExceededError" || name === "NS_ERROR_DOM_QUOTA_REACHED") return "quota";
  return name === "SecurityError" ? "denied" : "unavailable";
}
