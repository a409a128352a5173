// What a store outside of a page offers, and the error when it fails.

type Awaitable<T> = T | PromiseLike<T>;

/** The functions of a store that may be asynchronous: see {@link asyncStore}. */
export interface AsyncStore {
  /** Returns the text that is stored under a name; null or undefined if there is none. */
  read(name: string): Awaitable<string | null | undefined>;
  /** Returns all stored names that begin with `start`. */
  names(start: string): Awaitable<Iterable<string>>;
  /** Stores a text, or removes it if it is null. For a store that only one process uses at a time. */
  write?(name: string, text: string | null): unknown;
  /**
   * Does the same in one step with a comparison: only if the stored text still is `before` (null: there is none). Returns
   * whether it did. For a store that several processes use at once: they then take turns as tabs do.
   */
  replace?(name: string, before: string | null, text: string | null): Awaitable<boolean>;
}

/**
 * The store failed, or another process has changed the entry. The call sends nothing more. An attempt that was sent before
 * has its key in the store, so the next call with the same payload sends the same key.
 */
export class StoreError extends Error {
  override readonly name = "StoreError";
}
