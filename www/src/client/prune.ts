// Removes what is stored for settled intents that are older than the retention.

import type { CoreClient } from "./core-client.js";
import type { Settings } from "./settings.js";
import { takeTurn } from "./turn.js";

/** Removes all such entries, and returns their number. */
export async function prune(client: CoreClient, settings: Settings): Promise<number> {
  const over = client.over(true);
  let removed = 0;
  while (over.length > 0) {
    const some = over.splice(0, 50).map((intent) => remove(client, settings, intent));
    removed += (await Promise.all(some)).filter(Boolean).length;
  }
  return removed;
}

/** Removes a few such entries. Called after a write. */
export function pruneSome(client: CoreClient, settings: Settings): void {
  for (const intent of client.over(false)) void remove(client, settings, intent);
}

/**
 * Removes an intent, unless a call is in progress for it, here or in another tab. Such a call may be about to write a
 * new key.
 */
async function remove(client: CoreClient, { namespace, totalTime: longest }: Settings, intent: string): Promise<boolean> {
  const controller = new AbortController();
  const { signal } = controller;
  const onWait = () => controller.abort();
  try {
    return await takeTurn({ client, namespace, intent, signal, longest, onWait }, async () => client.removeOver(intent));
  } catch {
    return false;
  }
}
