// The modules that the build provides: see scripts/www-bundle.mjs.

declare module "oncekey:wasm" {
  /** Returns the wasm. */
  const unpack: () => Promise<ArrayBuffer>;
  export default unpack;
}

declare module "oncekey:module" {
  const module: WebAssembly.Module;
  export default module;
}

declare module "oncekey:translated" {
  /** The wasm, translated to JavaScript: instantiates it with these imports. */
  const instantiate: (imports: object) => WebAssembly.Exports;
  export default instantiate;
}
