// `oncekey`: the main entry point. The page waits for the guard of its forms alone. The wasm, as text, and the rest follow
// when the page is idle, or when they are needed.

import { type Source, retried } from "../loader.js";
import type { EntryPoint } from "../types.js";
import { entryPoint } from "./entry.js";

export * from "./public.js";

function source(): Source {
  const lazy = retried(() => import("../lazy.js"));
  const wasm = retried(() => import("oncekey:wasm"));
  const translated = retried(() => import("oncekey:translated"));
  return {
    async later() {
      const [{ Engine, FormSender, loadCore }, { default: unpack }] = await Promise.all([lazy(), wasm()]);
      const core = await loadCore({ module: () => unpack().then(WebAssembly.compile), translated });
      return { Engine, FormSender, ...core };
    },
  };
}

const { createClient, mintKey }: EntryPoint = /* @__PURE__ */ entryPoint(source);

export { createClient, mintKey };
