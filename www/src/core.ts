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
    const { exports } = await WebAssembly.instantiate(await module(), imports);
    return { core: start(exports), fallback: undefined };
  } catch (error) {
    reason = error;
  }
  // If the wasm file is missing, the translation is not loaded instead.
  if (!isForbidden(reason)) throw reason;
  const { default: instantiate } = await translated();
  return { core: start(instantiate(imports)), fallback: String(reason) };
}

/** Starts the core from a module that is there already. */
export function startCore(module: WebAssembly.Module): Core {
  return start(new WebAssembly.Instance(module, imports).exports);
}

function start(exports: WebAssembly.Exports): Core {
  glue.__wbg_set_wasm(exports);
  (exports.__wbindgen_start as (() => void) | undefined)?.();
  return glue;
}

const imports = { [glue.MODULE]: glue as unknown as WebAssembly.ModuleImports };

/** Returns whether wasm is forbidden by CSP or missing in this engine. */
function isForbidden(reason: unknown): boolean {
  return typeof WebAssembly === "undefined" || reason instanceof WebAssembly.CompileError;
}
