// `oncekey` in Workers. There the wasm must be imported as a module, because code may not compile wasm.

import { entryPoint } from "./entry.js";
import type { EntryPoint } from "../types.js";
import module from "oncekey:module";

export * from "./public.js";

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint({
  now: () => module,
  translated: () => import("oncekey:translated"),
});

export { createClient, mintKey };
