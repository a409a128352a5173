// Packs the package with npm, unpacks it for the consumers of the tests, and serves their pages and requests.
import { execFile } from "node:child_process";
import { createReadStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const execute = promisify(execFile);
export const root = new URL("../../", import.meta.url).pathname;
const folder = join(root, "target/packaging");

/** Packs a package: `source` is its folder. Returns the tarball's path and the files in it. */
export async function pack(name, source = "www") {
  const into = join(folder, name);
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  const { stdout } = await execute("npm", ["pack", "--json", "--pack-destination", into], { cwd: join(root, source) });
  const [{ filename, files }] = JSON.parse(stdout);
  return { tarball: join(into, filename), files: files.map(({ path }) => path) };
}

/** A folder with the unpacked package of `source`, by default www, in its node_modules. Other modules are found in those of this checkout. */
export class Consumer {
  static async make(name, source) {
    const { tarball } = await pack(name, source);
    const consumer = new Consumer(join(folder, name));
    consumer.package = consumer.at("node_modules/oncekey");
    mkdirSync(consumer.package, { recursive: true });
    await execute("tar", ["-xzf", tarball, "-C", consumer.package, "--strip-components=1"]);
    consumer.write("package.json", { private: true, type: "module" });
    return consumer;
  }

  constructor(path) {
    this.path = path;
  }
  at(name) {
    return join(this.path, name);
  }
  /** Writes a file: text, or a value as JSON. Returns its path. */
  write(name, content) {
    mkdirSync(dirname(this.at(name)), { recursive: true });
    writeFileSync(this.at(name), typeof content === "string" ? content : JSON.stringify(content));
    return this.at(name);
  }
  /** Writes a program, runs it in Node, and returns its output, read as JSON. */
  async run(name, content, flags = []) {
    const file = this.write(name, content);
    const { stdout } = await execute(process.execPath, [...flags, file], { cwd: this.path, timeout: 20_000 }).catch(({ stderr }) => {
      // Lines of the package are long, so they are cut.
      throw new Error(`${name} failed: ${stderr.replace(/^(.{200}).*/gm, "$1 …")}`);
    });
    return JSON.parse(stdout);
  }
}

export const startBrowser = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"],
  });

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };
const STRICT = "default-src 'none'; script-src 'self'; connect-src 'self'";

/**
 * Serves a folder and accepts orders: each POST gets a 201 and is added to `orders`. After `hold()`, a POST to /held
 * waits for `let()`. Under /strict/ the same pages have a CSP that forbids wasm.
 */
export class Shop {
  orders = [];
  #held;
  /** Makes posts to /held wait for `let()`. */
  hold() {
    this.#held = new Promise((resolve) => (this.let = resolve));
  }

  static async open(path = "/nothing") {
    const shop = new Shop();
    shop.server = createServer((request, response) => shop.#serve(path, request, response));
    await new Promise((resolve) => shop.server.listen(0, "127.0.0.1", resolve));
    shop.url = `http://127.0.0.1:${shop.server.address().port}`;
    return shop;
  }

  async #serve(path, request, response) {
    let [name] = request.url.slice(1).split("?");
    if (request.method === "POST") {
      let body = "";
      for await (const chunk of request) body += chunk;
      this.orders.push({ key: request.headers["idempotency-key"], body });
      if (name === "held") await this.#held;
      const isHtml = request.headers.accept === "text/html";
      response.writeHead(201, { "Content-Type": isHtml ? "text/html" : "application/json", "Idempotency-State": "completed" });
      response.end(isHtml ? "<p>Thank you</p>" : '{"id":"order"}');
      return;
    }
    if (name.startsWith("strict/")) {
      response.setHeader("Content-Security-Policy", STRICT);
      name = name.slice("strict/".length);
    }
    response.setHeader("Content-Type", TYPES[name.split(".").at(-1)] ?? "text/plain");
    createReadStream(join(path, name))
      .on("error", () => response.writeHead(404).end())
      .pipe(response);
  }

  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Opens a page and returns what its script reports as `window.report`. Throws the errors of the page. */
export async function reported(browser, url) {
  const page = await browser.newPage();
  try {
    const failed = new Promise((_, reject) => page.on("pageerror", reject));
    await page.goto(url);
    const report = page.waitForFunction(() => window.report, undefined, { timeout: 180_000 });
    return await (await Promise.race([report, failed])).jsonValue();
  } finally {
    await page.close();
  }
}

/** Returns a page with one script. */
export const html = (script) => `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Shop</title>${script}`;

/** The rest of a script that has imported `createClient`: buys something, and reports the result. */
export const BUY = `
const client = createClient();
let fallback = null;
client.addEventListener("wasm-fallback", ({ detail }) => (fallback = detail.reason));
const buy = async () => {
  const response = await client.fetch("order:1", new URL("/orders", location.href), { body: "{}" });
  const { state, key } = client.intent("order:1").status();
  return { status: response.status, body: await response.json(), state, key, fallback };
};
buy().then((report) => (window.report = report), (error) => (window.report = { error: String(error) }));
`;
