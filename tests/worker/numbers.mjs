// Business numbers, as tests name and break their records.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { exchange } from "./client.mjs";
import { apiKey, newKey, scopeName, startGateway } from "./support.mjs";

/** The name that a number's record has, in hex (src/scope.rs). */
export function numberName(path, value, { pointer = "/no", method = "POST", as = apiKey } = {}) {
  const hash = createHash("sha256");
  for (const part of ["oncekey number 1", Buffer.from(scopeName(as), "hex"), method, path, pointer, value]) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}

export const newNumber = () => `NO_${newKey()}`;

/** A gateway whose scripted origin's POST routes have a number in `/no`, and what a test needs of it. */
export async function startNumbers({ vars = {}, ...options } = {}) {
  const gateway = await startGateway({ faults: true, vars: { BUSINESS_KEYS: "POST:/o/*:/no", ...vars }, ...options });
  const control = async (what, body) => {
    const answer = await exchange(gateway.url, { method: "POST", path: `/__test/${what}`, body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  return Object.assign(gateway, {
    /** A write with a number and content, under a key of its own unless one is given; `null` is none. */
    order: (path, no, { key = newKey(), content = 1, ...more } = {}) =>
      gateway.post(path, key ?? undefined, { no, content }, more),
    /** Faults of calls about a number's record. */
    numberFaults: (path, no, ...rules) => control("rules", { name: numberName(path, no), rules }),
    /** The calls about a number's record, in order. */
    numberCalls: async (path, no) => (await control("calls", { name: numberName(path, no) })).map(({ op }) => op),
    /** Asks the object of a number's record. */
    numberRows: (path, no) =>
      control("shard", {
        name: numberName(path, no),
        do: "sql",
        query: "SELECT due_at, length(record) AS size FROM records WHERE name = ?",
        values: [{ hex: numberName(path, no) }],
      }),
    sweepNumber: (path, no) => control("shard", { name: numberName(path, no), do: "alarm" }),
  });
}

/** Fails unless the answer is a replay of the other one. */
export function isReplayOf(answer, first, message) {
  assert.deepEqual(
    [answer.status, answer.text, answer.replayed, answer.get("X-Request-Id")],
    [first.status, first.text, true, first.get("X-Request-Id")],
    message,
  );
}

/** Fails unless the answer is this error. */
export function isError(answer, status, code, state) {
  assert.deepEqual([answer.status, answer.json.code, answer.state], [status, code, state], answer.text);
}
