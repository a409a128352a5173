// `oncekey/slim`: an entry point without the wasm. The page passes the wasm (`oncekey/wasm`) to `init`.

import { type Source, retried } from "../loader.js";
import type { EntryPoint } from "../types.js";
import { entryPoint } from "./entry.js";

export * from "./public.js";

/** The URL of the wasm, a response with it, its bytes, or the module. */
export type WasmSource = string | URL | Response | PromiseLike<Response> | BufferSource | WebAssembly.Module;

let source: (() => WasmSource) | undefined;

const FIRST = "oncekey/slim: call init() with the wasm of oncekey/wasm first.";
/** The first four bytes of every wasm module. */
const MAGIC = "0,97,115,109";

/** Sets the source of the wasm, which is loaded when it is needed. If loading fails, a function is called again later. */
export function init(wasm: WasmSource | (() => WasmSource)): void {
  if (wasm === undefined || wasm === null) throw new TypeError("oncekey/slim: init() needs the wasm of oncekey/wasm: its URL, a response, its bytes or the module.");
  source = typeof wasm === "function" ? (wasm as () => WasmSource) : () => wasm as WasmSource;
}

async function compile(bytes: BufferSource, from: string): Promise<WebAssembly.Module> {
  const view = ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes);
  const start = new Uint8Array(view.buffer, view.byteOffset, Math.min(4, view.byteLength));
  // Without this check, the compile error would look like that of a page that forbids wasm.
  if (start.join() !== MAGIC) throw new TypeError(`oncekey/slim: init() got no wasm (${from}). Pass oncekey/wasm.`);
  return WebAssembly.compile(bytes);
}

async function module(): Promise<WebAssembly.Module> {
  const wasm = source!();
  if (typeof WebAssembly !== "undefined" && wasm instanceof WebAssembly.Module) return wasm;
  if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm)) return compile(wasm as BufferSource, "bytes");
  const response = await (typeof wasm === "string" || wasm instanceof URL ? fetch(wasm) : (wasm as Response | PromiseLike<Response>));
  if (typeof response?.arrayBuffer !== "function") throw new TypeError("oncekey/slim: init() got no wasm. Pass oncekey/wasm.");
  if (!response.ok) throw new Error(`oncekey/slim: the wasm could not be loaded (${response.status}).`);
  return compile(await response.arrayBuffer(), response.headers.get("content-type") ?? "of no media type");
}

const slim: EntryPoint = /* @__PURE__ */ entryPoint((): Source => {
  const lazy = retried(() => import("../lazy.js"));
  const translated = retried(() => import("oncekey:translated"));
  return {
    async later() {
      const { Engine, FormSender, loadCore } = await lazy();
      return { Engine, FormSender, ...(await loadCore({ module, translated })) };
    },
  };
});

/** Creates a client, like `createClient` of `oncekey`. Throws before `init`. */
export const createClient: EntryPoint["createClient"] = (options) => {
  if (!source) throw new Error(FIRST);
  return slim.createClient(options);
};

/** Returns a new key, like `mintKey` of `oncekey`. Rejects before `init`. */
export const mintKey: EntryPoint["mintKey"] = async () => {
  if (!source) throw new Error(FIRST);
  return slim.mintKey();
};
