// The settings of a client, their defaults and their limits.

import type { ClientOptions, SharedStore, StorageLike } from "../types.js";
import { MAX_RETRIES, MAX_TIMER, NEVER_FINAL } from "./limits.js";
import { CLIENT, checkOptions } from "./options.js";

export interface Settings {
  namespace: string;
  keyUrl: URL | undefined;
  keyHeader: string;
  headers: ClientOptions["headers"];
  credentials: RequestCredentials | undefined;
  fetch: typeof fetch;
  /** Whether the page gave its own `fetch`. */
  isOwnFetch: boolean;
  totalTime: number;
  core: CoreSettings;
}

/** The settings that the core and the store of entries need. Lengths are in milliseconds. */
export interface CoreSettings {
  /** Undefined for `localStorage`, null for memory only. */
  storage: StorageLike | SharedStore | null | undefined;
  namespace: string;
  retention: number;
  keyCalls: boolean;
  finalStatuses: readonly number[];
  limit: number;
  delays: readonly number[];
  fullJitter: boolean;
  attemptTimeout: number;
  totalTime: number;
  maxRetryAfter: number;
}

const SECOND = 1000;
const HOUR = 3_600_000;

/** Returns the settings. Throws an error that names a wrong option and says which values it takes. */
export function read(options: ClientOptions): Settings {
  checkOptions("createClient", options, CLIENT);
  const { retry = {}, namespace = "oncekey", keyUrl, storage, finalStatuses = [], retention = 24 * HOUR, keyHeader = "Idempotency-Key" } = options;
  const { limit = 4, delays = [1, 2, 4, 8].map((seconds) => seconds * SECOND), attemptTimeout = 30 * SECOND, maxRetryAfter = 60 * SECOND } = retry;
  const { jitter = "full", totalTime = Math.max(180 * SECOND, attemptTimeout) } = retry;
  within("retention", retention, 1, Number.MAX_SAFE_INTEGER);
  within("retry.limit", limit, 0, MAX_RETRIES);
  for (const delay of delays) within("retry.delays", delay, 0);
  within("retry.attemptTimeout", attemptTimeout, 1);
  within("retry.totalTime", totalTime, attemptTimeout);
  within("retry.maxRetryAfter", maxRetryAfter, 0);
  if (!Number.isInteger(limit)) throw new RangeError("retry.limit must be a whole number.");
  if (limit > 0 && delays.length === 0) throw new RangeError("retry.delays must have at least one delay in milliseconds.");
  if (jitter !== "full" && jitter !== "none") throw new RangeError('retry.jitter must be "full" or "none".');
  for (const status of finalStatuses) {
    if (!Number.isInteger(status) || status < 400 || status > 499 || NEVER_FINAL.includes(status)) {
      throw new RangeError(
        `finalStatuses must list statuses from 400 to 499 that the server returns for the key itself, such as 402; never ${NEVER_FINAL.join(", ")}.`,
      );
    }
  }
  return {
    namespace,
    keyUrl: keyUrl === undefined || keyUrl === null ? undefined : new URL(keyUrl, base()),
    keyHeader,
    headers: options.headers,
    credentials: options.credentials,
    // Read at each call, because pages and tests replace the global `fetch`.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    isOwnFetch: options.fetch !== undefined,
    totalTime,
    core: {
      retention,
      storage,
      namespace,
      keyCalls: keyUrl !== undefined && keyUrl !== null,
      finalStatuses: Array.from(finalStatuses),
      limit,
      delays: Array.from(delays),
      fullJitter: jitter === "full",
      attemptTimeout,
      totalTime,
      maxRetryAfter,
    },
  };
}

/** Returns the base of relative URLs, as for `fetch`: `<base href>` counts, and a `srcdoc` frame has the base of its page. */
export function base(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href;
}

function within(name: string, value: number, least: number, most: number = MAX_TIMER): void {
  if (!(value >= least && value <= most)) throw new RangeError(`${name} must be a number from ${least} to ${most}.`);
}
