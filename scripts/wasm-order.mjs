// Puts the functions of a wasm into an order that gzip likes: it finds a repetition only within 32 KB, so functions that
// have much in common should be near each other.
import { WasmReader, numberBytes, textBytes } from "./wasm-bytes.mjs";

/** How far back gzip finds a repetition, less the average distance to its end. */
const WINDOW = 30_000;
/** The length of the pieces that are compared. gzip needs three bytes; longer ones are worth more. */
const PIECE = 5;

/**
 * Returns `wasm` with names for its functions whose alphabetical order is the order to bring them in:
 * `wasm-opt --reorder-functions-by-name` does that.
 */
export function namedInOrder(wasm) {
  const { imported, bodies, sections } = functionsOf(wasm);
  const names = [];
  for (let i = 0; i < imported; i++) names.push(`a${i}`);
  order(bodies).forEach((index, place) => (names[imported + index] = `b${String(place).padStart(6, "0")}`));
  const list = names.flatMap((name, index) => [...numberBytes(index), ...textBytes(name)]);
  const map = [...numberBytes(names.length), ...list];
  const section = [...textBytes("name"), 1, ...numberBytes(map.length), ...map];
  return Buffer.concat([...sections, Buffer.from([0, ...numberBytes(section.length), ...section])]);
}

/** Returns the number of imported functions, the bodies of the others, and the sections without a name section. */
function functionsOf(wasm) {
  const reader = new WasmReader(wasm);
  let imported = 0;
  const bodies = [];
  const sections = [wasm.subarray(0, 8)];
  while (reader.at < wasm.length) {
    const start = reader.at;
    const id = reader.bytes(1)[0];
    const end = reader.number() + reader.at;
    // All imports are functions (wasm-links.mjs).
    if (id === 2) imported = reader.number();
    if (id === 10) for (let left = reader.number(); left > 0; left--) bodies.push(reader.bytes(reader.number()));
    reader.at = end;
    if (id !== 0) sections.push(wasm.subarray(start, end));
  }
  return { imported, bodies, sections };
}

/** Returns the indexes of the bodies in their order: each has more in common with those before it than any that follows. */
function order(bodies) {
  const pieces = bodies.map(piecesOf);
  /** The bodies that contain a piece. */
  const holders = new Map();
  for (const [index, own] of pieces.entries()) {
    for (const piece of own) {
      if (!holders.has(piece)) holders.set(piece, []);
      holders.get(piece).push(index);
    }
  }
  const common = new Float64Array(bodies.length);
  /** How often the window contains a piece. */
  const counts = new Map();
  const count = (index, change) => {
    for (const piece of pieces[index]) {
      const others = holders.get(piece);
      if (others.length === 1) continue;
      const before = counts.get(piece) ?? 0;
      counts.set(piece, before + change);
      if (before === 0 || before + change === 0) for (const other of others) common[other] += change;
    }
  };
  const left = new Set(bodies.keys());
  const found = [];
  const window = [];
  let size = 0;
  const longest = bodies.reduce((best, body, index) => (body.length > bodies[best].length ? index : best), 0);
  for (let next = longest; next !== undefined; ) {
    found.push(next);
    left.delete(next);
    window.push(next);
    size += bodies[next].length;
    count(next, 1);
    while (size > WINDOW && window.length > 1) {
      const gone = window.shift();
      size -= bodies[gone].length;
      count(gone, -1);
    }
    let best = -1;
    next = undefined;
    for (const index of left) {
      const share = common[index] / Math.max(pieces[index].size, 1) ** 0.9;
      if (share > best) [best, next] = [share, index];
    }
  }
  return found;
}

function piecesOf(body) {
  const pieces = new Set();
  let piece = 0;
  for (let at = 0; at < body.length; at++) {
    piece = (piece % 256 ** (PIECE - 1)) * 256 + body[at];
    if (at >= PIECE - 1) pieces.add(piece);
  }
  return pieces;
}
