// The names of all options, and the values that each takes. Any other name is an error at once, because a misspelt
// option would silently do nothing.

type Check = { is: (value: unknown) => boolean; what: string } | Options;
/** The options of one function, each with the check of its value. */
interface Options {
  [name: string]: Check;
}

const check = (what: string, is: (value: unknown) => boolean) => ({ is, what });
const aNumber = check("a number", (value) => typeof value === "number");
const aText = check("a string", (value) => typeof value === "string");
const aFunction = check("a function", (value) => typeof value === "function");
const anything = check("", () => true);
const oneOf = (...values: string[]) =>
  check(`one of ${values.map((value) => `"${value}"`).join(", ")}`, (value) => values.includes(value as string));
export const anObject = (value: unknown) => typeof value === "object" && value !== null;
const aList = (what: string, is: (value: unknown) => boolean) =>
  check(`a list of ${what}`, (value) => (Array.isArray(value) || ArrayBuffer.isView(value)) && Array.from(value as never, is).every(Boolean));
const anUrl = check("a string, a URL or null", (value) => value === null || typeof value === "string" || value instanceof URL);

const RETRY: Options = {
  limit: aNumber,
  delays: aList("numbers", (value) => typeof value === "number"),
  jitter: anything,
  attemptTimeout: aNumber,
  totalTime: aNumber,
  maxRetryAfter: aNumber,
};

/** `createClient`. */
export const CLIENT: Options = {
  retention: aNumber,
  storage: check(
    "an object with the methods of localStorage, a store of oncekey/store or oncekey/node, or null",
    (value) => value === null || (anObject(value) && ("getItem" in (value as object) || "openEntries" in (value as object))),
  ),
  namespace: aText,
  retry: RETRY,
  keyUrl: anUrl,
  // Browsers drop some headers, such as Host, from a request.
  keyHeader: check("a header to set", (value) => new Request("a:", { headers: [[value as string, "a"]] }).headers.has(value as string)),
  headers: check('a function that returns the headers, such as () => ({ "X-Api-Key": key })', aFunction.is),
  credentials: oneOf("omit", "same-origin", "include"),
  finalStatuses: aList("statuses, such as [402]", (value) => typeof value === "number"),
  fetch: aFunction,
};

/** `client.intent` and the last argument of `client.fetch`. */
export const INTENT: Options = {
  ignore: aList("JSON pointers", (value) => typeof value === "string"),
  expects: aText,
  validate: aFunction,
};

/** `intent.resolve` and `intent.abandon`. */
export const RESOLVE: Options = { signal: check("an AbortSignal", anObject), lookup: aFunction };
export const ABANDON: Options = { signal: RESOLVE.signal! };

const MESSAGES: Options = Object.fromEntries(
  ["busy", "retry", "inprogress", "succeeded", "refused", "failed", "changed", "unknown"].map((name) => [name, aText]),
);

/** `guardForm` and `useFormGuard`. */
export const GUARD: Options = {
  client: anything,
  intent: check("a name such as order:1042, or a function that returns one", (value) => typeof value === "function" || (typeof value === "string" && value !== "")),
  send: oneOf("fetch", "navigate"),
  keyField: check("the name of a field", (value) => typeof value === "string" && value !== ""),
  disable: oneOf("aria", "native"),
  busyLabel: aText,
  messages: MESSAGES,
  request: aFunction,
  options: INTENT,
  onResponse: aFunction,
  onError: aFunction,
};

/** The names that other libraries use for these options. */
const WORDS: Record<string, string> = {
  retries: "retry",
  maxretries: "retry",
  timeout: "retry",
  onsuccess: "onResponse",
  oncomplete: "onResponse",
  onfailure: "onError",
  key: "intent",
  name: "intent",
  mode: "send",
  url: "keyUrl",
  endpoint: "keyUrl",
  ttl: "retention",
  prefix: "namespace",
  data: "body",
  json: "body",
};

/** Throws a TypeError if an option of `where` is unknown or has a wrong value. The error suggests the right spelling. */
export function checkOptions(where: string, given: unknown, options: Options): void {
  if (given === undefined) return;
  if (!anObject(given)) throw new TypeError(`${where}: the options must be an object, not ${shown(given)}.`);
  for (const [name, value] of Object.entries(given as object)) {
    const known = Object.hasOwn(options, name) ? options[name] : undefined;
    if (!known) throw unknownName(where, name, Object.keys(options));
    if (value === undefined) continue;
    if (!isCheck(known)) checkOptions(`${where}: ${name}`, value, known);
    else if (!known.is(value)) throw new TypeError(`${where}: ${name} must be ${known.what}, not ${shown(value)}.`);
  }
}

export function unknownName(where: string, name: string, known: string[], word = "option", found = spelling(name, known)): TypeError {
  const right = found ? `Did you mean "${found}"?` : `Use one of ${known.join(", ")}.`;
  return new TypeError(`${where}: there is no ${word} "${name}". ${right}`);
}

/** Returns the known name that was probably meant, if there is a similar one. */
export function spelling(name: string, known: string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_]/g, "");
  const word = WORDS[plain(name)];
  if (word !== undefined && known.includes(word)) return word;
  let nearest: string | undefined;
  let least = Math.min(2, Math.floor(name.length / 3)) + 1;
  for (const other of known) {
    const steps = distance(plain(name), plain(other));
    if (steps < least) [nearest, least] = [other, steps];
  }
  return nearest;
}

/** Returns how many letters must be changed, inserted, removed or swapped with their neighbor to get the other word. */
function distance(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let at = 1; at <= other.length; at++) {
      const same = one[row - 1] === other[at - 1];
      next[at] = Math.min(last[at]! + 1, next[at - 1]! + 1, last[at - 1]! + (same ? 0 : 1));
      const isSwap = row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1];
      if (isSwap) next[at] = Math.min(next[at]!, before[at - 2]! + 1);
    }
    [before, last] = [last, next];
  }
  return last[other.length]!;
}

function isCheck(known: Check): known is { is: (value: unknown) => boolean; what: string } {
  return typeof known.is === "function";
}

/** Returns the type of a value. The value itself may be a credential and is not shown. */
export function shown(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return { string: "a string", number: "a number", function: "a function", boolean: "a boolean" }[typeof value as string] ?? `an ${typeof value}`;
}
