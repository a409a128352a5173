// Reads and writes the numbers and texts in a wasm: numbers are LEB128, and a text has its length before it.

export class WasmReader {
  #bytes;
  /** The position of the next byte: at first, behind the magic number and the version. */
  at = 8;

  constructor(bytes) {
    this.#bytes = bytes;
  }

  number() {
    for (let value = 0, shift = 1; ; shift *= 128) {
      const byte = this.#bytes[this.at++];
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  }
  bytes(count) {
    return this.#bytes.subarray(this.at, (this.at += count));
  }
  text() {
    return this.bytes(this.number()).toString("utf8");
  }
}

export const numberBytes = (value) => (value < 128 ? [value] : [(value % 128) | 128, ...numberBytes(Math.floor(value / 128))]);
export const textBytes = (text) => [...numberBytes(text.length), ...Buffer.from(text)];
