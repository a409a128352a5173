/** Returns the bytes whose compressed form (zlib) is this text in base64. */
export async function unpacked(text: string): Promise<ArrayBuffer> {
  // The page then loads the translation, as where wasm is forbidden.
  if (typeof DecompressionStream === "undefined") throw new WebAssembly.CompileError("There is no DecompressionStream.");
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Response(bytes).body!.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
}
