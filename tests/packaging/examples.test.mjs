// The examples of www/examples: each is bundled with the built package, and its form is submitted in Chromium.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import * as esbuild from "esbuild";
import * as svelte from "svelte/compiler";
import * as vue from "vue/compiler-sfc";
import { Consumer, Shop, html, root, startBrowser } from "./support.mjs";

const examples = `${root}www/examples/`;
let consumer;
let shop;
let browser;
before(async () => {
  consumer = await Consumer.make("examples");
  [shop, browser] = await Promise.all([Shop.open(consumer.path), startBrowser()]);
  consumer.write("thanks", "Thank you");
});
after(() => Promise.all([shop.close(), browser.close()]));

/** Compiles the files of a framework. */
const plugin = (generate = "client") => ({
  name: "frameworks",
  setup({ onLoad }) {
    onLoad({ filter: /\.svelte$/ }, ({ path }) => {
      const { js } = svelte.compile(readFileSync(path, "utf8"), { filename: path, generate });
      return { contents: js.code };
    });
    onLoad({ filter: /\.vue$/ }, ({ path }) => {
      const { descriptor } = vue.parse(readFileSync(path, "utf8"), { filename: path });
      const { content } = vue.compileScript(descriptor, { id: "checkout", inlineTemplate: true });
      return { contents: content };
    });
  },
});

/** Copies a file of an example into the consumer's folder, where it finds the package as it was packed. */
const copy = (path) => JSON.stringify(consumer.write(`files/${path}`, readFileSync(examples + path, "utf8")));

/** Bundles a script for a page, or for this process. */
const bundle = (name, contents, more = {}) =>
  esbuild.build({
    stdin: { contents, resolveDir: consumer.path, loader: "jsx" },
    outdir: consumer.at(name),
    entryNames: "page",
    bundle: true,
    format: "esm",
    splitting: true,
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"', __VUE_OPTIONS_API__: "false", __VUE_PROD_DEVTOOLS__: "false", __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false" },
    plugins: [plugin()],
    logLevel: "silent",
    ...more,
  });

/** Opens the page of an example, and clicks its button twice. */
async function buy(name, body = '<div id="root"></div>') {
  consumer.write(`${name}/index.html`, html(`${body}<script type="module" src="page.js"></script>`));
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(180_000);
  const errors = [];
  page.on("pageerror", (error) => errors.push(error));
  const before = shop.orders.length;
  await page.goto(`${shop.url}/${name}/index.html`);
  await page.dblclick("button");
  return { page, errors, orders: () => shop.orders.slice(before), close: () => context.close() };
}

/** Checks that the form was sent once, with a key, and that the buyer sees the next page. */
async function paid(name, body) {
  const { page, errors, orders, close } = await buy(name, body);
  await page.waitForURL("**/thanks");
  const sent = orders();
  assert.deepEqual(sent.map(({ body }) => body), ["out_trade_no=1042"]);
  assert.match(sent[0].key, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.deepEqual(errors, []);
  await close();
}

const NEXT = "next/app/checkout/checkout-form.tsx";
for (const react of [18, 19]) {
  test(`next: the component, with React ${react}`, async () => {
    const page = `import { createRoot } from "react-dom/client";
    import { CheckoutForm } from ${copy(NEXT)};
    createRoot(document.getElementById("root")).render(<CheckoutForm order="1042" />);`;
    const alias = react === 18 ? { react: "react18", "react-dom": "react-dom18" } : {};
    await bundle(`next-${react}`, page, { alias });
    await paid(`next-${react}`);
  });
}

test("next: the component is rendered on a server", async () => {
  await bundle(
    "next-server",
    `import { renderToString } from "react-dom/server";
    import { CheckoutForm } from ${copy(NEXT)};
    console.log(JSON.stringify(renderToString(<CheckoutForm order="1042" />)));`,
    { platform: "node", external: ["react", "react-dom", "oncekey"], plugins: [], splitting: false, outExtension: { ".js": ".mjs" } },
  );
  const rendered = await consumer.run("next-server/run.mjs", 'import "./page.mjs";');
  assert.match(rendered, /^<form [^>]*action="\/v1\/orders"[^>]*><input type="hidden" name="out_trade_no" value="1042"\/>/);
});

const SVELTE = "sveltekit/src/routes/checkout/+page.svelte";
test("sveltekit: the page", async () => {
  await bundle(
    "sveltekit",
    `import { mount } from "svelte";
    import Page from ${copy(SVELTE)};
    mount(Page, { target: document.getElementById("root"), props: { data: { order: "1042" } } });`,
    { conditions: ["svelte", "browser"] },
  );
  await paid("sveltekit");
});

test("sveltekit: the page is rendered on a server", async () => {
  await bundle(
    "sveltekit-server",
    `import { render } from "svelte/server";
    import Page from ${copy(SVELTE)};
    console.log(JSON.stringify(render(Page, { props: { data: { order: "1042" } } }).body));`,
    { platform: "node", external: ["oncekey"], plugins: [plugin("server")], conditions: ["svelte"], splitting: false, outExtension: { ".js": ".mjs" } },
  );
  const rendered = await consumer.run("sveltekit-server/run.mjs", 'import "./page.mjs";');
  assert.match(rendered, /<form method="post" action="\/v1\/orders"><input type="hidden" name="out_trade_no" value="1042"/);
});

test("vue: the component", async () => {
  await bundle(
    "vue",
    `import { createApp } from "vue";
    import CheckoutForm from ${copy("vue/CheckoutForm.vue")};
    createApp(CheckoutForm, { order: "1042" }).mount("#root");`,
  );
  await paid("vue");
});

/** Returns the form that the README of an example shows. */
const form = (name) => /```html\n([^]*?)```/.exec(readFileSync(`${examples}${name}/README.md`, "utf8"))[1];

test("turbo: the form of a page", async () => {
  await bundle("turbo", `import ${copy("turbo/checkout.js")};`);
  await paid("turbo", form("turbo"));
});

test("htmx: the form becomes the response, and a double click sends one key", async () => {
  await bundle("htmx", `import ${copy("htmx/checkout.js")};`);
  const { page, errors, orders, close } = await buy("htmx", form("htmx"));
  await page.waitForSelector("p:text('Thank you')");
  assert.equal(await page.$("form"), null);
  const keys = new Set(orders().map(({ key }) => key));
  assert.equal(keys.size, 1);
  assert.match([...keys][0], /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.deepEqual(errors, []);
  await close();
});
