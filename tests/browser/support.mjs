// Starts Chromium and a server for its pages and requests, and controls both.
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { chromium } from "playwright-core";
import { PageCalls } from "./calls.mjs";

export { gated, inTurn } from "../worker/fixtures/origin.mjs";
export { eventually, startWorker } from "../worker/fixtures/support.mjs";

/** The folder of the build, by default that of scripts/www-build. */
const built = process.env.ONCEKEY_WWW_BUILD ?? new URL("../../www/dist", import.meta.url).pathname;
/** The files are read once, so that a build during a run does not change it. */
const files = new Map(
  readdirSync(built)
    .filter((name) => /\.(js|wasm)$/.test(name))
    .map((name) => [`/oncekey/${name}`, readFileSync(join(built, name))]),
);
files.set("/page.mjs", readFileSync(new URL("page.mjs", import.meta.url)));
// Keeps all controls in place when a label changes.
files.set("/page.css", "input, button { display: block; width: 300px; height: 24px; margin: 0 }");

const TYPES = { css: "text/css", js: "text/javascript", mjs: "text/javascript", wasm: "application/wasm" };

/** Starts a browser; close it after use. `hosts`: names that lead to 127.0.0.1. */
export async function startBrowser({ hosts = [] } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    // Enables the cache for Back, as in a buyer's browser.
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      ...(hosts.length > 0 ? [`--host-resolver-rules=${hosts.map((host) => `MAP ${host} 127.0.0.1`).join(", ")}`] : []),
    ],
  });
  const newContext = browser.newContext.bind(browser);
  browser.newContext = async (options) => {
    const context = await newContext(options);
    // So long that a busy machine does not make a wait fail.
    context.setDefaultTimeout(180_000);
    return context;
  };
  return browser;
}

/** Returns a response in JSON. */
export const json = (status, body = {}, headers = {}) => ({
  status,
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify(body),
});
/** Returns a success that no other call gets. */
export const paid = () => json(201, { id: randomUUID() });
/** Returns an error in the format of the gateway and similar APIs. */
export const error = (status, type, headers) => json(status, { type, code: type, message: "In words." }, headers);

/** A handler that resets the connection before any response. */
export const reset = (_, response) => void response.socket.resetAndDestroy();

/** Returns a handler that sends a head and the start of a body, and then passes the socket to `end`. */
export const begun = (head, start, end) => (_, response) => {
  response.writeHead(201, { "Content-Type": "application/json", ...head });
  response.flushHeaders();
  const { socket } = response;
  if (start) response.write(start, () => end(socket));
  else socket.write("", () => end(socket));
};

/**
 * Serves the package, pages and scripted paths on one origin. Each response closes its connection, so that
 * Chromium does not send a request again by itself, unless `keepAlive` is set.
 */
export class Site {
  seen = [];
  #routes = new Map();
  #server;

  static async start({ keepAlive = false } = {}) {
    const site = new Site();
    site.#server = createServer((request, response) => {
      if (!keepAlive) response.setHeader("Connection", "close");
      site.#serve(request, response).catch(() => response.destroy());
    });
    site.#server.keepAliveTimeout = 60_000;
    await new Promise((resolve) => site.#server.listen(0, "127.0.0.1", resolve));
    site.port = site.#server.address().port;
    site.url = `http://127.0.0.1:${site.port}`;
    return site;
  }

  /** Gives a path, by default a new one, to `handler(request, response)`. A handler that returns nothing has sent its response itself. */
  route(handler = paid, path = `/r/${randomUUID()}`) {
    this.#routes.set(path, handler);
    return path;
  }

  /**
   * Returns the path of a new page. `client`: settings of its client, null for none; `guard`: options of the form guard;
   * `first`: a script that runs before the package; `from`: which of its entry points; `nonce`: that of its scripts.
   */
  page({ body = "", client = {}, guard, first, from = "index", nonce, headers = {} } = {}) {
    const settings = JSON.stringify({ client, guard, from }).replaceAll("&", "&amp;").replaceAll('"', "&quot;");
    const script = (more, path) => `<script ${more}${nonce ? ` nonce="${nonce}"` : ""} src="${path}"></script>`;
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>Shop</title>
<link rel="stylesheet" href="/page.css"><meta name="settings" content="${settings}">${first === undefined ? "" : script("", this.script(first))}
<body>${body}${script('type="module"', "/page.mjs")}</body></html>`;
    return this.route(() => ({ headers: { "Content-Type": "text/html; charset=utf-8", ...headers }, body: html }));
  }

  /** Returns the path of a new script. */
  script(text) {
    return this.route(() => ({ headers: { "Content-Type": "text/javascript" }, body: text }));
  }

  /** Returns the requests that reached a path. */
  at(path) {
    return this.seen.filter((request) => request.path === path);
  }
  hits(path) {
    return this.at(path).length;
  }
  /** Returns the keys that reached a path, each once. */
  keys(path) {
    return [...new Set(this.at(path).map(({ headers }) => headers["idempotency-key"]))];
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request, response) {
    const [path] = request.url.split("?");
    const file = files.get(path);
    if (file) {
      response.setHeader("Content-Type", TYPES[path.split(".").at(-1)]);
      response.setHeader("Cache-Control", "no-cache");
      // A frame without an origin needs CORS headers to load modules.
      response.setHeader("Access-Control-Allow-Origin", "*");
      response.end(file);
      return;
    }
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url: target, headers } = request;
    const seen = { method, path, target, headers, body: Buffer.concat(chunks) };
    this.seen.push(seen);
    const handler = this.#routes.get(path) ?? (() => ({ status: 404, body: "no such path" }));
    const reply = await handler(seen, response);
    if (!reply) return;
    response.writeHead(reply.status ?? 200, { ...reply.headers, "Content-Length": Buffer.byteLength(reply.body ?? "") });
    response.end(reply.body);
  }
}

/** Opens a page and waits for its client. `ready: false`: the client must not start. */
export async function open(context, url, { ready = true } = {}) {
  const page = await context.newPage();
  const shop = new Shop(page);
  await shop.go(url, ready);
  return shop;
}

/** Controls a page of the tests. */
export class Shop extends PageCalls {
  /** The uncaught errors of the page. */
  errors = [];
  #places;

  constructor(page) {
    super();
    this.page = page;
    page.on("pageerror", (error) => this.errors.push(String(error)));
  }

  async go(url, ready = true) {
    await this.page.goto(url);
    if (ready) await this.ready();
    this.#places = await this.places();
  }
  async reload() {
    await this.page.reload();
    await this.ready();
  }
  evaluate(run, value) {
    return this.page.evaluate(run, value);
  }
  until(run, value) {
    return this.page.waitForFunction(run, value);
  }

  /** Clicks at the place that an element had when the page was opened. */
  click(selector, times = 1) {
    return this.page.mouse.click(...this.#places[selector], { clickCount: times });
  }
  /** Presses a key and holds it for this many repeats. */
  async hold(key, times = 6) {
    for (let time = 0; time < times; time++) await this.page.keyboard.down(key);
    await this.page.keyboard.up(key);
  }
}
