// `oncekey/store`: stores for clients outside of a page. `oncekey/node` has one for files.

import { type AsyncStore, StoreError } from "../store/adapter.js";
import { SharedEntries } from "../store/shared-entries.js";
import type { SharedStore } from "../types.js";

export { type AsyncStore, StoreError };
export type { SharedStore };

/** The numbers of stores, so that the same store has the same number in every client. */
const numbers = new WeakMap<object, number>();
let stores = 0;

function storeOf(adapter: AsyncStore, identity: object): SharedStore {
  const number = numbers.get(identity) ?? (stores += 1);
  numbers.set(identity, number);
  return { openEntries: (namespace) => new SharedEntries(adapter, namespace, `store ${number} `) };
}

/** Makes a store of an asynchronous one, such as Redis or React Native's AsyncStorage. */
export function asyncStore(adapter: AsyncStore): SharedStore {
  const has = (name: keyof AsyncStore) => typeof adapter?.[name] === "function";
  if (!has("read") || !has("names") || has("write") === has("replace")) {
    throw new TypeError("asyncStore needs the functions read and names, and either write or replace.");
  }
  return storeOf(adapter, adapter);
}

/** The parts of a namespace of Workers KV that `kvStore` uses. */
export interface KvNamespace {
  get(name: string): Promise<string | null>;
  put(name: string, text: string): Promise<void>;
  delete(name: string): Promise<void>;
  list(options: { prefix: string; cursor?: string | undefined }): Promise<{ keys: { name: string }[]; list_complete: boolean; cursor?: string }>;
}

/** How long after a write KV accepts the next one under the same name, in milliseconds. */
const KV_INTERVAL = 1000;

/**
 * Stores entries in Workers KV. KV is eventually consistent and cannot compare: another place may see a write only after a
 * minute. So an intent survives its isolate, but KV does **not** stop two isolates that start the same intent within that
 * minute: they send it under two keys. Where that can happen, use `durableStore`.
 */
export function kvStore(namespace: KvNamespace): SharedStore {
  needs("kvStore", "a binding of Workers KV", namespace, ["get", "put", "delete", "list"]);
  const change = (name: string, text: string | null) => (text === null ? namespace.delete(name) : namespace.put(name, text));
  const adapter: AsyncStore = {
    read: (name) => namespace.get(name),
    async write(name, text) {
      try {
        await change(name, text);
      } catch (error) {
        // KV accepts one write a second under one name. A call makes two: before it sends, and after the response.
        if (!/\b429\b/.test(String(error))) throw error;
        await new Promise((resolve) => setTimeout(resolve, KV_INTERVAL));
        await change(name, text);
      }
    },
    async names(prefix) {
      const names: string[] = [];
      let cursor: string | undefined;
      for (;;) {
        const page = await namespace.list({ prefix, cursor });
        names.push(...page.keys.map(({ name }) => name));
        if (page.list_complete) return names;
        cursor = page.cursor;
      }
    },
  };
  return storeOf(adapter, namespace);
}

/** The parts of a Durable Object's storage that `durableStore` uses. */
export interface DurableStorage {
  get(name: string): Promise<unknown>;
  put(name: string, text: string): Promise<void>;
  delete(name: string): Promise<boolean>;
  list(options: { prefix: string }): Promise<Map<string, unknown>>;
}

/**
 * Stores entries in the storage of a Durable Object (`ctx.storage`). Only one object at a time can write there, and the
 * platform sends a request only after the writes before it are stored. So this store keeps what a page's storage keeps.
 */
export function durableStore(storage: DurableStorage): SharedStore {
  needs("durableStore", "the storage of a Durable Object, ctx.storage", storage, ["get", "put", "delete", "list"]);
  const adapter: AsyncStore = {
    read: async (name) => (await storage.get(name)) as string | undefined,
    write: (name, text) => (text === null ? storage.delete(name) : storage.put(name, text)),
    names: async (prefix) => (await storage.list({ prefix })).keys(),
  };
  return storeOf(adapter, storage);
}

function needs<T extends object>(what: string, needed: string, given: T, methods: (keyof T)[]): void {
  if (methods.every((method) => typeof given?.[method] === "function")) return;
  throw new TypeError(`${what} needs ${needed}.`);
}
