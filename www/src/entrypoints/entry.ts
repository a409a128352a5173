// Makes the exports of an entry point from the source of its wasm.

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
