// The package in a browser without a bundler, and with React.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import * as esbuild from "esbuild";
import { BUY, Consumer, Shop, html, reported, startBrowser } from "./support.mjs";

const DIST = "/node_modules/oncekey/dist";

let consumer;
let shop;
let browser;
before(async () => {
  consumer = await Consumer.make("browser");
  [shop, browser] = await Promise.all([Shop.open(consumer.path), startBrowser()]);
});
after(() => Promise.all([shop.close(), browser.close()]));

/** Opens a page. An error of the page fails the test. */
async function open(path, context = browser) {
  const page = await context.newPage();
  page.setDefaultTimeout(180_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  page.on("console", (message) => {
    if (message.type() === "error") errors.push(new Error(message.text()));
  });
  await page.goto(shop.url + path);
  return Object.assign(page, { errors });
}
const FORM = '<input name="card" value="4242"><button name="how" value="pay">Pay</button>';

test("a script tag", async () => {
  consumer.write("before.js", "window.before = Object.getOwnPropertyNames(window);");
  consumer.write(
    "script.js",
    `const added = Object.getOwnPropertyNames(window).filter((name) => !before.includes(name) && name !== "before");
    const { createClient } = oncekey;${BUY.replace("return {", "return { added,")}`,
  );
  consumer.write("script.html", html(`<script src="before.js"></script><script src="${DIST}/oncekey.global.js"></script><script src="script.js"></script>`));
  const report = await reported(browser, `${shop.url}/script.html`);
  assert.deepEqual([report.status, report.added, report.fallback], [201, ["oncekey"], null]);
  const strict = await reported(browser, `${shop.url}/strict/script.html`);
  assert.equal(strict.status, 201, JSON.stringify(strict));
  assert.match(strict.fallback, /CompileError/);
});

test("the ES module, imported by its URL", async () => {
  consumer.write("module.js", `import { createClient } from "${DIST}/index.js";${BUY}`);
  consumer.write("module.html", html('<script type="module" src="module.js"></script>'));
  assert.equal((await reported(browser, `${shop.url}/module.html`)).fallback, null);
  assert.match((await reported(browser, `${shop.url}/strict/module.html`)).fallback, /CompileError/);
});

test("auto: a page needs only a script tag", async () => {
  consumer.write(
    "auto.html",
    html(`<form data-oncekey="order:auto" method="post" action="/orders">${FORM}</form><script type="module" src="${DIST}/auto.js"></script>`),
  );
  const before = shop.orders.length;
  const page = await open("/auto.html");
  const settled = page.evaluate(
    () => new Promise((done) => addEventListener("oncekey:settled", ({ detail }) => done(detail))),
  );
  await page.dblclick("button");
  const { intent, state, key } = await settled;
  assert.deepEqual([intent, state], ["order:auto", "succeeded"]);
  assert.deepEqual(shop.orders.slice(before), [{ key, body: "card=4242&how=pay" }]);
  // A form that is added later is guarded, too.
  await page.evaluate((form) => {
    document.body.insertAdjacentHTML("beforeend", `<form id="later" data-oncekey="order:later" method="post" action="/orders">${form}</form>`);
  }, FORM);
  const later = page.evaluate(
    () => new Promise((done) => addEventListener("oncekey:settled", ({ detail }) => done(detail))),
  );
  await page.dblclick("#later button");
  assert.equal((await later).intent, "order:later");
  assert.equal(shop.orders.length, before + 2);
  assert.deepEqual(page.errors, []);
  await page.close();
});

test("element: <once-form> guards the form in it", async () => {
  consumer.write("element.js", `import { defineElement } from "${DIST}/element.js"; defineElement(); defineElement();`);
  consumer.write(
    "element.html",
    html(`<once-form intent="order:element"><form method="post" action="/orders">${FORM}</form></once-form><script type="module" src="element.js"></script>`),
  );
  const before = shop.orders.length;
  const page = await open("/element.html");
  const settled = page.evaluate(
    () => new Promise((done) => addEventListener("oncekey:settled", ({ detail }) => done(detail))),
  );
  await page.dblclick("button");
  const { intent, state, key } = await settled;
  assert.deepEqual([intent, state], ["order:element", "succeeded"]);
  assert.deepEqual(shop.orders.slice(before), [{ key, body: "card=4242&how=pay" }]);
  assert.deepEqual(page.errors, []);
  await page.close();
});

/** Bundles `name`.js with React into out-`name`/page.js. */
const bundle = (name, react = 19) =>
  esbuild.build({
    entryPoints: [consumer.at(`${name}.js`)],
    outdir: consumer.at(`out-${name}`),
    entryNames: "page",
    bundle: true,
    splitting: true,
    format: "esm",
    alias: react === 18 ? { react: "react18", "react-dom": "react-dom18" } : {},
    // StrictMode mounts twice only in a development build.
    define: { "process.env.NODE_ENV": '"development"' },
    logLevel: "silent",
  });

for (const [react, entry] of [[18, "oncekey"], [19, "oncekey"], [19, "oncekey/slim"]]) {
  test(`faults 50, 51: a form in react ${react} stays locked over renders, with the client of ${entry}`, async () => {
    const name = `${entry.replace("/", "-")}-${react}`;
    const intent = `order:${name}`;
    consumer.write(
      `${name}.js`,
      `import { StrictMode, createElement as h, useState, version } from "react";
      import { createRoot } from "react-dom/client";
      import { createClient } from "${entry}";
      import { useFormGuard, useIntentStatus } from "oncekey/react";
      ${entry === "oncekey" ? "" : `import { init } from "${entry}"; init("${DIST}/oncekey.wasm");`}
      const client = createClient();
      window.responses = [];
      window.version = version;
      // Records the window's listeners that are not removed.
      window.listeners = new Set();
      for (const [method, note] of [["addEventListener", "add"], ["removeEventListener", "delete"]]) {
        const own = EventTarget.prototype[method];
        EventTarget.prototype[method] = function (type, listener, ...rest) {
          if (type === "pageshow") window.listeners[note](listener);
          return own.call(this, type, listener, ...rest);
        };
      }
      function Checkout() {
        const [count, setCount] = useState(0);
        const { state } = useIntentStatus(client, "${intent}");
        const guard = useFormGuard({ client, intent: "${intent}", onResponse: ({ status }) => responses.push([status, count]) });
        return h("div", null,
          h("form", { ref: guard, method: "post", action: "/held", className: "c" + count },
            h("input", { name: "card", defaultValue: "4242" }),
            h("button", { name: "how", value: "pay", disabled: false }, "Pay " + count)),
          h("p", { id: "more", onClick: () => setCount(count + 1) }, "again"),
          h("output", { id: "state" }, state));
      }
      const root = createRoot(document.getElementById("root"));
      root.render(h(StrictMode, null, h(Checkout)));
      window.leave = () => root.unmount();`,
    );
    await bundle(name, react);
    consumer.write(`out-${name}/index.html`, html('<div id="root"></div><script type="module" src="page.js"></script>'));
    shop.hold();
    const before = shop.orders.length;
    const page = await open(`/out-${name}/index.html`);
    const state = (text) => page.waitForFunction((text) => document.getElementById("state")?.textContent === text, text);
    const isLocked = () => page.$eval("form", (form) => form.getAttribute("aria-busy") === "true");
    await state("idle");
    await page.click("button");
    await state("sending");
    assert.ok(await isLocked());
    // Renders with other attributes and another label do not unlock the form.
    for (let count = 1; count <= 3; count++) {
      await page.click("#more");
      await page.waitForSelector(`form.c${count}`);
      await page.click("button", { force: true });
      await page.focus("input");
      await page.keyboard.press("Enter");
    }
    assert.ok(await isLocked());
    shop.let();
    await state("succeeded");
    await page.waitForFunction(() => window.responses.length > 0);
    // The options of the latest render count.
    assert.deepEqual(await page.evaluate(() => window.responses), [[201, 3]]);
    const sent = shop.orders.slice(before);
    assert.equal(sent.length, 1, JSON.stringify(sent));
    assert.equal(sent[0].body, "card=4242&how=pay");
    // Unmounting removes the guard completely.
    await page.evaluate(() => window.leave());
    assert.equal(await page.$eval("#root", (root) => root.innerHTML), "");
    assert.equal(await page.evaluate(() => window.listeners.size), 0);
    assert.match(await page.evaluate(() => window.version), new RegExp(`^${react}\\.`));
    assert.deepEqual(page.errors, []);
    await page.close();
  });
}

test("fault 58: a form that a server rendered gets its key only in the page that sends it", async () => {
  consumer.write(
    "checkout.mjs",
    `import { createElement as h } from "react";
    import { createClient } from "oncekey";
    import { useFormGuard, useIntentStatus } from "oncekey/react";
    const client = createClient(typeof document === "undefined" ? { storage: null } : {});
    client.addEventListener("settled", ({ detail }) => (globalThis.settled = detail));
    export function Checkout() {
      const { state } = useIntentStatus(client, "order:58");
      return h("form", { ref: useFormGuard({ client, intent: "order:58" }), method: "post", action: "/orders" },
        h("button", { name: "how", value: "pay" }, "Pay"), h("output", null, state));
    }`,
  );
  const rendered = await consumer.run(
    "rendered.mjs",
    `import { createElement as h } from "react";
    import { renderToString } from "react-dom/server";
    import { Checkout } from "./checkout.mjs";
    console.log(JSON.stringify(renderToString(h(Checkout))));`,
  );
  consumer.write(
    "hydrated.js",
    `import { createElement as h } from "react";
    import { hydrateRoot } from "react-dom/client";
    import { Checkout } from "./checkout.mjs";
    hydrateRoot(document.getElementById("root"), h(Checkout), { onRecoverableError: (error) => console.error(error) });
    window.isHydrated = true;`,
  );
  await bundle("hydrated");
  consumer.write("out-hydrated/index.html", html(`<div id="root">${rendered}</div><script type="module" src="page.js"></script>`));
  const before = shop.orders.length;
  for (const buyer of [1, 2]) {
    // Each buyer has a separate browser storage.
    const context = await browser.newContext();
    const page = await open("/out-hydrated/index.html", context);
    await page.waitForFunction(() => window.isHydrated && document.querySelector("output").textContent === "idle");
    await page.waitForTimeout(200);
    assert.deepEqual(await page.evaluate(() => ({ ...localStorage, ...sessionStorage })), {}, "nothing is minted by a render");
    const clicked = Date.now();
    await page.click("button");
    await page.waitForFunction(() => window.settled);
    const [{ key }] = shop.orders.slice(before + buyer - 1);
    assert.ok(parseInt(key.replace("-", "").slice(0, 12), 16) >= clicked, "the key contains the time of the click");
    assert.deepEqual(page.errors, []);
    await context.close();
  }
  const keys = shop.orders.slice(before).map(({ key }) => key);
  assert.deepEqual([keys.length, new Set(keys).size], [2, 2]);
});

test("fault 71: an effect that React runs twice has one key, and the second run waits for the first", async () => {
  consumer.write(
    "effect.js",
    `import { StrictMode, createElement as h, useEffect } from "react";
    import { createRoot } from "react-dom/client";
    import { createClient } from "oncekey";
    const client = createClient();
    window.responses = [];
    window.runs = 0;
    function Buy() {
      useEffect(() => {
        window.runs++;
        client.fetch("order:71", "/held", { body: "{}" }).then(async (response) => responses.push([response.status, await response.text()]));
      }, []);
      return null;
    }
    createRoot(document.getElementById("root")).render(h(StrictMode, null, h(Buy)));`,
  );
  await bundle("effect");
  consumer.write("out-effect/index.html", html('<div id="root"></div><script type="module" src="page.js"></script>'));
  shop.hold();
  const before = shop.orders.length;
  const page = await open("/out-effect/index.html");
  await page.waitForFunction(() => window.runs === 2);
  // The core is loaded first.
  while (shop.orders.length === before) await page.waitForTimeout(20);
  await page.waitForTimeout(200);
  assert.equal(shop.orders.length, before + 1);
  shop.let();
  await page.waitForFunction(() => window.responses.length === 2);
  const responses = await page.evaluate(() => window.responses);
  assert.deepEqual(responses, [[201, '{"id":"order"}'], [201, '{"id":"order"}']]);
  // The second run sends the same key again. A server with keys would replay the response; this server has none.
  assert.equal(new Set(shop.orders.slice(before).map(({ key }) => key)).size, 1);
  assert.deepEqual(page.errors, []);
  await page.close();
});
