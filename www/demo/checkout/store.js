// What this page keeps from one load to the next. Where a browser refuses storage, it is kept until the page goes.

const PREFIX = "shop:";
const memory = new Map();

function area(name) {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
}

/** A named value in `localStorage` (shared by tabs) or `sessionStorage` (of one tab). */
export function stored(name, where = "localStorage") {
  const full = PREFIX + name;
  return {
    name: full,
    get() {
      try {
        return JSON.parse(area(where).getItem(full)) ?? undefined;
      } catch {
        return memory.get(full);
      }
    },
    set(value) {
      memory.set(full, value);
      try {
        area(where).setItem(full, JSON.stringify(value));
      } catch {}
    },
    remove() {
      memory.delete(full);
      try {
        area(where).removeItem(full);
      } catch {}
    },
  };
}

/** The names of stored values that begin like this. */
export function storedNames(prefix) {
  let all;
  try {
    all = Object.keys(area("localStorage"));
  } catch {
    all = [...memory.keys()];
  }
  return all.filter((name) => name.startsWith(PREFIX + prefix)).map((name) => name.slice(PREFIX.length));
}

/** `size` random bytes in hexadecimal digits. */
export function randomHex(size) {
  const bytes = [...crypto.getRandomValues(new Uint8Array(size))];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What `value` holds, made by `make` the first time. */
export function keptOrMade(value, make) {
  const known = value.get();
  if (known !== undefined) return known;
  const made = make();
  value.set(made);
  return made;
}
