// How the console's files are served. Their behaviour is tested in tests/browser.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Origin, startWorker } from "../fixtures/support.mjs";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'none'",
  "script-src 'self'",
];

function isOfConsole(response, type) {
  assert.equal(response.status, 200);
  assert.match(response.headers.get("Content-Type"), type);
  assert.deepEqual(response.headers.get("Content-Security-Policy").split("; "), POLICY);
  assert.equal(response.headers.get("Cache-Control"), "no-store");
  assert.equal(response.headers.get("X-Content-Type-Options"), "nosniff");
  assert.equal(response.headers.get("Referrer-Policy"), "no-referrer");
  assert.equal(response.headers.get("Cross-Origin-Opener-Policy"), "same-origin");
}

describe("with an ADMIN_TOKEN", () => {
  let origin, worker;
  before(async () => {
    origin = await Origin.start();
    worker = await startWorker({ upstream: origin.url, vars: { ADMIN_TOKEN: "token" } });
  });
  after(async () => {
    await worker.dispose();
    await origin.close();
  });

  test("the page and all files that it loads are served without the token", async () => {
    for (const path of ["/_oncekey/console", "/_oncekey/console/", "/_oncekey/console?csp=strict"]) {
      const response = await worker.fetch(path, { redirect: "manual" });
      isOfConsole(response, /^text\/html/);
      const page = await response.text();
      assert.doesNotMatch(page, / style=|<style| on[a-z]+=|<script>/, "the content security policy forbids inline styles and scripts");
      // A form does not send a field without a name.
      assert.doesNotMatch(page, /<(input|textarea|select)[^>]* name=/);
      const urls = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url).filter((url) => !url.startsWith("data:"));
      assert.equal(urls.length, 2);
      for (const url of urls) {
        const file = await worker.fetch(url);
        isOfConsole(file, url.endsWith(".css") ? /^text\/css/ : /javascript/);
        await file.arrayBuffer();
      }
    }
    assert.deepEqual(origin.seen, []);
  });

  test("no other path below the console exists", async () => {
    for (const path of [
      "/_oncekey/consoles",
      "/_oncekey/console/nothing.js",
      "/_oncekey/console//index.html",
      "/_oncekey/console/../index.html.",
      "/_oncekey/console/checkout.js",
      "/_oncekey/demo/console/index.html",
      "/_oncekey/demo/console.js",
      "/_oncekey/demo/console",
    ]) {
      const response = await worker.fetch(path, { redirect: "manual" });
      assert.equal(response.status, 404, path);
      await response.arrayBuffer();
    }
    const write = await worker.fetch("/_oncekey/console", { method: "POST" });
    assert.equal(write.status, 404);
    await write.arrayBuffer();
  });
});

test("without an ADMIN_TOKEN there is no console", async () => {
  const worker = await startWorker();
  try {
    for (const path of ["/_oncekey/console", "/_oncekey/console/", "/_oncekey/console/console.js"]) {
      const response = await worker.fetch(path);
      assert.equal(response.status, 404, path);
      assert.match(response.headers.get("Content-Type"), /json/);
      await response.arrayBuffer();
    }
  } finally {
    await worker.dispose();
  }
});
