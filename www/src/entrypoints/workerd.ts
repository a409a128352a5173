// `oncekey` in Workers, where wasm is a module of its own: code may not compile any.

import { entryPoint } from "./entry.js";
import type { EntryPoint } from "../types.js";
import module from "oncekey:module";

export * from "./public.js";

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint({
  now: () => module,
  translated: () => import("oncekey:translated"),
});

export { createClient, mintKey };
