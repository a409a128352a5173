// What an entry point makes of a place where its wasm comes from.

import { OncekeyClient } from "../client/client.js";
import { Loader, type Source } from "../core.js";
import type { EntryPoint } from "../types.js";

export function entryPoint(source: Source): EntryPoint {
  let loader: Loader | undefined;
  const load = () => (loader ??= new Loader(source));
  return {
    createClient: (options = {}) => new OncekeyClient(options, load()),
    mintKey: async () => (await load().ready()).mintKey(),
  };
}
