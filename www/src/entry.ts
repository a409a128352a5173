// What every entry point exports, given where its wasm comes from.

import { OncekeyClient } from "./client.js";
import { Loader, type Source } from "./core.js";
import type { Client, ClientOptions } from "./types.js";

export * from "./errors.js";
export { guardForm } from "./form.js";
export type * from "./types.js";

/** A client with its core. */
export interface LoadedClient extends Client {
  /**
   * Whether the core is there. At once, but where wasm has to be fetched (`oncekey/slim`) or may not run (CSP):
   * await it there before `pending`, `status` and `forget`.
   */
  readonly ready: Promise<void>;
}

export interface EntryPoint {
  createClient(options?: ClientOptions): LoadedClient;
  /** A new key, a UUIDv7: for requests that the package does not send. */
  mintKey(): Promise<string>;
}

export function entryPoint(source: Source): EntryPoint {
  let loader: Loader | undefined;
  const load = () => (loader ??= new Loader(source));
  return {
    createClient: (options = {}) => new OncekeyClient(options, load()),
    mintKey: async () => (await load().ready()).mintKey(),
  };
}
