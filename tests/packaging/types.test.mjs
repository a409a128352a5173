// The types that TypeScript finds with each kind of resolution: the correct files, without `any`.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { before, test } from "node:test";
import ts from "typescript";
import { Consumer, root } from "./support.mjs";

let consumer;
before(async () => {
  consumer = await Consumer.make("types");
  for (const name of ["page.ts", "page.mts", "page.cts"]) consumer.write(name, PAGE);
  consumer.write("worker.ts", 'import { createClient } from "oncekey"; export const client = createClient({ storage: null });');
});

// TypeScript checks that the line after each @ts-expect-error has an error.
const PAGE = `
import { OutcomeUnknownError, createClient, guardForm, mintKey } from "oncekey";
import type { Client, ClientEvents, FormGuard, Intent, IntentStatus, LoadedClient, PendingIntent } from "oncekey";
import { createClient as createSlim, init } from "oncekey/slim";
import { useFormGuard, useIntentStatus } from "oncekey/react";
import { defineElement } from "oncekey/element";
import wasm from "oncekey/wasm";
import "oncekey/auto";
import { fileStore } from "oncekey/node";
import { type AsyncStore, type SharedStore, StoreError, asyncStore, durableStore, kvStore } from "oncekey/store";

type IsAny<T> = 0 extends 1 & T ? true : false;
type AnyMember<T> = { [K in keyof T]-?: IsAny<T[K]> extends true ? K : never }[keyof T];
const exact = <Expected,>() => <Actual,>(_: [Actual, Expected] extends [Expected, Actual] ? Actual : never) => {};
const none = <T extends never>() => {};

const client = createClient({ keyUrl: "/_oncekey/key", retry: { limit: 3, jitter: "full" } });
exact<LoadedClient>()(client);
none<AnyMember<LoadedClient> | AnyMember<Client> | AnyMember<Intent> | AnyMember<IntentStatus> | AnyMember<FormGuard>>();
none<AnyMember<ClientEvents> | AnyMember<ClientEvents["settled"]> | AnyMember<OutcomeUnknownError> | AnyMember<PendingIntent>>();
exact<Promise<Response>>()(client.fetch("order:1", "/v1/orders", { body: "{}" }));
exact<IntentStatus>()(client.intent("order:1").status());
exact<Promise<string>>()(mintKey());
exact<Promise<void>>()(client.ready);
client.addEventListener("settled", ({ detail }) => exact<string>()(detail.intent));
export const known = (error: unknown) => error instanceof OutcomeUnknownError && error.reason;

declare const form: HTMLFormElement;
exact<FormGuard>()(guardForm(form, { client, intent: "order:1" }));
init(wasm);
defineElement("once-form", createSlim());
exact<IntentStatus>()(useIntentStatus(client, "order:1"));
export const ref: (form: HTMLFormElement) => void = useFormGuard({ client: createSlim(), intent: (form) => form.id });

declare const texts: Map<string, string>;
const adapter: AsyncStore = {
  read: (name) => texts.get(name),
  names: () => texts.keys(),
  write: async (name, text) => (text === null ? texts.delete(name) : texts.set(name, text)),
};
exact<SharedStore>()(asyncStore(adapter));
createClient({ storage: fileStore(new URL("file:///keys")) });
createClient({ storage: localStorage });
export const failed = (error: unknown) => error instanceof StoreError;
// @ts-expect-error
createClient({ storage: adapter });
// @ts-expect-error
kvStore(texts);
// @ts-expect-error
durableStore({});
// @ts-expect-error
createClient({ retention: "a day" });
// @ts-expect-error
client.addEventListener("setled", () => {});
// @ts-expect-error
client.intent("order:1").status().state === "done";
// @ts-expect-error
import { entryPoint } from "oncekey";
`;

/** TypeScript's own files, which are read once. */
const library = new Map();
function hostFor(options) {
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (file, ...more) => {
    if (!file.includes("/typescript/lib/")) return getSourceFile(file, ...more);
    if (!library.has(file)) library.set(file, getSourceFile(file, ...more));
    return library.get(file);
  };
  return host;
}

/** Checks a file. Returns the files of the package that contain its types. */
function check(name, how) {
  const options = {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    types: [],
    ...how,
  };
  const program = ts.createProgram([consumer.at(name)], options, hostFor(options));
  const diagnostics = ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (file) => file,
    getNewLine: () => "\n",
  });
  assert.equal(diagnostics, "");
  const files = program.getSourceFiles().map(({ fileName }) => fileName);
  return files.filter((file) => dirname(file).endsWith("node_modules/oncekey/dist")).map((file) => file.split("/").at(-1));
}

for (const [how, name, options, form] of [
  ["a bundler", "page.ts", { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler }, "ts"],
  ["Node, an ES module", "page.mts", { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 }, "ts"],
  ["Node, CommonJS", "page.cts", { module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16 }, "cts"],
  ["Node 20 and later, CommonJS", "page.cts", { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext }, "cts"],
]) {
  test(`types for ${how} are found`, () => {
    const files = check(name, options);
    for (const entry of ["index", "slim", "node", "store", "react", "element", "auto", "types", "errors"]) {
      assert.ok(files.includes(`${entry}.d.${form}`), `${entry}: ${files.join(" ")}`);
    }
    // The types of both module systems are never loaded together.
    const other = form === "ts" ? "cts" : "ts";
    assert.deepEqual(files.filter((file) => file.endsWith(`.d.${other}`)), []);
  });
}

test("types for a Worker are found", () => {
  const files = check("worker.ts", {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    customConditions: ["workerd"],
  });
  assert.ok(files.includes("workerd.d.ts"), files.join(" "));
  assert.ok(!files.includes("index.d.ts"), files.join(" "));
});
