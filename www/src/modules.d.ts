// The modules that the build provides: see scripts/www-bundle.mjs.

declare module "oncekey:wasm" {
  /** The wasm as text: each byte is the character of its value. */
  const wasm: string;
  export default wasm;
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
