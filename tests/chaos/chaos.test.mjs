// The short form of `make chaos`: 20 kills, always with the same decisions, and a check that the audit can fail.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { chaos } from "./run.mjs";
import { summary } from "./summary.mjs";

const seed = 20261130;

describe("the Worker is killed", { concurrency: 2 }, () => {
  for (const [setup, kind, kills] of [
    ["naive", "workerd", 7],
    ["deduplicating", "workerd", 7],
    ["sandbox", "workerd", 5],
    ["naive", "wrangler", 1],
  ]) {
    test(`${kills} times, with a ${setup} origin, on ${kind}, and every key is as promised`, async (t) => {
      const run = await chaos({ setup, kind, kills, seed });
      t.diagnostic(summary(run));
      assert.deepEqual(run.problems, []);
      assert.equal(run.tally.of("kills"), kills);
      assert.ok(run.intents.length > 0 && run.tally.of("charges") > 0, "at least one payment was made");
    });
  }

  test("the audit detects a gateway that retries in front of a naive origin", async () => {
    const vars = { UNKNOWN_OUTCOME: "retry" };
    // One in six calls charges without a response.
    const { problems } = await chaos({ setup: "naive", kind: "workerd", kills: 1, seed, vars, atLeast: 300 });
    assert.match(problems.join("\n"), /a second charge for an order/);
  });
});
