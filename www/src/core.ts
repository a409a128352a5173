// The core (Rust compiled to wasm): how it is loaded, and how it is asked.

import { VERSION, __wbg_set_wasm, call, imports, replied, room } from "../build/glue.js";
import { type Field, pack } from "./packed.js";

/** The next command of the core (www/wasm/src/command.rs). */
export type Command =
  | { do: "send"; key: string; attempt: number; timeout: number; earlier: boolean; rotated: boolean }
  | { do: "wait"; after: number; why: "retry" | "inprogress" }
  | { do: "ask" | "void"; key: string }
  | { do: "lookup" }
  | EndCommand;

/** The credential of a key call; see `credential` in www/wasm/src/calls.rs. */
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

const decoder = /* @__PURE__ */ new TextDecoder();

/** The loaded core. Every page has one. */
export class Core {
  readonly #memory: WebAssembly.Memory;
  #bytes: Uint8Array;

  constructor(memory: WebAssembly.Memory) {
    this.#memory = memory;
    this.#bytes = new Uint8Array(memory.buffer);
  }

  /** Asks the core; see www/wasm/src/lib.rs for the requests. Throws a RangeError if a value of the page is wrong. */
  ask<Reply extends object>(request: string, ...fields: Field[]): Reply {
    const reply = JSON.parse(decoder.decode(this.#call([request, ...fields]))) as Reply & { error?: string };
    if (reply.error !== undefined) throw new RangeError(reply.error);
    return reply;
  }

  /** Returns what the platform hashes of a request: see `preimage` in www/wasm/src/calls.rs. */
  preimage(...fields: Field[]): Uint8Array<ArrayBuffer> {
    return this.#call(["preimage", ...fields]).slice();
  }

  /** Returns the bytes of a reply. They change with the next call. */
  #call(fields: readonly Field[]): Uint8Array {
    const length = call(pack(fields, (most) => this.#slice(room(most), most)));
    return this.#slice(replied(), length);
  }

  #slice(at: number, length: number): Uint8Array {
    // The memory has another buffer when it has grown.
    if (this.#bytes.buffer !== this.#memory.buffer) this.#bytes = new Uint8Array(this.#memory.buffer);
    return this.#bytes.subarray(at, at + length);
  }

  /** Returns whether this status is that of a success or a redirect. */
  isSuccess(status: number): boolean {
    return this.ask<{ is: boolean }>("isSuccess", status).is;
  }

  /** Returns whether this `Content-Type` is that of JSON. */
  isJson(contentType: string): boolean {
    return this.ask<{ is: boolean }>("isJson", contentType).is;
  }

  /** Returns a new key. */
  mintKey(): string {
    return this.ask<{ key: string }>("mint", Date.now(), random()).key;
  }
}

/** Returns 16 random bytes. Works in insecure contexts too, unlike `crypto.randomUUID`. */
export function random(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(16));
}

/** Where the core comes from. */
export interface CoreSource {
  /** Returns the wasm. */
  module(): Promise<WebAssembly.Module>;
  /** Returns the same wasm as JavaScript, for pages whose CSP forbids wasm. */
  translated(): Promise<Translation>;
}

export interface Translation {
  default: (imports: object) => WebAssembly.Exports;
}

/** Starts the core. `fallback` says why its translation runs instead of wasm. */
export async function loadCore({ module, translated }: CoreSource): Promise<{ core: Core; fallback: string | undefined }> {
  let reason: unknown;
  try {
    const { exports } = await WebAssembly.instantiate(await module(), IMPORTS);
    return { core: start(exports), fallback: undefined };
  } catch (error) {
    reason = error;
  }
  // If the wasm file is missing, the translation is not loaded instead.
  if (!isForbidden(reason)) throw reason;
  const { default: instantiate } = await translated();
  return { core: start(instantiate(IMPORTS)), fallback: String(reason) };
}

/** Starts the core from a module that is there already. */
export function startCore(module: WebAssembly.Module): Core {
  return start(new WebAssembly.Instance(module, IMPORTS).exports);
}

function start(exports: WebAssembly.Exports): Core {
  if (!(VERSION in exports)) throw new TypeError("oncekey: the wasm is that of another version. Use oncekey/wasm of this version.");
  __wbg_set_wasm(exports);
  return new Core(exports[VERSION] as WebAssembly.Memory);
}

const IMPORTS = { [VERSION]: imports as unknown as WebAssembly.ModuleImports };

/** Returns whether wasm is forbidden by CSP or missing in this engine. */
function isForbidden(reason: unknown): boolean {
  return typeof WebAssembly === "undefined" || reason instanceof WebAssembly.CompileError;
}
