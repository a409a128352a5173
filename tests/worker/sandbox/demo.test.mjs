// The demo pages on workerd, with the files of scripts/demo-build.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { Origin, startWorker } from "../fixtures/support.mjs";

const POLICY = {
  "default-src": "'none'",
  "script-src": "'self' 'wasm-unsafe-eval'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "form-action": "'self'",
  "base-uri": "'none'",
  "frame-ancestors": "'none'",
};

const policyOf = (response) =>
  Object.fromEntries(
    response.headers
      .get("Content-Security-Policy")
      .split(";")
      .map((directive) => directive.trim().split(/ (.*)/))
      .map(([name, values]) => [name, values]),
  );

function isPage(response) {
  assert.equal(response.status, 200);
  assert.match(response.headers.get("Content-Type"), /^text\/html/);
  assert.deepEqual(policyOf(response), POLICY);
  assert.equal(response.headers.get("X-Content-Type-Options"), "nosniff");
  assert.equal(response.headers.get("Referrer-Policy"), "no-referrer");
  assert.equal(response.headers.get("Cache-Control"), "no-cache");
}

/** Sends a path unchanged. `fetch` would resolve its dots. */
const raw = (worker, path) =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(worker.url);
    const sent = request({ hostname, port, path }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece) => (text += piece));
      response.on("end", () => resolve({ status: response.statusCode, text }));
    });
    sent.on("error", reject).end();
  });

