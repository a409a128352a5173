// `oncekey` in Workers. There the wasm must be imported as a module, because code may not compile wasm.

import module from "oncekey:module";
import { Engine, FormSender, startCore } from "../lazy.js";
import type { Loaded, Source } from "../loader.js";
import type { EntryPoint } from "../types.js";
import { entryPoint } from "./entry.js";

export * from "./public.js";

function source(): Source {
  const now = (): Loaded => ({ Engine, FormSender, core: startCore(module), fallback: undefined });
  return { now, later: async () => now() };
}

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint(source);

export { createClient, mintKey };
