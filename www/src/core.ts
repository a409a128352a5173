// The types of the core (Rust compiled to wasm), and how the core is loaded.

import * as glue from "../build/glue.js";

/** The next command of the core (www/wasm/src/call.rs). */
export type Command =
  | { do: "send"; key: string; attempt: number; timeout: number; earlier: boolean; rotated: boolean }
  | { do: "wait"; after: number; why: "retry" | "inprogress" }
  | { do: "ask" | "void"; key: string }
  | { do: "lookup" }
  | EndCommand;

/** The credential of a key call; see `keyCallCredential` in www/wasm/src/call.rs. */
export interface KeyCallCredential {
  /** The headers to send. */
  names?: string[];
  /** Whether to send cookies. Undefined if nothing is known about the request. */
  cookies?: boolean;
  /** Why the key call must not be made. */
  differs?: "headers" | "cookie" | "several";
}

export interface EndCommand {
  do: "end";
  end:
    | "response"
    | "unknown"
    | "payload_changed"
    | "not_resolved"
    | "response_gone"
    | "key_reused"
    | "key_voided"
    | "status";
  /** Whether the outcome is known for good. */
  settled: boolean;
  /** Whether an attempt may have been executed while the outcome is unknown. */
  open: boolean;
  why?: string;
  unknownReason?: string;
  httpStatus?: number;
  status: import("./types.js").IntentStatus;
}

/** The loaded core. */
export type Core = typeof glue;
export type CoreClient = InstanceType<Core["Client"]>;
export type CoreCall = ReturnType<CoreClient["submit"]>;

/** The sources of the core's wasm, in the order in which they are tried. */
export interface Source {
  /** Returns the module at once. Throws if wasm is forbidden, or can only be compiled with a promise. */
  now?(): WebAssembly.Module;
  /** Returns the module with a promise. */
  later?(): Promise<WebAssembly.Module>;
  /** Returns the same wasm as JavaScript, for pages whose CSP forbids wasm. */
  translated(): Promise<{ default: (imports: object) => WebAssembly.Exports }>;
}

/** Loads the one core of a page. */
export class Loader {
  #source: Source;
  #core?: Core;
  #loading?: Promise<Core>;
  /** The URL from which the translation could not be loaded, and the number of further tries. */
  #missing?: string;
  #again = 0;
  /** Why the translation runs instead of wasm. */
  fallback?: string;

  constructor(source: Source) {
    this.#source = source;
  }

  /** Returns the core if it can be loaded at once. */
  now(): Core | undefined {
    if (this.#core || this.#loading || !this.#source.now) return this.#core;
    try {
      return this.#start(new WebAssembly.Instance(this.#source.now(), imports).exports);
    } catch {
      // `ready` loads it later, or reports the error.
      return undefined;
    }
  }

  /** Loads the core. After a failure the next call tries again. */
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
    // If the wasm file is missing, the translation is not loaded instead.
    if (!isForbidden(reason)) throw reason;
    const { default: translated } = await this.#translated();
    this.fallback = String(reason);
    return this.#start(translated(imports));
  }

  /**
   * Loads the translation. A browser does not load a module again from a URL that has failed, so the next try adds a query
   * to the URL, which the browser's TypeError contains. A bundler that loads the module has its own errors and retries.
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

/** Returns whether wasm is forbidden by CSP or missing in this engine. */
function isForbidden(reason: unknown): boolean {
  return typeof WebAssembly === "undefined" || reason instanceof WebAssembly.CompileError;
}
