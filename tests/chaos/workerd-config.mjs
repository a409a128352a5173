// The config with which plain workerd runs the built Worker, with its objects and its KV namespace on disk.
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

const worker = new URL("../../worker/", import.meta.url).pathname;
const text = (value) => JSON.stringify(value);

/** Returns the config as Cap'n Proto text. `replica`: whether the Worker has a KV namespace for copies. */
export function workerdConfig({ built, folder, port, vars, replica }) {
  const settings = Object.entries(vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(String(value))})`);
  const bindings = [
    `(name = "SHARDS", durableObjectNamespace = "Shard")`,
    `(name = "MERCHANTS", durableObjectNamespace = "Merchant")`,
    ...(replica ? [`(name = "REPLICA", kvNamespace = (name = "kv", props = (json = "{\\"namespace\\": \\"replica\\"}")))`] : []),
    ...settings,
  ];
  // Paths must be relative, because workerd resolves absolute paths in another folder.
  const embed = (name) => `embed ${text(relative(folder, join(built, name)))}`;
  const disk = (name) => `(name = ${text(name)}, disk = (path = ${text(join(folder, "state"))}, writable = true))`;
  const services = ["main", ...(replica ? ["kv"] : [])];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.map((name) => `(name = ${text(name)}, worker = .${name})`).join(",\n    ")},
    ${disk("disk")},
    # The origin is on this machine.
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  # Without this, the output of the Worker is lost.
  logging = (structuredLogging = true),
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    (name = "entry.mjs", esModule = ${embed("entry.mjs")}),
    (name = "bridge.mjs", esModule = ${embed("bridge.mjs")}),
    (name = "glue.mjs", esModule = ${embed("glue.mjs")}),
    (name = "sql.mjs", esModule = ${embed("sql.mjs")}),
    (name = "oncekey.wasm", wasm = ${embed("oncekey.wasm")}),
  ],
  compatibilityDate = ${text(compatibilityDate())},
  bindings = [
    ${bindings.join(",\n    ")},
  ],
  durableObjectNamespaces = [
    (className = "Shard", uniqueKey = "oncekey-shard", enableSql = true),
    (className = "Merchant", uniqueKey = "oncekey-merchant", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
);
${replica ? kv : ""}`;
}

/** The KV of workerd, which consists of a Worker and its storage. */
const kv = `const kv :Workerd.Worker = (
  modules = [(name = "kv.js", bundled = "/workerd/kv.js")],
  compatibilityDate = ${text(compatibilityDate())},
  bindings = [
    (name = "SHARD", durableObjectNamespace = "KVNamespace"),
    (name = "BLOBS", service = "disk"),
  ],
  durableObjectNamespaces = [(className = "KVNamespace", uniqueKey = "oncekey-kv", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);
`;

/** Returns the compatibility date in wrangler.toml. */
export function compatibilityDate() {
  return readFileSync(join(worker, "wrangler.toml"), "utf8").match(/^compatibility_date = "(.*)"$/m)[1];
}
