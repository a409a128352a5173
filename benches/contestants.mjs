// The Workers that are compared: oncekey, floors and limits that are written here, and other libraries, each in a
// Worker of the same shape. They run on `workerd serve`, without a simulator in front.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { compatibilityDate } from "../scripts/worker-facts.mjs";
import { workerdConfig } from "../tests/chaos/workerd-config.mjs";

const root = new URL("../", import.meta.url).pathname;
const packages = join(root, "target/bench/packages/node_modules");
const text = (value) => JSON.stringify(value);

const PROXY = `const proxy = (request, env) => {
  const url = new URL(request.url);
  return fetch(env.UPSTREAM + url.pathname + url.search, { method: request.method, headers: request.headers, body: request.body, redirect: "manual" });
};`;

/** The floor: a gateway in JavaScript that makes two calls to an object, each with one row, and nothing else. */
const FLOOR = `import { DurableObject } from "cloudflare:workers";
export class Shard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS records (name TEXT PRIMARY KEY, record BLOB) WITHOUT ROWID");
  }
  begin(name) {
    const [found] = this.sql.exec("SELECT record FROM records WHERE name = ?", name).toArray();
    if (found?.record) return found.record;
    if (!found) this.sql.exec("INSERT INTO records (name) VALUES (?)", name);
    return null;
  }
  complete(name, record) {
    this.sql.exec("UPDATE records SET record = ? WHERE name = ?", record, name);
  }
}
const hex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export default { async fetch(request, env) {
  const key = request.headers.get("idempotency-key");
  const body = await request.arrayBuffer();
  const name = key + hex(await crypto.subtle.digest("SHA-256", body));
  const [first] = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
  const shard = env.SHARDS.getByName("s" + first);
  const known = await shard.begin(name);
  if (known) return new Response(known, { status: 201, headers: { "content-type": "application/json", "idempotent-replayed": "true" } });
  const url = new URL(request.url);
  const response = await fetch(env.UPSTREAM + url.pathname + url.search, { method: request.method, headers: request.headers, body, redirect: "manual" });
  const bytes = await response.arrayBuffer();
  await shard.complete(name, bytes);
  return new Response(bytes, response);
} };`;

/** The floor with oncekey's tables, indexes and statements: the cost of its SQL alone. */
const FLOOR_SQL = FLOOR.replace(
  /this\.sql\.exec\("CREATE[^;]*;/,
  `for (const query of [
      "CREATE TABLE IF NOT EXISTS records (name BLOB PRIMARY KEY, record BLOB NOT NULL, due_at INTEGER, scope TEXT, of TEXT, open INTEGER)",
      "CREATE INDEX IF NOT EXISTS records_due ON records (due_at) WHERE due_at IS NOT NULL",
      "CREATE TABLE IF NOT EXISTS meta (id INTEGER PRIMARY KEY CHECK (id = 1), last_seen INTEGER NOT NULL)",
      "INSERT OR IGNORE INTO meta (id, last_seen) VALUES (1, 0)",
      "CREATE INDEX IF NOT EXISTS records_open ON records (open) WHERE open = 1",
      "CREATE TABLE IF NOT EXISTS journal (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, name BLOB NOT NULL, scope TEXT, of TEXT NOT NULL, operation TEXT NOT NULL, kind TEXT NOT NULL, attempt INTEGER NOT NULL, request_id TEXT, http_status INTEGER, cause TEXT, state TEXT, created_at INTEGER) STRICT",
      "CREATE INDEX IF NOT EXISTS journal_at ON journal (at)",
      "CREATE INDEX IF NOT EXISTS journal_name ON journal (name, at)",
      "CREATE INDEX IF NOT EXISTS journal_request ON journal (request_id) WHERE request_id IS NOT NULL",
    ]) this.sql.exec(query);`,
)
  .replace(
    /  begin\(name\) \{[^]*?\n  \}\n  complete[^]*?\n  \}\n/,
    `  read(name) {
    this.sql.exec("SELECT last_seen FROM meta").toArray();
    return this.sql.exec("SELECT record, due_at FROM records WHERE name = ?", name).toArray()[0];
  }
  put(name, record, due, open) {
    this.sql.exec("INSERT INTO records (name, record, due_at, scope, of, open) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET record = excluded.record, due_at = excluded.due_at, open = excluded.open, scope = ifnull(excluded.scope, scope), of = ifnull(excluded.of, of)", name, record, due, "s".repeat(64), "key", open);
    this.sql.exec("UPDATE meta SET last_seen = ?", Date.now());
  }
  begin(name) {
    const row = this.read(name);
    if (row?.due_at) return row.record;
    this.put(name, new Uint8Array(120).buffer, null, 1);
    return null;
  }
  complete(name, record) {
    this.read(name);
    this.sql.exec("INSERT INTO journal (at, name, scope, of, operation, kind, attempt, request_id, http_status, cause, state, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", Date.now(), new TextEncoder().encode(name).buffer, "s".repeat(64), "key", "complete", "completed", 1, crypto.randomUUID(), 201, null, "completed", Date.now());
    this.put(name, record, Date.now() + 86400000, null);
  }
`,
  );

