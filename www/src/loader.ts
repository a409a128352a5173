// Loads the calls of clients and the core, once for a page.

import type { Core } from "./core.js";
import type { Engine } from "./client/engine.js";
import type { FormSender } from "./form/send.js";

/** What a page needs before it can send something. */
export interface Loaded {
  core: Core;
  Engine: typeof Engine;
  FormSender: typeof FormSender;
  /** Why the translation runs instead of wasm. */
  fallback: string | undefined;
}

/** Where an entry point has its parts. */
export interface Source {
  /** Returns everything at once, if it is there. */
  now?(): Loaded;
  later(): Promise<Loaded>;
}

export class Loader {
  readonly #source: Source;
  #loaded: Loaded | undefined;
  #loading: Promise<Loaded> | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Returns the parts if they are loaded, or can be loaded at once. */
  now(): Loaded | undefined {
    return (this.#loaded ??= this.#source.now?.());
  }

  /** Loads the parts. After a failure the next call tries again. */
  ready(): Promise<Loaded> {
    const loaded = this.now();
    if (loaded) return Promise.resolve(loaded);
    this.#loading ??= this.#source.later().then(
      (loaded) => (this.#loaded = loaded),
      (error: unknown) => {
        this.#loading = undefined;
        throw error;
      },
    );
    return this.#loading;
  }
}

/**
 * Returns a function that imports a module. A browser does not load a module again from a URL that has failed, so the next
 * try adds a query to the URL, which the browser's TypeError contains. A bundler that loads the module has its own errors
 * and retries.
 */
export function retried<T>(load: () => Promise<T>): () => Promise<T> {
  let missing: string | undefined;
  let again = 0;
  return async () => {
    try {
      if (missing === undefined) return await load();
      const url = new URL(missing);
      url.searchParams.set("again", String((again += 1)));
      return await import(url.href);
    } catch (error) {
      if (error instanceof TypeError) missing ??= /\b[a-z][a-z0-9+.-]*:\/\/\S+/i.exec(String(error))?.[0];
      throw error;
    }
  };
}
