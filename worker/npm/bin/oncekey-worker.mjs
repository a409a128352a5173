#!/usr/bin/env node
// The command of the package: serves the Worker on this machine, or writes the files with which wrangler deploys it.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { init } from "../lib/init.mjs";
import { serve } from "../lib/server.mjs";
import { readEnvironment, readPairs } from "../lib/settings.mjs";
import { IN_USE, findWorkerd, workerdCommand } from "../lib/workerd.mjs";

const USAGE = `oncekey-worker [OPTIONS] [NAME=value …]         serves the gateway with its sandbox, to try it
oncekey-worker serve [OPTIONS] [NAME=value …]   serves the gateway in front of your API, whose URL is UPSTREAM
oncekey-worker init                             writes a wrangler.toml, to deploy the gateway to Cloudflare

NAME=value is a setting. Settings are also read from the environment; secrets belong there.

--port PORT        where to listen (8787)
--host ADDRESS     the address to listen on (127.0.0.1)
--state FOLDER     the folder of the stored keys (oncekey-state; without serve: oncekey-sandbox)`;

const inPackage = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const read = (path) => JSON.parse(readFileSync(inPackage(path), "utf8"));

/** Serves the Worker on workerd. `isSandbox`: the build with the sandbox, which is then open. */
function run({ port, host, state }, pairs, isSandbox) {
  if (!/^[0-9]{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535) {
    throw new Error(`--port ${port} is not a port number; choose one from 1 to 65535, such as --port 8787`);
  }
  const { compatibilityDate, settings: names } = read("dist/build.json");
  const given = readPairs(pairs, names, "the arguments");
  const environment = readEnvironment(process.env, names);
  for (const warning of environment.warnings) console.error(`oncekey: ${warning}`);
  // In local development, webhooks may also go to this machine.
  const open = isSandbox ? { SANDBOX: "open", WEBHOOK_TARGETS: "local" } : {};
  const folder = resolve(state ?? (isSandbox ? "oncekey-sandbox" : "oncekey-state"));
  const command = workerdCommand({
    program: findWorkerd(),
    built: inPackage(isSandbox ? "dist/sandbox" : "dist"),
    pages: inPackage("dist/pages"),
    settings: { ...open, ...environment.settings, ...given },
    ...{ state: folder, host, port, compatibilityDate },
  });
  console.log(`-- workerd, state in ${folder}`);
  // A write that is running may take ORIGIN_TIMEOUT_SECONDS, which is at most 29.
  const meanings = { [IN_USE]: `another server uses ${folder}; end it, or choose another folder with --state` };
  return serve({ name: "workerd", command, host, port: Number(port), portOption: "--port", grace: 30_000, meanings });
}

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      port: { type: "string", default: "8787" },
      host: { type: "string", default: "127.0.0.1" },
      state: { type: "string" },
      help: { type: "boolean", short: "h" },
      version: { type: "boolean" },
    },
  });
  const [command] = positionals;
  if (values.help) console.log(USAGE);
  else if (values.version) console.log(read("package.json").version);
  else if (command === "init" && positionals.length === 1) console.log(init(process.cwd(), read("dist/build.json")));
  else if (command === "serve") await run(values, positionals.slice(1), false);
  else if (!command || command.includes("=")) await run(values, positionals, true);
  else throw new Error(`${command} is not a command; write serve, init or nothing, as --help explains`);
} catch (error) {
  console.error(`oncekey: ${error.message}`);
  process.exitCode = 1;
}
