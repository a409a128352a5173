// What publint and arethetypeswrong say about the packed package.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { Consumer, pack } from "./support.mjs";

test("publint has no error, no warning and no suggestion", async () => {
  const { package: pkgDir } = await Consumer.make("publint");
  const { messages } = await publint({ pkgDir, pack: false, level: "suggestion", strict: true });
  assert.deepEqual(messages, []);
});

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
