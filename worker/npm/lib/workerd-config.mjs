// The config with which plain workerd runs a built Worker, with its objects on disk.
import { existsSync, realpathSync } from "node:fs";
import { join, relative } from "node:path";

const text = (value) => JSON.stringify(value);

/**
 * Returns the config as Cap'n Proto text, for a file in `folder`. `built`: the folder of the build; `host`, `port`:
 * where to listen; `state`: the folder of the objects' databases; `vars`: settings; `environment`: names of settings
 * that workerd reads from its own environment, so that the file contains no secrets; `replica`: whether the Worker has
 * a KV namespace for copies; `pages`: the folder of the console and the demo; `isBehindProxy`: whether a proxy tells in
 * X-Forwarded-Proto how the caller came.
 */
export function workerdConfig({ built, folder, host = "127.0.0.1", port, state, vars = {}, environment = [], replica, pages, isBehindProxy, compatibilityDate }) {
  const bindings = [
    `(name = "SHARDS", durableObjectNamespace = "Shard")`,
    `(name = "MERCHANTS", durableObjectNamespace = "Merchant")`,
    ...(replica ? [`(name = "REPLICA", kvNamespace = (name = "kv", props = (json = "{\\"namespace\\": \\"replica\\"}")))`] : []),
    ...(pages ? [`(name = "ASSETS", service = "pages")`] : []),
    ...Object.entries(vars).map(([name, value]) => `(name = ${text(name)}, text = ${text(String(value))})`),
    ...environment.map((name) => `(name = ${text(name)}, fromEnvironment = ${text(name)})`),
  ];
  // Paths of embedded files must be relative, because workerd resolves absolute paths in another folder.
  const real = (path) => (existsSync(path) ? realpathSync(path) : path);
  const embed = (path) => `embed ${text(relative(real(folder), real(path)))}`;
  const disk = (name, path, more = "") => `(name = ${text(name)}, disk = (path = ${text(path)}${more}))`;
  const workers = ["main", ...(replica ? ["kv"] : []), ...(pages ? ["pages"] : [])];
  const services = [
    ...workers.map((name) => `(name = ${text(name)}, worker = .${name})`),
    disk("disk", state, ", writable = true"),
    ...(pages ? [disk("files", pages)] : []),
    // The origin may be on this machine or in a private network.
    `(name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true)))`,
  ];
  const address = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  // The proxy in front may have ended TLS.
  const http = isBehindProxy ? `forwardedProtoHeader = "X-Forwarded-Proto"` : "";
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    ${services.join(",\n    ")},
  ],
  # Without this, the output of the Worker is lost.
  logging = (structuredLogging = true),
  sockets = [(name = "http", address = ${text(address)}, http = (${http}), service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    ${["entry.mjs", "bridge.mjs", "glue.mjs", "sql.mjs"].map((name) => `(name = ${text(name)}, esModule = ${embed(join(built, name))})`).join(",\n    ")},
    (name = "oncekey.wasm", wasm = ${embed(join(built, "oncekey.wasm"))}),
  ],
  compatibilityDate = ${text(compatibilityDate)},
  bindings = [
    ${bindings.join(",\n    ")},
  ],
  # The names of the databases on disk depend on these keys, which must therefore never change.
  durableObjectNamespaces = [
    (className = "Shard", uniqueKey = "oncekey-shard", enableSql = true),
    (className = "Merchant", uniqueKey = "oncekey-merchant", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
);
${replica ? kv(compatibilityDate) : ""}${pages ? pagesWorker(compatibilityDate, embed(new URL("pages.mjs", import.meta.url).pathname)) : ""}`;
}

/** The KV of workerd, which consists of a Worker and its storage. */
const kv = (compatibilityDate) => `const kv :Workerd.Worker = (
  modules = [(name = "kv.js", bundled = "/workerd/kv.js")],
  compatibilityDate = ${text(compatibilityDate)},
  bindings = [
    (name = "SHARD", durableObjectNamespace = "KVNamespace"),
    (name = "BLOBS", service = "disk"),
  ],
  durableObjectNamespaces = [(className = "KVNamespace", uniqueKey = "oncekey-kv", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
);
`;

/** The static files, which on Cloudflare are the Worker's assets. */
const pagesWorker = (compatibilityDate, file) => `const pages :Workerd.Worker = (
  modules = [(name = "pages.mjs", esModule = ${file})],
  compatibilityDate = ${text(compatibilityDate)},
  bindings = [(name = "FILES", service = "files")],
);
`;
