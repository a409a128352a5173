// How the console's files are served. What they do is tested in tests/browser.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Origin, startWorker } from "../fixtures/support.mjs";

const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "script-src 'self'",
];

function isOfConsole(answer, type) {
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get("Content-Type"), type);
  assert.deepEqual(answer.headers.get("Content-Security-Policy").split("; "), POLICY);
  assert.equal(answer.headers.get("Cache-Control"), "no-store");
  assert.equal(answer.headers.get("X-Content-Type-Options"), "nosniff");
  assert.equal(answer.headers.get("Referrer-Policy"), "no-referrer");
  assert.equal(answer.headers.get("Cross-Origin-Opener-Policy"), "same-origin");
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

  test("the page is there without the token, with all that it loads", async () => {
    for (const path of ["/_oncekey/console", "/_oncekey/console/", "/_oncekey/console?csp=strict"]) {
      const answer = await worker.fetch(path, { redirect: "manual" });
      isOfConsole(answer, /^text\/html/);
      const page = await answer.text();
      assert.doesNotMatch(page, / style=|<style| on[a-z]+=|<script>/, "the policy forbids it");
      // What has no name is sent by no form.
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

  test("there is nothing else", async () => {
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
      const answer = await worker.fetch(path, { redirect: "manual" });
      assert.equal(answer.status, 404, path);
      await answer.arrayBuffer();
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
      const answer = await worker.fetch(path);
      assert.equal(answer.status, 404, path);
      assert.match(answer.headers.get("Content-Type"), /json/);
      await answer.arrayBuffer();
    }
  } finally {
    await worker.dispose();
  }
});
