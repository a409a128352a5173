// The Rust core, as JavaScript sees it, and how it gets here.

import * as glue from "../build/glue.js";

/** What the core says to do next (www/wasm/src/call.rs). */
export type Command =
  | { do: "send"; key: string; attempt: number; timeout: number; earlier: boolean; rotated: boolean }
  | { do: "wait"; after: number; why: "retry" | "inprogress" }
  | { do: "ask" | "void"; key: string }
  | { do: "lookup" }
  | EndCommand;

/** How a key call is to be made; see `keyCallAs` in www/wasm/src/call.rs. */
export interface KeyCallAs {
  /** Which headers go along. */
  names?: string[];
  /** Whether cookies do; undefined where nothing is known of the request. */
  cookies?: boolean;
  /** Not at all. */
  differs?: "headers" | "cookie" | "several";
}

export interface EndCommand {
  do: "end";
  end:
    | "answered"
    | "unknown"
    | "payload_changed"
    | "not_resolved"
    | "answer_gone"
    | "key_reused"
    | "key_voided"
    | "found";
  settled?: boolean;
  why?: string;
  doubt?: string;
  httpStatus?: number;
  status: import("./types.js").IntentStatus;
}

/** The core, ready to be used. */
export type Core = typeof glue;
export type CoreClient = InstanceType<Core["Client"]>;
export type CoreCall = ReturnType<CoreClient["submit"]>;

/** Where the core's wasm comes from, in the order that is tried. */
export interface Source {
  /** At once; throws where wasm may not run, or only with a promise. */
  now?(): WebAssembly.Module;
  /** With a promise. */
  later?(): Promise<WebAssembly.Module>;
  /** The same wasm, translated to JavaScript, for pages whose CSP forbids wasm. */
  translated(): Promise<{ default: (imports: object) => WebAssembly.Exports }>;
}

/** One core for a page. */
export class Loader {
  #source: Source;
  #core?: Core;
  #loading?: Promise<Core>;
  /** Where the translation could not be loaded from, and how often it was tried again. */
  #missing?: string;
  #again = 0;
  /** Why the translation runs in place of wasm. */
  fallback?: string;

  constructor(source: Source) {
    this.#source = source;
  }

  /** The core, if it can be had at once. */
  now(): Core | undefined {
    if (this.#core || this.#loading || !this.#source.now) return this.#core;
    try {
      return this.#start(new WebAssembly.Instance(this.#source.now(), imports).exports);
    } catch {
      // Not at once, or not at all: `ready` finds out.
      return undefined;
    }
  }

  /** The core. A failure is not remembered: the next call tries again. */
  ready(): Promise<Core> {
    const core = this.now();
    if (core) return Promise.resolve(core);
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = undefined;
      throw error;
    });
    return this.#loading;
  }

  async #load(): Promise<Core> {
    let reason: unknown;
    try {
      const module = this.#source.later ? await this.#source.later() : this.#source.now!();
      return this.#start((await WebAssembly.instantiate(module, imports)).exports);
    } catch (error) {
      reason = error;
    }
    // A missing file is no reason to load another one.
    if (!isForbidden(reason)) throw reason;
    const { default: translated } = await this.#translated();
    this.fallback = String(reason);
    return this.#start(translated(imports));
  }

  /**
   * A browser remembers that a module could not be loaded, but only of that very URL; its error, a TypeError, tells
   * which one. Where a bundler does the loading, its own error is another one, and it tries again by itself.
   */
  async #translated(): ReturnType<Source["translated"]> {
    try {
      if (this.#missing === undefined) return await this.#source.translated();
      const url = new URL(this.#missing);
      url.searchParams.set("again", String((this.#again += 1)));
      return await import(url.href);
    } catch (error) {
      if (error instanceof TypeError) this.#missing ??= /\b[a-z][a-z0-9+.-]*:\/\/\S+/i.exec(String(error))?.[0];
      throw error;
    }
  }

  #start(exports: WebAssembly.Exports): Core {
    glue.__wbg_set_wasm(exports);
    (exports.__wbindgen_start as (() => void) | undefined)?.();
    this.#core = glue;
    return glue;
  }
}

const imports = { [glue.MODULE]: glue as unknown as WebAssembly.ModuleImports };

/** By CSP, or because this engine has no wasm. */
function isForbidden(reason: unknown): boolean {
  return typeof WebAssembly === "undefined" || reason instanceof WebAssembly.CompileError;
}
