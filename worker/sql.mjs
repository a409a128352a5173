// Runs the SQL of a Durable Object for wasm: the values of a statement come in as one buffer, and its rows leave as one.
// A value is a byte for its type and then its content: nothing (null), eight bytes of a little-endian double (number),
// or four bytes of a little-endian length and as many bytes (text in UTF-8, blob). The other side is
// worker/platform/src/sql.rs.

const NULL = 0;
const NUMBER = 1;
const TEXT = 2;
const BLOB = 3;
const NOTHING = new Uint8Array();
const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** Runs a statement on an object's `storage.sql`. Returns the values of its rows, one row after the other. */
export function run(sql, statement, packed) {
  const rows = sql.exec(statement, ...unpack(packed)).raw().toArray();
  return rows.length === 0 ? NOTHING : pack(rows.flat());
}

function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values = [];
  for (let at = 0; at < bytes.length; ) {
    const type = bytes[at++];
    if (type === NULL) {
      values.push(null);
    } else if (type === NUMBER) {
      values.push(view.getFloat64(at, true));
      at += 8;
    } else {
      const end = at + 4 + view.getUint32(at, true);
      // A copy, because the buffer is memory of the wasm instance.
      const content = bytes.slice(at + 4, end);
      values.push(type === TEXT ? decoder.decode(content) : content);
      at = end;
    }
  }
  return values;
}

function pack(values) {
  const contents = values.map((value) => {
    if (value === null || typeof value === "number") return value;
    return typeof value === "string" ? encoder.encode(value) : new Uint8Array(value);
  });
  const size = (content) => (content === null ? 1 : typeof content === "number" ? 9 : 5 + content.length);
  const bytes = new Uint8Array(contents.reduce((total, content) => total + size(content), 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  contents.forEach((content, index) => {
    if (content === null) {
      bytes[at] = NULL;
    } else if (typeof content === "number") {
      bytes[at] = NUMBER;
      view.setFloat64(at + 1, content, true);
    } else {
      bytes[at] = typeof values[index] === "string" ? TEXT : BLOB;
      view.setUint32(at + 1, content.length, true);
      bytes.set(content, at + 5);
    }
    at += size(content);
  });
  return bytes;
}
