// How scopes and records are named (src/scope.rs), for tests that look into the store or the journal.
import { createHash } from "node:crypto";

export const apiKey = "kuko_test_gateway";

/** SHA-256 over parts that carry their lengths. */
function named(domain, ...parts) {
  const hash = createHash("sha256");
  for (const part of [domain, ...parts].map((one) => Buffer.from(one))) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(part.length));
    hash.update(length).update(part);
  }
  return hash.digest();
}

/** The scope of a caller with an X-Api-Key, and the name that a key's record has there; both in hex. */
export const scopeName = (as = apiKey) => named("oncekey scope 1", "header", "x-api-key", as).toString("hex");
export const recordName = (key, as = apiKey) =>
  named("oncekey key 1", Buffer.from(scopeName(as), "hex"), key).toString("hex");
