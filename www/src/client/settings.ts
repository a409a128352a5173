// What a caller may leave out, filled in. Numbers are checked by the core.

import { CLIENT, checkOptions } from "./options.js";
import { base } from "./request.js";
import type { ClientOptions } from "../types.js";

export interface Settings {
  namespace: string;
  keyUrl: URL | undefined;
  headers: ClientOptions["headers"];
  credentials: RequestCredentials | undefined;
  fetch: typeof fetch;
  /** Whether `fetch` is the page's own. */
  isOwnFetch: boolean;
  totalTime: number;
  /** For the core: see JsSettings in www/wasm/src/client.rs. */
  core: object;
}

const SECOND = 1000;
const HOUR = 3_600_000;

export function read(options: ClientOptions): Settings {
  checkOptions("createClient", options, CLIENT);
  const { retry = {}, namespace = "oncekey", keyUrl, storage } = options;
  if (retry.jitter !== undefined && retry.jitter !== "full" && retry.jitter !== "none") {
    throw new RangeError('retry.jitter may be "full" or "none"');
  }
  const totalTime = retry.totalTime ?? Math.max(180 * SECOND, retry.attemptTimeout ?? 0);
  return {
    namespace,
    keyUrl: keyUrl === undefined || keyUrl === null ? undefined : new URL(keyUrl, base()),
    headers: options.headers,
    credentials: options.credentials,
    // Looked up at each call: pages and tests put their own in its place.
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
