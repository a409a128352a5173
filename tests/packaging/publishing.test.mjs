// What publint and arethetypeswrong say about the packed packages.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { Consumer, pack } from "./support.mjs";

for (const [name, source] of Object.entries({ oncekey: "www", "oncekey-worker": "worker/npm" })) {
  test(`publint has no error, no warning and no suggestion for ${name}, which names its homepage`, async () => {
    const consumer = await Consumer.make(`publint-${name}`, source);
    const { messages } = await publint({ pkgDir: consumer.package, pack: false, level: "suggestion", strict: true });
    assert.deepEqual(messages, []);
    const { homepage } = JSON.parse(readFileSync(join(consumer.package, "package.json"), "utf8"));
    assert.equal(homepage, `https://www.npmjs.com/package/${name}`);
  });
}

test("the types of every entry point are those of its code, for import and require", async () => {
  const { tarball } = await pack("types-of-code");
  const { problems, entrypoints } = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
  // `oncekey/workerd` is for Workers, which have no CommonJS.
  assert.deepEqual(problems.filter(({ entrypoint }) => entrypoint !== "./workerd"), []);
  const { exports } = JSON.parse(readFileSync(new URL("../../www/package.json", import.meta.url), "utf8"));
  assert.deepEqual(Object.keys(entrypoints).sort(), Object.keys(exports).sort());
});

test('oncekey/react is a client module: its first line is "use client"', async () => {
  const consumer = await Consumer.make("use-client");
  const start = (file) => readFileSync(join(consumer.package, "dist", file), "utf8").slice(0, 40);
  assert.match(start("react.js"), /^"use client";/);
  assert.match(start("react.cjs"), /^("use strict";)?"use client";/);
});
