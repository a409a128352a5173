// Writes a wrangler.toml that deploys the gateway. It never changes a file that exists.
import { existsSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";

const CONFIGS = ["wrangler.toml", "wrangler.json", "wrangler.jsonc"];

/** Writes the file into a folder. Returns what to do next. `compatibilityDate`: that of the build. */
export function init(folder, { compatibilityDate }) {
  const existing = CONFIGS.find((name) => existsSync(join(folder, name)));
  if (existing) {
    throw new Error(`${existing} exists and was not changed; run this command in an empty folder, and copy from the file that it writes`);
  }
  writeFileSync(join(folder, "wrangler.toml"), template(packageFolder(folder), compatibilityDate), { flag: "wx" });
  return `wrote wrangler.toml. Set UPSTREAM in it to the URL of your API, then run:
  npm install oncekey-worker wrangler
  npx wrangler deploy --env="" --dry-run     # shows what would be uploaded and bound; needs no account
  npx wrangler login
  npx wrangler deploy --env=""`;
}

/** Where the package is, seen from a project: workspaces may install it further up. */
function packageFolder(folder) {
  try {
    const found = createRequire(join(folder, "x")).resolve("oncekey-worker/package.json");
    return relative(folder, dirname(found)).replaceAll("\\", "/");
  } catch {
    return "node_modules/oncekey-worker";
  }
}

const bindings = (prefix) => `[[${prefix}durable_objects.bindings]]
name = "SHARDS"
class_name = "Shard"
`;

const replica = (prefix) => `[[${prefix}kv_namespaces]]
binding = "REPLICA"
`;

const template = (path, compatibilityDate) => `# How wrangler runs and deploys oncekey. The package's README describes it.
#
# The stored keys belong to the name of the Worker and to the name of the class "Shard". Never change either of them
# after the first deployment: the Worker would begin without its keys, and execute repeated requests again.
name = "oncekey"
main = "${path}/dist/entry.mjs"
compatibility_date = "${compatibilityDate}"
minify = true
keep_names = false

# Settings. Secrets do not belong here: npx wrangler secret put ADMIN_TOKEN
[vars]
# The URL of your API. Until it is set, every request returns 500.
UPSTREAM = ""
# Writes that must carry a key:
# KEY_REQUIRED = "POST:/v1/*"
# Web pages that may call your API:
# CORS_ORIGINS = "https://shop.example"

# The records: one Durable Object for each of 256 shards.
${bindings("")}
# "Merchant" belongs to the sandbox and stays empty. With both classes, builds with and without it can replace each other.
[[migrations]]
tag = "v1"
new_sqlite_classes = ["Shard", "Merchant"]

# Copies of responses, for the time in which an object is down. The first deployment creates the namespace; then add
# its id here, which wrangler prints, so that every machine deploys the same namespace.
${replica("")}
# The console for operators, the page of errors and the demo.
[assets]
directory = "${path}/dist/pages"
binding = "ASSETS"
run_worker_first = true
html_handling = "none"
not_found_handling = "none"

[observability]
enabled = true

# No log line for each request: the platform's lines contain the request's headers, and so the credential.
[observability.logs]
enabled = true
invocation_logs = false

# A second Worker with its own keys: npx wrangler deploy --env staging
# wrangler does not inherit vars and bindings from above.
[env.staging]
name = "oncekey-staging"

[env.staging.vars]
UPSTREAM = ""

${bindings("env.staging.")}
${replica("env.staging.")}`;
