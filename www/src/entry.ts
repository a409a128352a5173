// What an entry point makes of a place where its wasm comes from.

import { OncekeyClient } from "./client.js";
import { Loader, type Source } from "./core.js";
import type { ClientOptions, LoadedClient } from "./types.js";

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
