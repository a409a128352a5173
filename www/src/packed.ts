// Packs a request to the core: fields, each with its length before it. www/wasm/src/fields.rs reads them.

/** Numbers lose their fraction. A list is its length and its fields. */
export type Field = string | number | boolean | Uint8Array | undefined | readonly (string | number)[];

const encoder = /* @__PURE__ */ new TextEncoder();

/** Writes the fields where `room` has room for the most bytes that they may take. Returns how many they take. */
export function pack(fields: readonly Field[], room: (most: number) => Uint8Array): number {
  const parts = fields.flatMap((field) => (Array.isArray(field) ? [field.length, ...field] : [field as Exclude<Field, readonly unknown[]>])).map(textOf);
  const into = room(parts.reduce((sum, part) => sum + 4 + (part?.length ?? 0) * (typeof part === "string" ? 3 : 1), 0));
  let at = 0;
  for (const part of parts) {
    let length = 0;
    if (typeof part === "string") length = put(part, into, at + 4);
    else if (part) into.set(part, at + 4), (length = part.length);
    // All ones mean that the field is undefined.
    for (let byte = 0; byte < 4; byte++) into[at + byte] = (part === undefined ? -1 : length) >>> (8 * byte);
    at += 4 + length;
  }
  return at;
}

function textOf(field: string | number | boolean | Uint8Array | undefined): string | Uint8Array | undefined {
  if (typeof field === "boolean") return field ? "1" : "";
  return typeof field === "number" ? String(Math.trunc(field)) : field;
}

/** Writes a text as UTF-8. Most texts are short and ASCII, and a call of the platform costs more than a few bytes. */
function put(text: string, into: Uint8Array, at: number): number {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) return encoder.encodeInto(text, into.subarray(at)).written;
    into[at + index] = code;
  }
  return text.length;
}
