// The settings of a client and their defaults. The core checks the numbers.

import { CLIENT, checkOptions } from "./options.js";
import { base } from "./request.js";
import type { ClientOptions } from "../types.js";

export interface Settings {
  namespace: string;
  keyUrl: URL | undefined;
  headers: ClientOptions["headers"];
  credentials: RequestCredentials | undefined;
  fetch: typeof fetch;
  /** Whether the page gave its own `fetch`. */
  isOwnFetch: boolean;
  totalTime: number;
  /** The settings of the core: see JsSettings in www/wasm/src/client.rs. */
  core: object;
}

const SECOND = 1000;
const HOUR = 3_600_000;

export function read(options: ClientOptions): Settings {
  checkOptions("createClient", options, CLIENT);
  const { retry = {}, namespace = "oncekey", keyUrl, storage } = options;
  if (retry.jitter !== undefined && retry.jitter !== "full" && retry.jitter !== "none") {
    throw new RangeError('retry.jitter must be "full" or "none".');
  }
  const totalTime = retry.totalTime ?? Math.max(180 * SECOND, retry.attemptTimeout ?? 0);
  return {
    namespace,
    keyUrl: keyUrl === undefined || keyUrl === null ? undefined : new URL(keyUrl, base()),
    headers: options.headers,
    credentials: options.credentials,
    // Read at each call, because pages and tests replace the global `fetch`.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    isOwnFetch: options.fetch !== undefined,
    totalTime,
    core: {
      retention: options.retention ?? 24 * HOUR,
      storage,
      namespace,
      keyCalls: keyUrl !== undefined && keyUrl !== null,
      finalStatuses: Float64Array.from(options.finalStatuses ?? []),
      limit: retry.limit ?? 4,
      delays: Float64Array.from(retry.delays ?? [1, 2, 4, 8].map((seconds) => seconds * SECOND)),
      fullJitter: retry.jitter !== "none",
      attemptTimeout: retry.attemptTimeout ?? 30 * SECOND,
      totalTime,
      maxRetryAfter: retry.maxRetryAfter ?? 60 * SECOND,
    },
  };
}
