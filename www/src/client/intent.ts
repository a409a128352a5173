// An intent of a client, as the page holds it.

import { ABANDON, RESOLVE, checkOptions } from "./options.js";
import type { Intent, IntentInit, IntentOptions, IntentStatus, ResolveOptions } from "../types.js";

/** The methods of the client that an intent calls. */
export interface IntentCalls {
  send(intent: string, url: string | URL, init: IntentInit | undefined, options: IntentOptions): Promise<Response>;
  resolve(intent: string, options: ResolveOptions): Promise<IntentStatus>;
  abandon(intent: string, options: ResolveOptions): Promise<IntentStatus>;
  status(intent: string): IntentStatus;
  forget(intent: string): void | Promise<void>;
}

export class NamedIntent implements Intent {
  readonly name: string;
  readonly #calls: IntentCalls;
  readonly #options: IntentOptions;

  constructor(calls: IntentCalls, name: string, options: IntentOptions) {
    this.name = name;
    this.#calls = calls;
    this.#options = options;
  }

  fetch(url: string | URL, init?: IntentInit): Promise<Response> {
    return this.#calls.send(this.name, url, init, this.#options);
  }

  async resolve(options: ResolveOptions = {}): Promise<IntentStatus> {
    checkOptions("resolve", options, RESOLVE);
    return this.#calls.resolve(this.name, options);
  }

  async abandon(options: { signal?: AbortSignal } = {}): Promise<IntentStatus> {
    checkOptions("abandon", options, ABANDON);
    return this.#calls.abandon(this.name, options);
  }

  status(): IntentStatus {
    return this.#calls.status(this.name);
  }

  forget(): void | Promise<void> {
    return this.#calls.forget(this.name);
  }
}

/** Returns the name of an intent. Throws a TypeError if it is not a non-empty string. */
export function named(name: unknown): string {
  if (typeof name !== "string" || name === "") throw new TypeError('An intent needs a name. Pass a non-empty string, such as "order:1042".');
  return name;
}
