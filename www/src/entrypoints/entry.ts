// Makes the exports of an entry point from the source of its parts.

import { OncekeyClient } from "../client/client.js";
import { Loader, type Source } from "../loader.js";
import type { EntryPoint } from "../types.js";

export function entryPoint(source: () => Source): EntryPoint {
  let loader: Loader | undefined;
  const loaded = () => (loader ??= new Loader(source()));
  return {
    createClient: (options = {}) => new OncekeyClient(options, loaded()),
    mintKey: async () => (await loaded().ready()).core.mintKey(),
  };
}
