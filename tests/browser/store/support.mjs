// Helpers for tests of the core with its store of entries, without the rest of a client.
import { readFileSync } from "node:fs";
import { pagesWith } from "../in-page.mjs";

const wasm = new URL("../../../www/build/oncekey.wasm", import.meta.url);
const plugin = {
  name: "oncekey",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^oncekey:wasm$/ }, ({ path }) => ({ path, namespace: "oncekey" }));
    onLoad({ filter: /.*/, namespace: "oncekey" }, () => ({ contents: readFileSync(wasm), loader: "binary" }));
  },
};

export const storePages = () => pagesWith("store/page.mjs", [plugin]);
