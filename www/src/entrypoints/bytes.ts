/** The bytes of a text with one character, U+0000 to U+00FF, for each. */
export function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}
