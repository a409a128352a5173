// `oncekey`: the main entry point. It contains the wasm.

import { decode } from "./bytes.js";
import { entryPoint } from "./entry.js";
import type { EntryPoint } from "../types.js";
import wasm from "oncekey:wasm";

export * from "./public.js";

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint({
  now: () => new WebAssembly.Module(decode(wasm)),
  // Older Chromium compiles only modules below 4 KB synchronously.
  later: () => WebAssembly.compile(decode(wasm)),
  translated: () => import("oncekey:translated"),
});

export { createClient, mintKey };
