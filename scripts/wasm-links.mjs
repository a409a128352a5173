// Renames and removes the imports and exports that a wasm shares with its glue.
import { WasmReader, numberBytes, textBytes } from "./wasm-bytes.mjs";

/**
 * `wasm` with other names: `imported(from, name)` gives an import's module and name, `exported(name)` an export's
 * name, or nothing if the export is to be removed.
 */
export function relink(wasm, imported, exported) {
  const reader = new WasmReader(wasm);

  function importSection() {
    const out = [];
    const count = reader.number();
    for (let i = 0; i < count; i++) {
      const [from, name, kind] = [reader.text(), reader.text(), reader.bytes(1)[0]];
      if (from !== "./oncekey_bg.js" || kind !== 0) throw new Error(`${from} ${name} is not a function of the glue`);
      const [newFrom, newName] = imported(from, name);
      out.push(...textBytes(newFrom), ...textBytes(newName), kind, ...numberBytes(reader.number()));
    }
    return [...numberBytes(count), ...out];
  }

  function exportSection() {
    const kept = [];
    for (let left = reader.number(); left > 0; left--) {
      const [name, kind, index] = [exported(reader.text()), reader.bytes(1)[0], reader.number()];
      if (name !== undefined) kept.push([...textBytes(name), kind, ...numberBytes(index)]);
    }
    return [...numberBytes(kept.length), ...kept.flat()];
  }

  const sections = [wasm.subarray(0, 8)];
  while (reader.at < wasm.length) {
    const id = reader.bytes(1)[0];
    const size = reader.number();
    const rewritten = id === 2 ? importSection() : id === 7 ? exportSection() : reader.bytes(size);
    sections.push(Buffer.from([id, ...numberBytes(rewritten.length)]), Buffer.from(rewritten));
  }
  return Buffer.concat(sections);
}

/** Returns a function that gives each name a short name, and the same name the same short name. */
export function shortNames(letter) {
  const names = new Map();
  return {
    names,
    of(name) {
      if (!names.has(name)) names.set(name, `${letter}${names.size.toString(36)}`);
      return names.get(name);
    },
  };
}