/** The limit: a Worker that only passes requests on. */
const PASS_THROUGH = `${PROXY}\nexport default { fetch: proxy };`;

/** hono-idempotency with its Durable Object store, which runs inside an object: 256 of them. No lease, no fencing. */
const honoIdempotency = (source) => `import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";
import { idempotency } from ${text(join(source, "src/middleware.ts"))};
import { durableObjectStore } from ${text(join(source, "src/stores/durable-objects.ts"))};
export class Shard extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.app = new Hono();
    this.app.use("*", idempotency({ store: durableObjectStore({ storage: ctx.storage }), cacheKeyPrefix: (c) => c.req.header("x-api-key") }));
    this.app.all("*", async (c) => {
      const { method, headers } = c.req.raw;
      const url = new URL(c.req.url);
      return fetch(env.UPSTREAM + url.pathname + url.search, { method, headers, body: await c.req.text(), redirect: "manual" });
    });
  }
  fetch(request) { return this.app.fetch(request, this.env); }
}
export default { async fetch(request, env) {
  const key = new TextEncoder().encode(request.headers.get("idempotency-key") ?? "");
  const [first] = new Uint8Array(await crypto.subtle.digest("SHA-256", key));
  return env.SHARDS.getByName("s" + first).fetch(request);
} };`;

/** @hono-crud/idempotency with its Durable Object store: an object for each key. */
const honoCrud = (source) => `import { Hono } from "hono";
import { createIdempotencyMiddleware, DOIdempotencyStorage, IdempotencyDurableObject } from ${text(join(source, "packages/idempotency/src/index.ts"))};
${PROXY}
export { IdempotencyDurableObject };
let middleware;
const app = new Hono();
app.use("*", (c, next) => (middleware ??= createIdempotencyMiddleware({ storage: new DOIdempotencyStorage(c.env.IDEMPOTENCY) }))(c, next));
app.all("*", (c) => proxy(c.req.raw, c.env));
export default app;`;

const SHARDS = ["SHARDS", "Shard"];

/**
 * All contestants, by name: how each writes its folder, or why it does not take part. `lenient`: responses may differ
 * while a request with the key is in progress.
 */
export const CONTESTANTS = {
  oncekey: { prepare: (place) => oncekey(place, false) },
  "oncekey, with KV": { prepare: (place) => oncekey(place, true) },
  floor: { prepare: (place) => script(place, FLOOR, SHARDS) },
  "floor, our SQL": { prepare: (place) => script(place, FLOOR_SQL, SHARDS) },
  "hono-idempotency": rival("HONO_IDEMPOTENCY", "src/middleware.ts", honoIdempotency, SHARDS),
  "@hono-crud/idempotency": rival("HONO_CRUD", "packages/idempotency/src/index.ts", honoCrud, ["IDEMPOTENCY", "IdempotencyDurableObject"]),
  "pass-through": { isLimit: true, prepare: (place) => script(place, PASS_THROUGH) },
};

/** A library that is on no registry: a variable names its checkout. */
function rival(variable, file, source, object) {
  const folder = process.env[variable];
  if (!folder || !existsSync(join(folder, file))) return { missing: `name a checkout of it in ${variable}` };
  return { prepare: (place) => script(place, source(folder), object) };
}

/** The built Worker, with the config that the tests of `make chaos` use. */
function oncekey({ folder, port, upstream, build }, replica) {
  mkdirSync(join(folder, "state"), { recursive: true });
  writeFileSync(join(folder, "config.capnp"), workerdConfig({ built: build, folder, port, replica, vars: { UPSTREAM: upstream } }));
}

/** A Worker of one script, with at most one class of objects. */
async function script({ folder, port, upstream }, source, [binding, object] = []) {
  mkdirSync(join(folder, "state"), { recursive: true });
  await build({
    stdin: { contents: source, resolveDir: folder },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "worker", "import"],
    external: ["cloudflare:*", "hono-problem-details"],
    nodePaths: [packages],
    logLevel: "error",
    outfile: join(folder, "worker.mjs"),
  });
  const objects = object
    ? `durableObjectNamespaces = [(className = ${text(object)}, uniqueKey = "bench", enableSql = true)], durableObjectStorage = (localDisk = "disk"),`
    : "";
  writeFileSync(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["public", "private"])),
    (name = "disk", disk = (path = ${text(join(folder, "state"))}, writable = true)),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = ${text(compatibilityDate())},
  compatibilityFlags = ["nodejs_compat"],
  bindings = [
    (name = "UPSTREAM", text = ${text(upstream)}),
    ${object ? `(name = ${text(binding)}, durableObjectNamespace = ${text(object)}),` : ""}
  ],
  ${objects}
);
`,
  );
}
