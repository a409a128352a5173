// `oncekey/wasm`: the wasm's own file, for `init` of `oncekey/slim`.

/** What a bundler makes of it: its URL, or the module. */
declare const wasm: string | WebAssembly.Module;
export default wasm;