describe("with the sandbox", () => {
  let worker;
  before(async () => (worker = await startWorker()));
  after(() => worker.dispose());

  test("the checkout page is served at / and in its folder", async () => {
    const pages = [];
    for (const path of ["/", "/?a=1", "/_oncekey/demo/", "/_oncekey/demo", "/_oncekey/demo/index.html"]) {
      const response = await worker.fetch(path, { redirect: "manual" });
      isPage(response);
      pages.push(await response.text());
    }
    assert.equal(new Set(pages).size, 1);
    assert.match(pages[0], /<form id="checkout"/);
  });

  test("the files that a page loads exist, and all of them are the Worker's own", async () => {
    for (const path of ["/", "/_oncekey/demo/navigate.html"]) {
      const page = await (await worker.fetch(path)).text();
      assert.doesNotMatch(page, / style=|<style| on[a-z]+=|<script>/, "the content security policy forbids inline styles and scripts");
      const urls = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url);
      for (const url of urls.filter((url) => !/^(data:|#|\?)/.test(url))) {
        assert.match(url, /^\/_oncekey\/(demo\/[a-z.]*|errors)$/);
        const file = await worker.fetch(url);
        assert.equal(file.status, 200, url);
        const type = { js: /javascript/, css: /^text\/css/ }[url.split(".")[1]] ?? /^text\/html/;
        assert.match(file.headers.get("Content-Type"), type);
        assert.equal(file.headers.get("X-Content-Type-Options"), "nosniff");
        await file.arrayBuffer();
      }
    }
  });

  test("the page of errors has an entry for each code, and links only within itself", async () => {
    const page = await worker.fetch("/_oncekey/errors");
    isPage(page);
    const html = await page.text();
    const headings = readFileSync(new URL("../../../docs/guide/errors.md", import.meta.url), "utf8").matchAll(/^### `([a-z_]+)`$/gm);
    const codes = [...headings].map(([, code]) => code);
    assert.ok(codes.includes("idempotency_error") && codes.includes("card_declined"));
    const ids = [...html.matchAll(/<h3 id="([a-z_]+)">/g)].map(([, id]) => id);
    assert.deepEqual(ids, codes);
    for (const [, href] of html.matchAll(/<a href="([^"]*)"/g)) assert.ok(ids.includes(href.slice(1)), href);
    assert.doesNotMatch(html, / style=|<style|<script|generated/, "the policy forbids it");
    assert.equal((await worker.fetch("/_oncekey/demo/errors.css")).status, 200);
  });

  test("?csp=strict forbids wasm", async () => {
    for (const path of ["/?csp=strict", "/?a=b&csp=strict", "/_oncekey/demo/?csp=strict"]) {
      const response = await worker.fetch(path);
      assert.deepEqual(policyOf(response), { ...POLICY, "script-src": "'self'" });
      await response.arrayBuffer();
    }
    for (const path of ["/?csp=strictly", "/?xcsp=strict", "/?csp=STRICT"]) {
      const response = await worker.fetch(path);
      assert.deepEqual(policyOf(response), POLICY);
      await response.arrayBuffer();
    }
  });

  test("HEAD returns the headers without a body", async () => {
    for (const path of ["/", "/_oncekey/demo/checkout.js"]) {
      const [head, whole] = [await worker.fetch(path, { method: "HEAD" }), await worker.fetch(path)];
      assert.equal(head.status, 200);
      assert.equal(await head.text(), "");
      for (const name of ["content-type", "content-security-policy", "cache-control", "etag"]) {
        assert.equal(head.headers.get(name), whole.headers.get(name), name);
      }
      assert.notEqual(await whole.text(), "");
    }
  });

  test("a page that has not changed returns 304", async () => {
    const first = await worker.fetch("/");
    await first.arrayBuffer();
    const again = await worker.fetch("/", { headers: { "If-None-Match": first.headers.get("ETag") } });
    assert.equal(again.status, 304);
    assert.equal(await again.text(), "");
    assert.deepEqual(policyOf(again), POLICY);
  });

  test("an escaped plain letter counts as that letter", async () => {
    const response = await worker.fetch("/_oncekey/demo/%69ndex.html");
    assert.equal(await response.text(), await (await worker.fetch("/_oncekey/demo/index.html")).text());
    assert.equal(response.status, 200);
  });

  test("an unknown file is a 404", async () => {
    for (const path of [
      "/_oncekey/demo/nothing.js",
      "/_oncekey/demo/index",
      "/_oncekey/demo/INDEX.html",
      "/_oncekey/demo//index.html",
      "/_oncekey/demo/index.html/",
      "/_oncekey/demo/a/index.html",
      "/_oncekey/demo/%2569ndex.html",
      "/_oncekey/demo/.key",
      "/_oncekey/demonstration",
    ]) {
      const response = await worker.fetch(path, { redirect: "manual" });
      assert.equal(response.status, 404, path);
      assert.equal((await response.json()).request_id, response.headers.get("X-Request-Id"));
    }
    // A file of the folder is not a path of the API.
    for (const path of ["/index.html", "/checkout.js", "/demo.css"]) {
      const response = await worker.fetch(path);
      assert.ok([401, 404].includes(response.status), path);
      assert.match(response.headers.get("Content-Type"), /json/);
      await response.arrayBuffer();
    }
  });

  test("no path leads out of the folder", async () => {
    for (const path of [
      "/_oncekey/demo/../../worker/wrangler.toml",
      "/_oncekey/demo/..%2f..%2fpackage.json",
      "/_oncekey/demo/%2e%2e/%2e%2e/package.json",
      "/_oncekey/demo/..\\..\\package.json",
      "/_oncekey/demo/..%5c..%5cpackage.json",
      "/_oncekey/demo/%00",
      "/_oncekey/demo/..",
      "/_oncekey/demo/.",
    ]) {
      const response = await raw(worker, path);
      assert.ok([200, 401, 404].includes(response.status), `${path}: ${response.status}`);
      // "." is the folder, which is the page.
      if (response.status === 200) assert.match(response.text, /<form id="checkout"/, path);
    }
  });

  test("the pages do not handle writes", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      for (const path of ["/", "/_oncekey/demo/", "/_oncekey/demo/index.html"]) {
        const response = await worker.fetch(path, { method, headers: { "X-Api-Key": "kuko_test_demo" } });
        assert.equal(response.status, 404, `${method} ${path}`);
        assert.match(response.headers.get("Content-Type"), /json/);
        await response.arrayBuffer();
      }
    }
  });

  test("the pages do not hide the API and the key calls", async () => {
    const response = await worker.fetch("/v1/orders?out_trade_no=a", { headers: { "X-Api-Key": "kuko_test_demo" } });
    assert.equal(response.status, 404);
    assert.equal((await response.json()).code, "resource_missing");
    assert.equal(response.headers.get("Content-Security-Policy"), null);
    assert.equal((await worker.fetch("/_oncekey/health")).status, 200);
  });
});

test("with an upstream, / belongs to the upstream, and the pages keep their paths", async () => {
  const origin = await Origin.start();
  const worker = await startWorker({ upstream: origin.url });
  try {
    const root = await worker.fetch("/");
    assert.equal(await root.text(), "no such path");
    assert.equal(root.headers.get("Content-Security-Policy"), null);
    for (const path of ["/_oncekey/demo/", "/_oncekey/errors"]) isPage(await worker.fetch(path));
    assert.deepEqual(origin.seen.map(({ path }) => path), ["/"]);
  } finally {
    await worker.dispose();
    await origin.close();
  }
});

test("a Worker without the files has no pages", async () => {
  const worker = await startWorker({ more: { assets: undefined } });
  try {
    for (const path of ["/_oncekey/demo/", "/_oncekey/demo", "/_oncekey/demo/index.html"]) {
      const response = await worker.fetch(path);
      assert.equal(response.status, 404);
      assert.equal((await response.json()).request_id, response.headers.get("X-Request-Id"));
    }
    const root = await worker.fetch("/", { headers: { "X-Api-Key": "kuko_test_demo" } });
    assert.equal(root.status, 404);
    assert.equal((await root.json()).code, "resource_missing");
  } finally {
    await worker.dispose();
  }
});
