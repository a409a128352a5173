// `oncekey/node`: a store of files, for Node, Deno and Bun.

import { asyncStore } from "oncekey/store";
import { Files } from "../store/files.js";
import type { SharedStore } from "../types.js";

export { StoreError } from "oncekey/store";
export type { SharedStore };

/**
 * Stores entries as files in a folder, which it creates. Several processes may use the folder at once: they take turns for
 * each intent as tabs do. A process that was killed holds its turn for at most 15 seconds.
 */
export function fileStore(folder: string | URL): SharedStore {
  return asyncStore(new Files(folder));
}
