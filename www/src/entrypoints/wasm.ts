// `oncekey/wasm`: the wasm's own file, for `init` of `oncekey/slim`.

/** The URL of the wasm or its module, as the bundler decides. */
declare const wasm: string | WebAssembly.Module;
export default wasm;
