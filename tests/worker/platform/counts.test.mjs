// Upper bounds for the counts of a request. They may be lowered when the Worker needs less, and are never raised. The
// test uses the build that is deployed, because the test faults of the other build would count, too.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { count } from "../fixtures/counts.mjs";
import { noMemory } from "../fixtures/support.mjs";

const build = new URL("../../../worker/build", import.meta.url).pathname;

/** The goal that is left: a handful of calls between JavaScript and wasm. */
const BOUNDS = {
  first: { objectCalls: 2, statements: 4, rowsWritten: 3, rowsRead: 11, alarmsSet: 0, intoWasm: 22, outOfWasm: 18.5 },
  replay: { objectCalls: 0, statements: 0, rowsWritten: 0, rowsRead: 0, alarmsSet: 0, intoWasm: 4, outOfWasm: 3 },
  replayByObject: { objectCalls: 1, statements: 1, rowsWritten: 0, rowsRead: 1, alarmsSet: 0, intoWasm: 10, outOfWasm: 8 },
  // At the end of an hour, the keys are due in two hours instead of one.
  expiry: { rowsWritten: 2.4, alarmsSet: 0.15, alarms: 0.25 },
};

test("a first request, its replays and its expiry stay within their bounds of rows, statements and calls", async (t) => {
  assert.ok(existsSync(`${build}/oncekey.wasm`), "worker/build contains no build; run scripts/worker-build first");
  const counts = { ...(await count({ build })), replayByObject: (await count({ build, vars: noMemory })).replay };
  assert.equal(counts.first.objectCalls, 2, "calls to objects are counted");
  for (const [what, bounds] of Object.entries(BOUNDS)) {
    t.diagnostic(`${what}: ${Object.entries(counts[what]).map(([name, value]) => `${value} ${name}`).join(", ")}`);
    for (const [name, bound] of Object.entries(bounds)) {
      assert.ok(counts[what][name] <= bound, `${what}: ${counts[what][name]} ${name}, at most ${bound} are allowed`);
    }
  }
});
