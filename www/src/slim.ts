// `oncekey/slim`: without the wasm, which the page brings along (`oncekey/wasm`) by `init`.

import { type EntryPoint, entryPoint } from "./entry.js";

export * from "./public.js";

/** An URL of the wasm, a response with it, its bytes, or the module. */
export type WasmSource = string | URL | Response | PromiseLike<Response> | BufferSource | WebAssembly.Module;

let source: (() => WasmSource) | undefined;

/** Says where the wasm is; it is loaded when it is needed. A function is called again after a failure. */
export function init(wasm: WasmSource | (() => WasmSource)): void {
  source = typeof wasm === "function" ? (wasm as () => WasmSource) : () => wasm as WasmSource;
}

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint({
  later: async () => {
    if (!source) throw new Error("oncekey/slim: call init() with the wasm of oncekey/wasm first.");
    const wasm = source();
    if (wasm instanceof WebAssembly.Module) return wasm;
    if (wasm instanceof ArrayBuffer || ArrayBuffer.isView(wasm)) return WebAssembly.compile(wasm as BufferSource);
    const response = await (typeof wasm === "string" || wasm instanceof URL ? fetch(wasm) : wasm);
    if (!response.ok) throw new Error(`oncekey/slim: the wasm could not be loaded (${response.status}).`);
    return WebAssembly.compile(await response.arrayBuffer());
  },
  translated: () => import("oncekey:translated"),
});

export { createClient, mintKey };
