// Packs a request to the core: fields, each with its length before it. www/wasm/src/fields.rs reads them.

/** Numbers lose their fraction. A list is its length and its fields. */
export type Field = string | number | boolean | Uint8Array | undefined | readonly (string | number)[];

/** The length of a field that is undefined. */
const UNDEFINED = 0xffffffff;

export function packed(fields: readonly Field[]): Uint8Array {
  const encoder = new TextEncoder();
  const parts: (Uint8Array | undefined)[] = [];
  const add = (field: Field): void => {
    if (typeof field === "string") parts.push(encoder.encode(field));
    else if (typeof field === "number") parts.push(encoder.encode(String(Math.trunc(field))));
    else if (typeof field === "boolean") parts.push(encoder.encode(field ? "1" : ""));
    // Not `instanceof`: the bytes may come from another realm, as in some test environments.
    else if (field === undefined || ArrayBuffer.isView(field)) parts.push(field as Uint8Array | undefined);
    else [field.length, ...field].forEach(add);
  };
  fields.forEach(add);
  const request = new Uint8Array(parts.reduce((length, part) => length + 4 + (part?.length ?? 0), 0));
  const view = new DataView(request.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part?.length ?? UNDEFINED, true);
    if (part) request.set(part, at + 4);
    at += 4 + (part?.length ?? 0);
  }
  return request;
}
