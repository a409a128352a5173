// WebKitGTK's MiniBrowser, by WebKitWebDriver over HTTP, in a virtual display.
import { spawn } from "node:child_process";
import { globSync } from "node:fs";
import { freePort } from "../../chaos/port.mjs";

const { WEBKIT_DRIVER = "/usr/bin/WebKitWebDriver" } = process.env;

export const engine = {
  name: "WebKit",
  commands: [WEBKIT_DRIVER, "/usr/bin/xvfb-run"],
  install: "apt-get install webkit2gtk-driver xvfb xauth",
};

/** A new session now and then hangs. After this time it is given up, and another one is tried. */
const PATIENCE = 15_000;
const TRIES = 6;
/** Key codes of WebDriver. */
const KEYS = { Enter: "\uE006", Space: " ", Tab: "\uE004" };

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A process of WebKitWebDriver with one session. */
class Session {
  static async start() {
    for (let left = TRIES; ; left--) {
      const session = new Session();
      try {
        await session.#start();
        return session;
      } catch (error) {
        session.#kill();
        if (left === 1) throw error;
      }
    }
  }

  async #start() {
    const port = await freePort();
    this.url = `http://127.0.0.1:${port}`;
    // The display is a process of its own group, so that all of them end together.
    this.process = spawn("xvfb-run", ["-a", WEBKIT_DRIVER, `--port=${port}`], {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, WEBKIT_DISABLE_DMABUF_RENDERER: "1", WEBKIT_DISABLE_COMPOSITING_MODE: "1" },
    });
    const deadline = Date.now() + PATIENCE;
    while (!(await fetch(`${this.url}/status`).then(({ ok }) => ok, () => false))) {
      if (Date.now() > deadline) throw new Error("WebKitWebDriver does not start");
      await wait(50);
    }
    const [binary] = globSync("/usr/lib/*/webkit2gtk-4.*/MiniBrowser");
    const options = { ...(binary && { binary }), args: ["--automation"] };
    const capabilities = { alwaysMatch: { pageLoadStrategy: "none", "webkitgtk:browserOptions": options } };
    const { sessionId, capabilities: found } = await this.call("POST", "/session", { capabilities }, PATIENCE);
    this.path = `/session/${sessionId}`;
    this.version = found.browserVersion;
    await this.call("POST", `${this.path}/timeouts`, { script: 180_000 }, PATIENCE);
  }

  async call(method, path, body, patience = 180_000) {
    const response = await fetch(this.url + path, {
      method,
      ...(method === "POST" && { body: JSON.stringify(body ?? {}), headers: { "Content-Type": "application/json" } }),
      signal: AbortSignal.timeout(patience),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  }

  #kill() {
    try {
      process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
  async close() {
    await this.call("DELETE", this.path, undefined, PATIENCE).catch(() => {});
    this.#kill();
  }
}

/** Runs a function in a page, also an asynchronous one, and passes its result or its error to WebDriver. */
const script = (run) => `const done = arguments[arguments.length - 1];
new Promise((resolve) => resolve((${run})(...arguments[0]))).then((value) => done({ value }), (error) => done({ error: String(error) }));`;

export async function start() {
  const session = await Session.start();
  const call = (method, path, body) => session.call(method, session.path + path, body);
  const [first] = await call("GET", "/window/handles");
  /** WebDriver's calls go to the window that was chosen last. Calls for several tabs must not mix. */
  let turn = Promise.resolve();
  let current;
  const inWindow = (handle, run) => {
    const result = turn.then(async () => {
      if (current !== handle) await call("POST", "/window", { handle });
      current = handle;
      return run();
    });
    turn = result.catch(() => (current = undefined));
    return result;
  };
  const keys = (...actions) => ({ actions: [{ type: "key", id: "keys", actions }] });
  const key = (type, name) => ({ type, value: KEYS[name] ?? name });
  return {
    version: `WebKitGTK ${session.version}`,
    async open() {
      const { handle } = await inWindow(first, () => call("POST", "/window/new", { type: "window" }));
      const on = (method, path, body) => inWindow(handle, () => call(method, path, body));
      return {
        goto: (url) => on("POST", "/url", { url }),
        async evaluate(run, ...values) {
          const { value, error } = await on("POST", "/execute/async", { script: script(run), args: [values] });
          if (error) throw new Error(error);
          return value;
        },
        click(x, y, times) {
          const presses = Array.from({ length: times }, () => [{ type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }]).flat();
          const move = { type: "pointerMove", x: Math.round(x), y: Math.round(y), origin: "viewport" };
          return on("POST", "/actions", { actions: [{ type: "pointer", id: "mouse", actions: [move, ...presses] }] });
        },
        down: (name) => on("POST", "/actions", keys(key("keyDown", name))),
        up: (name) => on("POST", "/actions", keys(key("keyUp", name))),
        type: (text) => on("POST", "/actions", keys(...[...text].flatMap((letter) => [key("keyDown", letter), key("keyUp", letter)]))),
        reload: () => on("POST", "/refresh"),
        async back() {
          await on("POST", "/back");
          // The driver returns before the page has changed, and a call right after it can hang.
          await wait(300);
        },
        async close() {
          await on("DELETE", "/window");
          current = undefined;
        },
      };
    },
    close: () => session.close(),
  };
}
