// Renames and removes the imports and exports that a wasm shares with its glue.

/**
 * `wasm` with other names: `imported(from, name)` gives an import's module and name, `exported(name)` an export's
 * name, or nothing if the export is to be removed.
 */
export function relink(wasm, imported, exported) {
  let at = 8;
  function number() {
    for (let value = 0, shift = 1; ; shift *= 128) {
      const byte = wasm[at++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }
  const bytes = (count) => wasm.subarray(at, (at += count));
  const text = () => bytes(number()).toString("utf8");

  function importSection() {
    const out = [];
    const count = number();
    for (let i = 0; i < count; i++) {
      const [from, name, kind] = [text(), text(), bytes(1)[0]];
      if (from !== "./oncekey_bg.js" || kind !== 0) throw new Error(`${from} ${name} is not a function of the glue`);
      const [newFrom, newName] = imported(from, name);
      out.push(...textBytes(newFrom), ...textBytes(newName), kind, ...numberBytes(number()));
    }
    return [...numberBytes(count), ...out];
  }

  function exportSection() {
    const kept = [];
    for (let left = number(); left > 0; left--) {
      const [name, kind, index] = [exported(text()), bytes(1)[0], number()];
      if (name !== undefined) kept.push([...textBytes(name), kind, ...numberBytes(index)]);
    }
    return [...numberBytes(kept.length), ...kept.flat()];
  }

  const sections = [wasm.subarray(0, 8)];
  while (at < wasm.length) {
    const id = wasm[at++];
    const size = number();
    const rewritten = id === 2 ? importSection() : id === 7 ? exportSection() : bytes(size);
    sections.push(Buffer.from([id, ...numberBytes(rewritten.length)]), Buffer.from(rewritten));
  }
  return Buffer.concat(sections);
}

const numberBytes = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...numberBytes(Math.floor(value / 128))]);
const textBytes = (text) => [...numberBytes(text.length), ...Buffer.from(text)];

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
