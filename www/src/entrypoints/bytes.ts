/** Returns the bytes of a text in which each character, U+0000 to U+00FF, stands for one byte. */
export function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
