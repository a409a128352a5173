// The npm package of the Worker, as `npm pack` makes it and npm installs it: its commands, on a real workerd and with the
// real wrangler.
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { settingNames } from "../../scripts/worker-facts.mjs";
import { freePort } from "../chaos/port.mjs";
import { makeCertificates } from "../worker/fixtures/certificates.mjs";
import { Origin } from "../worker/fixtures/origin.mjs";
import { pack, root } from "./support.mjs";

/** A project outside of the checkout, so that nothing in the checkout's node_modules is found. */
let project;
let tarball;
before(async () => {
  ({ tarball } = await pack("worker-package", "worker/npm"));
  project = makeProject();
});
after(() => rmSync(project, { recursive: true, force: true }));

function makeProject() {
  const folder = mkdtempSync(join(tmpdir(), "oncekey-package-"));
  writeFileSync(join(folder, "package.json"), '{"private":true,"type":"module"}');
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: folder, stdio: "pipe" });
  return folder;
}
const link = (folder, name) => symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
const bin = (folder) => join(folder, "node_modules/.bin/oncekey-worker");

/** Runs a command to its end. */
async function run(folder, program, values, env = {}) {
  const options = { cwd: folder, env: { ...process.env, ...env } };
  return promisify(execFile)(program, values, options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}
const wrangler = (folder, ...values) =>
  run(folder, process.execPath, [join(folder, "node_modules/wrangler/bin/wrangler.js"), ...values], {
    ...{ CI: "true", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_LOG_PATH: join(folder, "logs") },
  });

/** The server of a command, as a process group that can be killed. */
class Server {
  output = "";
  static async start(folder, values, env = {}) {
    const server = new Server();
    server.port = await freePort();
    server.url = `http://127.0.0.1:${server.port}`;
    const all = [...values, "--port", String(server.port)];
    server.process = spawn(bin(folder), all, { cwd: folder, detached: true, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
    server.ended = new Promise((resolve) => server.process.once("exit", (code) => resolve(code)));
    const ready = new Promise((resolve) => {
      for (const stream of [server.process.stdout, server.process.stderr]) {
        stream.setEncoding("utf8").on("data", (text) => {
          server.output += text;
          if (server.output.includes("-- ready")) resolve();
        });
      }
    });
    await Promise.race([ready, server.ended]);
    return server;
  }
  async post(path, key, body = { out_trade_no: `NO_${key}`, amount: 100, currency: "USD", subject: "x" }, more = {}) {
    const headers = { "X-Api-Key": "kuko_test_package", "Idempotency-Key": key, "Content-Type": "application/json", ...more };
    const response = await fetch(this.url + path, { method: "POST", headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text(), replayed: response.headers.get("Idempotent-Replayed") === "true" };
  }
  async get(path) {
    const response = await fetch(this.url + path, { headers: { "X-Api-Key": "kuko_test_package" } });
    return { status: response.status, type: response.headers.get("Content-Type"), text: await response.text() };
  }
  /** Ends the command as a terminal or systemd does. Returns its exit code. */
  stop() {
    this.process.kill("SIGTERM");
    return this.ended;
  }
  /** Kills the command and workerd, as a loss of power does. */
  kill() {
    process.kill(-this.process.pid, "SIGKILL");
    return this.ended;
  }
}

describe("the package", () => {
  test("contains the licence, the description and everything that its entry points name", () => {
    const inside = join(project, "node_modules/oncekey-worker");
    const { exports, bin, files } = JSON.parse(readFileSync(join(inside, "package.json"), "utf8"));
    const named = [...Object.values(exports), ...Object.values(bin)].flatMap((one) => (typeof one === "string" ? [one] : Object.values(one)));
    for (const file of [...named, ...files]) assert.ok(existsSync(join(inside, file)), file);
    for (const build of ["dist", "dist/sandbox"]) {
      const entry = readFileSync(join(inside, build, "entry.mjs"), "utf8");
      for (const [, file] of entry.matchAll(/from "(\.[^"]+)"/g)) assert.ok(existsSync(join(inside, build, file)), `${build}/${file}`);
    }
  });

  test("declares the names of all settings", () => {
    const types = readFileSync(join(project, "node_modules/oncekey-worker/index.d.ts"), "utf8");
    const [, body] = types.match(/interface Settings \{(.*?)\n\}/s);
    assert.deepEqual([...body.matchAll(/^ {2}([A-Z_]+)\?:/gm)].map(([, name]) => name), settingNames());
  });

  test("has types that the compiler accepts", async () => {
    writeFileSync(
      join(project, "index.ts"),
      `import Gateway, { Shard, type Env } from "oncekey-worker";
      import Demo, { Merchant } from "oncekey-worker/sandbox";
      export { Gateway, Demo, Shard, Merchant };
      export const env: Env = { SHARDS: {}, UPSTREAM: "https://api.example.com", UNKNOWN_OUTCOME: "hold" };
      // @ts-expect-error
      export const wrong: Env = { SHARDS: {}, UNKNOWN_OUTCOME: "holds" };`,
    );
    const flags = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,webworker"];
    const { code, stdout } = await run(project, join(root, "node_modules/.bin/tsc"), [...flags, "index.ts"]);
    assert.equal(code, 0, stdout);
  });
});

describe("without workerd", () => {
  test("a server command says in one sentence what to install", async () => {
    for (const values of [[], ["serve", "UPSTREAM=http://127.0.0.1:1"]]) {
      const { code, stderr } = await run(project, bin(project), values);
      assert.deepEqual([code, stderr], [1, "oncekey: this command runs on workerd, which is not installed here; install it with: npm install workerd\n"]);
    }
  });

  test("a wrong argument is refused with what to write", async () => {
    for (const [values, message] of [
      [["deploy"], /^oncekey: deploy is not a command; write serve, init or nothing/],
      [["--port", "x"], /^oncekey: --port x is not a port number; choose one from 1 to 65535/],
      [["serve", "UPSTRAEM=s3cr3t"], /^oncekey: the arguments: UPSTRAEM is not the name of a setting; did you mean UPSTREAM\?/],
      [["serve", "DIALECT=ietf", "DIALECT=s3cr3t"], /^oncekey: the arguments: DIALECT is set twice; set it once/],
    ]) {
      const { code, stderr } = await run(project, bin(project), values);
      assert.equal(code, 1);
      assert.match(stderr, message);
      assert.doesNotMatch(stderr, /s3cr3t/);
    }
  });
});

describe("oncekey-worker", () => {
  let folder;
  // workerd is found as a part of wrangler too.
  before(() => link((folder = makeProject()), "wrangler"));
  after(() => rmSync(folder, { recursive: true, force: true }));

  test("serves the sandbox, which executes a repeated order once, and the demo page", async () => {
    const server = await Server.start(folder, []);
    try {
      const key = randomUUID();
      const first = await server.post("/v1/orders", key);
      assert.equal(first.status, 201, first.text + server.output);
      assert.deepEqual(await server.post("/v1/orders", key), { ...first, replayed: true });
      assert.equal(JSON.parse((await server.get(`/v1/sandbox/executions/${key}`)).text).data.count, 1);
      const page = await server.get("/");
      assert.deepEqual([page.status, page.type], [200, "text/html; charset=utf-8"]);
      assert.equal((await server.get("/_oncekey/demo/console")).status, 404);
    } finally {
      assert.equal(await server.stop(), 0);
    }
  });

  test("prints which setting is wrong, and ends", async () => {
    const server = await Server.start(folder, ["LEASE_SECONDS=x"]);
    assert.equal(await server.ended, 1);
    assert.match(server.output, /^oncekey: .*LEASE_SECONDS: must be a whole number from 1 to 3600$/m);
  });
});

describe("oncekey-worker serve", () => {
  let folder, origin;
  before(async () => {
    link((folder = makeProject()), "workerd");
    origin = await Origin.start();
  });
  after(async () => {
    await origin.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("needs an origin", async () => {
    const server = await Server.start(folder, ["serve"]);
    assert.equal(await server.ended, 1);
    assert.match(server.output, /^oncekey: .*UPSTREAM: is missing, and this Worker was built without the sandbox/m);
  });

  test("replays a response after it was killed, and shows no secret in its files and its output", async () => {
    const env = { UPSTREAM: origin.url, ADMIN_TOKEN: "s3cr3t" };
    const [path, key] = [origin.route(), randomUUID()];
    let server = await Server.start(folder, ["serve", "--state", "keys"], env);
    const first = await server.post(path, key);
    assert.equal(first.status, 201, first.text + server.output);
    await server.kill();

    server = await Server.start(folder, ["serve", "--state", "keys"], env);
    try {
      assert.deepEqual(await server.post(path, key), { ...first, replayed: true });
      assert.equal(origin.hits(path), 1);
      const console = await server.get("/_oncekey/console");
      assert.deepEqual([console.status, console.type], [200, "text/html; charset=utf-8"]);
      assert.doesNotMatch(readFileSync(join(folder, "keys/workerd.capnp"), "utf8") + server.output, /s3cr3t/);

      const other = await Server.start(folder, ["serve", "--state", "keys"], env);
      assert.equal(await other.ended, 1);
      assert.match(other.output, /^oncekey: another server uses .*keys; end it, or choose another folder with --state$/m);
    } finally {
      assert.equal(await server.stop(), 0);
    }
  });

  for (const [file, pattern] of [
    ["Dockerfile", /^ENTRYPOINT (\[.*\])$/m],
    ["oncekey.service", /^ExecStart=\/usr\/bin\/env (.*)$/m],
  ]) {
    test(`accepts the command in self-hosting/${file}`, async () => {
      const [, text] = readFileSync(join(folder, "node_modules/oncekey-worker/self-hosting", file), "utf8").match(pattern);
      const [name, ...values] = text.startsWith("[") ? JSON.parse(text) : text.split(" ");
      assert.equal(name, "oncekey-worker");
      const server = await Server.start(folder, values.map((one) => one.replace("/var/lib/oncekey", file)), { UPSTREAM: origin.url });
      try {
        assert.equal((await server.get("/_oncekey/health")).status, 200, server.output);
      } finally {
        await server.stop();
      }
    });
  }

  test("trusts the certificates in SSL_CERT_FILE, and tells the origin the protocol of the proxy in front", async () => {
    const { ca, ...identity } = makeCertificates(folder);
    const secure = createServer(identity, ({ headers }, response) => response.writeHead(201).end(headers["x-forwarded-proto"]));
    await new Promise((resolve) => secure.listen(0, "127.0.0.1", resolve));
    const env = { UPSTREAM: `https://localhost:${secure.address().port}`, SSL_CERT_FILE: ca };
    const server = await Server.start(folder, ["serve"], env);
    try {
      const first = await server.post("/secure", randomUUID(), {}, { "X-Forwarded-Proto": "https" });
      assert.deepEqual([first.status, first.text], [201, "https"], server.output);
    } finally {
      await server.stop();
      await new Promise((resolve) => secure.close(resolve));
    }
  });

  test("warns about an environment variable that is almost a setting", async () => {
    const server = await Server.start(folder, ["serve"], { UPSTREAM: origin.url, KEY_REQIRED: "POST:/v1/*" });
    assert.equal(await server.stop(), 0);
    assert.match(server.output, /^oncekey: the environment variable KEY_REQIRED is not the name of a setting and does nothing; did you mean KEY_REQUIRED\?$/m);
  });
});

describe("oncekey-worker init", () => {
  let folder;
  before(() => link((folder = makeProject()), "wrangler"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  /** Returns the bindings that a dry run of a deployment shows. */
  const deploy = async (environment) => {
    const { code, stdout, stderr } = await wrangler(folder, "deploy", "--env", environment, "--dry-run");
    assert.equal(code, 0, stdout + stderr);
    return [...stdout.matchAll(/^env\.(\w+)/gm)].map(([, name]) => name);
  };

  test("writes a configuration with which wrangler deploys the Worker and its bindings", async () => {
    const { code, stdout } = await run(folder, bin(folder), ["init"]);
    assert.equal(code, 0);
    assert.match(stdout, /^wrote wrangler.toml\. Set UPSTREAM/);
    for (const environment of ["", "staging"]) {
      assert.deepEqual(await deploy(environment), ["SHARDS", "REPLICA", "ASSETS", "UPSTREAM"], environment);
    }
  });

  test("never changes a file that exists", async () => {
    const before = readFileSync(join(folder, "wrangler.toml"));
    const { code, stderr } = await run(folder, bin(folder), ["init"]);
    assert.equal(code, 1);
    assert.match(stderr, /^oncekey: wrangler.toml exists and was not changed; /);
    assert.deepEqual(readFileSync(join(folder, "wrangler.toml")), before);

    const other = join(folder, "other");
    mkdirSync(other);
    writeFileSync(join(other, "wrangler.jsonc"), "{}");
    assert.equal((await run(other, bin(folder), ["init"])).code, 1);
    assert.equal(existsSync(join(other, "wrangler.toml")), false);
  });

  test("a module that exports the package's names is a main module too", async () => {
    const [, program] = readFileSync(join(root, "worker/npm/README.md"), "utf8").match(/^```js\n\/\/ index\.mjs\n(.*?)```$/ms);
    writeFileSync(join(folder, "index.mjs"), program);
    const config = join(folder, "wrangler.toml");
    writeFileSync(config, readFileSync(config, "utf8").replace(/^main = .*$/m, 'main = "index.mjs"'));
    assert.deepEqual(await deploy(""), ["SHARDS", "REPLICA", "ASSETS", "UPSTREAM"]);
  });
});
