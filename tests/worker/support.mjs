// Starts the built Worker on workerd, for tests. What it is bound to is read from worker/wrangler.toml, so that
// tests run what `wrangler dev` and `wrangler deploy` run.
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { getTestContext } from "node:test";
import { Miniflare, convertV4MiniflareOptions } from "miniflare";
import { exchange } from "./client.mjs";
import { apiKey, recordName } from "./names.mjs";
import { Origin } from "./origin.mjs";

export { Answer, head, sendRaw, startRaw } from "./client.mjs";
export { apiKey, recordName, scopeName } from "./names.mjs";
export { created, cut, gated, inTurn, Origin } from "./origin.mjs";

const worker = new URL("../../worker/", import.meta.url).pathname;
/** What scripts/worker-build made; another build can be tested by naming its folder. */
const tested = process.env.ONCEKEY_WORKER_BUILD ?? join(worker, "build");

/**
 * What worker/wrangler.toml binds the Worker to, in the environment that `prefix` names. wrangler has a reader, but takes two seconds to load, for each
 * file of tests; this one knows as much of TOML as that file uses.
 */
function readConfig(prefix) {
  const [top, ...tables] = readFileSync(join(worker, "wrangler.toml"), "utf8").split(/^(?=\[)/m);
  const field = (table, name) => {
    const found = table.match(new RegExp(`^${name} = "?(.*?)"?$`, "m"));
    if (!found) throw new Error(`worker/wrangler.toml: no ${name} in ${table}`);
    return found[1];
  };
  const named = (name) => tables.filter((table) => table.startsWith(`[[${prefix}${name}]]`));
  const [assets] = tables.filter((table) => table.startsWith("[assets]"));
  const pages = join(worker, field(assets, "directory"));
  return {
    compatibilityDate: field(top, "compatibility_date"),
    durableObjects: Object.fromEntries(
      named("durable_objects.bindings").map((table) => [
        field(table, "name"),
        { className: field(table, "class_name"), useSQLite: true },
      ]),
    ),
    kvNamespaces: named("kv_namespaces").map((table) => field(table, "binding")),
    // What does not look at pages runs without them.
    ...(existsSync(pages) && {
      assets: {
        directory: pages,
        binding: field(assets, "binding"),
        run_worker_first: field(assets, "run_worker_first") === "true",
        routerConfig: { has_user_worker: true },
        assetConfig: {
          html_handling: field(assets, "html_handling"),
          not_found_handling: field(assets, "not_found_handling"),
        },
      },
    }),
  };
}

/**
 * `vars`: settings; `upstream`: the origin's URL, absent for the sandbox; `state`: a folder that outlives the
 * Worker; `wrapper`: a module of this folder that stands around the built entry, and `copies` of that entry as
 * ./entry-0.mjs and so on, each with an isolate's own memory; `environment`: one of worker/wrangler.toml, with the
 * build that scripts/worker-build makes for it; `build`: the folder of the build, if it is not the one under test;
 * `more`: further options for Miniflare. Dispose of what it returns.
 */
export async function startWorker(options = {}) {
  const { vars = {}, upstream, state, wrapper, copies = 0, environment, more = {} } = options;
  const { build: built = environment ? join(worker, `build-${environment}`) : tested } = options;
  const source = (path, from = path) => ({ type: "ESModule", path, contents: readFileSync(from, "utf8") });
  const logs = [];
  const runtime = new Miniflare(
    convertV4MiniflareOptions({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      modulesRoot: built,
      modules: [
        ...(wrapper ? [source(join(built, wrapper), new URL(wrapper, import.meta.url))] : []),
        ...Array.from({ length: copies }, (_, at) => source(join(built, `entry-${at}.mjs`), join(built, "entry.mjs"))),
        source(join(built, "entry.mjs")),
        source(join(built, "glue.mjs")),
        {
          type: "CompiledWasm",
          path: join(built, "oncekey.wasm"),
          contents: readFileSync(join(built, "oncekey.wasm")),
        },
      ],
      ...readConfig(environment ? `env.${environment}.` : ""),
      bindings: { ...vars, ...(upstream && { UPSTREAM: upstream }) },
      resourcePersistencePath: state,
      handleStructuredLogs({ level, message }) {
        logs.push({ level, message });
        if (process.env.VERBOSE) console.log(`${level}: ${message}`);
      },
      ...more,
    }),
  );
  const url = (await runtime.ready).href.replace(/\/$/, "");
  return {
    url,
    runtime,
    /** What the Worker logged so far; shown at once when VERBOSE is set. */
    logs,
    fetch: (path, init) => fetch(url + path, init),
    dispose: () => runtime.dispose(),
  };
}

/**
 * A Worker with a scripted origin behind it. `faults`: with faults that tests can ask for (see faulty.mjs).
 * Dispose of what it returns.
 */
export async function startGateway({ faults = false, ...options } = {}) {
  const origin = await Origin.start();
  try {
    const wrapper = faults ? "faulty.mjs" : undefined;
    return new Gateway(await startWorker({ upstream: origin.url, wrapper, ...options }), origin);
  } catch (error) {
    await origin.close();
    throw error;
  }
}

export const newKey = () => randomUUID();

/** Short ways to call a gateway, to script its origin, and to ask for faults. */
export class Gateway {
  /** The test that has set the clock. */
  #owner;

  constructor(worker, origin) {
    this.worker = worker;
    this.origin = origin;
    this.url = worker.url;
  }

  /** `as`: the X-Api-Key, or null for none; `headers`: pairs. */
  call(method, path, { body, key, headers = [], as = apiKey, ...more } = {}) {
    this.#admit();
    const all = [...headers];
    if (as !== null) all.push(["X-Api-Key", as]);
    if (key !== undefined) all.push(["Idempotency-Key", key]);
    return exchange(this.url, { method, path, headers: all, body, ...more });
  }
  post(path, key, body = { a: 1 }, more = {}) {
    return this.call("POST", path, { key, body, ...more });
  }
  get(path, more) {
    return this.call("GET", path, more);
  }
  /** What the key call says of a key: its fields, or undefined for a key without record. */
  async status(key, more) {
    const answer = await this.get("/_oncekey/key", { key, ...more });
    return answer.status === 404 ? undefined : answer.json;
  }

  route(handler) {
    return this.origin.route(handler);
  }
  hits(path) {
    return this.origin.hits(path);
  }

  /** A shard's time never goes back: what one test has set ahead would be the present of another. */
  #admit() {
    if (this.#owner && this.#owner !== getTestContext())
      throw new Error(`the clock of this Worker is that of "${this.#owner.name}": give that test a Worker of its own`);
  }
  async #control(what, asked = {}) {
    this.#admit();
    const answer = await exchange(this.url, { method: "POST", path: `/__test/${what}`, body: asked });
    if (answer.status !== 200) throw new Error(`/__test/${what}: ${answer.text}`);
    return answer.json;
  }
  /** From now on these faults of calls about a key (null: about any key), and no others: {op, fault, ms?, times?}. */
  faults(key, ...rules) {
    return this.#control("rules", { name: key === null ? "any" : recordName(key), rules });
  }
  /** The calls that were made to shards about a key, in order. */
  calls(key, as) {
    return this.#control("calls", { name: recordName(key, as) });
  }
  /** The calls that were made to shards about any key. */
  allCalls() {
    return this.#control("calls");
  }
  /** Sets the isolate's clock this many milliseconds ahead. The Worker answers no other test from then on. */
  clock(offset) {
    this.#owner = getTestContext();
    return this.#control("clock", { offset });
  }
  /** How Workers KV behaves: honest, empty, down or hang. Gives what was written to it. */
  replica(mode) {
    return this.#control("replica", { mode });
  }
  /** What was written to Analytics Engine. */
  points() {
    return this.#control("points");
  }
  /** The copy of a key in Workers KV, in hex; `change` is {bytes} or {remove: true}. */
  copy(key, change = {}) {
    return this.#control("copy", { name: recordName(key), ...change });
  }
  /** Asks the object of a key: {do: "sql", query, values}, {do: "alarm"}, {do: "alarm-at"}. */
  shard(key, asked) {
    return this.#control("shard", { name: recordName(key), ...asked });
  }
  sql(key, query, ...values) {
    return this.shard(key, { do: "sql", query, values });
  }
  /** The object of a key goes, as the platform may let it go at any time. */
  async evict(key) {
    await this.shard(key, { do: "abort" }).catch(() => {});
  }

  async dispose() {
    await this.worker.dispose();
    await this.origin.close();
  }
}

/** Waits until `check` stops throwing: for so long that only a fault, and no busy machine, makes it fail. */
export async function eventually(check) {
  const end = Date.now() + 180_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
