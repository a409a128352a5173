// The headers of a forwarded request, and the links in the origin's responses.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { exchange } from "../fixtures/client.mjs";
import { apiKey, created, head, newKey, sendRaw, startGateway } from "../fixtures/support.mjs";

describe("the origin", () => {
  let gateway, urls;
  before(async () => {
    gateway = await startGateway({ more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] } });
    urls = { simulator: gateway.url, workerd: (await gateway.worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "") };
  });
  after(() => gateway.dispose());

  const forwardedHeaders = ({ headers }) => [headers["x-forwarded-host"], headers["x-forwarded-proto"], headers.forwarded];

  test("gets the host and scheme of the request from the gateway, never from the caller", async () => {
    const lies = [
      ["X-Forwarded-Host", "evil.example"],
      ["X_Forwarded_Host", "evil.example"],
      ["X-Forwarded_Host", "evil.example"],
      ["X-Forwarded-Proto", "gopher"],
      ["X-Forwarded-Port", "evil"],
      ["X-Forwarded-Prefix", "/evil"],
      ["X-Forwarded-Server", "evil.example"],
      ["X_Forwarded_For", "6.6.6.6"],
      ["Forwarded", "for=6.6.6.6;host=evil.example;proto=gopher"],
    ];
    for (const url of Object.values(urls)) {
      for (const [method, headers] of [["POST", [["Idempotency-Key", newKey()]]], ["POST", []], ["GET", []]]) {
        const path = gateway.route();
        await exchange(url, { method, path, headers: [["X-Api-Key", apiKey], ...headers, ...lies] });
        const seen = gateway.origin.last(path);
        // The simulator calls workerd with its own host name.
        const [host, proto, forwarded] = forwardedHeaders(seen);
        if (url === urls.workerd) assert.equal(host, new URL(url).host);
        assert.match(host, /^(127\.0\.0\.1|localhost)(:\d+)?$/);
        assert.deepEqual([proto, forwarded], ["http", `host="${host}";proto=http`]);
        assert.doesNotMatch(seen.rawHeaders.join("\n"), /evil|gopher|6\.6/);
        assert.equal(seen.headers.host, new URL(gateway.origin.url).host);
      }
    }
  });

  test("does not get an Expect header, which is only for the gateway", async () => {
    for (const url of Object.values(urls)) {
      for (const key of [[["Idempotency-Key", newKey()]], []]) {
        const path = gateway.route();
        const pairs = [["X-Api-Key", apiKey], ...key, ["Expect", "100-continue"], ["Content-Length", 2], ["Connection", "close"]];
        const response = await sendRaw(url, Buffer.concat([head("POST", path, pairs), Buffer.from("{}")]));
        assert.match(response.text, /HTTP\/1\.1 201 /);
        const seen = gateway.origin.last(path);
        assert.deepEqual([seen.headers.expect, seen.body.toString()], [undefined, "{}"]);
      }
    }
  });

  test("gets Cache-Control: no-cache with reads, with and without a key, and not with writes", async () => {
    // workerd adds the header.
    const seen = async (method, headers) => {
      const path = gateway.route();
      await exchange(urls.workerd, { method, path, headers });
      return gateway.origin.last(path).headers["cache-control"];
    };
    for (const method of ["GET", "HEAD"]) {
      for (const credential of [[["X-Api-Key", "a"]], [["Authorization", "Bearer a"]], [["Cookie", "sid=a"]], [["X-Other", "a"]], []]) {
        assert.equal(await seen(method, credential), "no-cache", `${method} ${credential}`);
        assert.equal(await seen(method, [...credential, ["Idempotency-Key", newKey()]]), "no-cache");
      }
      assert.equal(await seen(method, [["X-Api-Key", "a"], ["Cache-Control", "max-age=60"]]), "max-age=60", "the caller's own");
    }
    assert.equal(await seen("POST", [["X-Api-Key", "a"], ["Idempotency-Key", newKey()]]), undefined);
  });
});

describe("a link in a response", () => {
  for (const base of ["", "/base", "/a/b"]) {
    test(`is rewritten to the gateway, with an upstream at "${base || "/"}"`, async () => {
      const plain = await startGateway();
      const { origin } = plain;
      await plain.worker.dispose();
      const gateway = await startGateway({ upstream: origin.url + base, more: { unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }] } });
      const url = (await gateway.worker.runtime.unsafeGetDirectURL()).href.replace(/\/$/, "");
      const { host } = new URL(origin.url);
      // The link that the origin sends, and the link that the caller gets; `undefined` means the same.
      const links = [
        [`${origin.url}${base}/v1/x/7?a=b#c`, `${url}/v1/x/7?a=b#c`],
        [`HTTP://${host}${base}/v1/x/7`, `${url}/v1/x/7`],
        [`http://user:pass@${host}${base}/v1/x`, `${url}/v1/x`],
        [`//${host}${base}/v1/x/7`, `${url}/v1/x/7`],
        [`${origin.url}${base}//evil.example/x`, `${url}//evil.example/x`],
        [`${base}/v1/x/7`, base ? `${url}/v1/x/7` : undefined],
        ["7?a=b", undefined],
        ["../w/7", undefined],
        ["https://elsewhere.example/v1/x"],
        [`http://${host}0/v1/x`],
        [`https://${host}${base}/v1/x`],
        [`http://${host}.evil.example${base}/v1/x`],
        [`http://${host}@evil.example${base}/v1/x`],
        ...(base ? [[`${origin.url}/other/x`], [`${origin.url}${base}2/x`], ["/other"]] : []),
      ];
      try {
        for (const [link, wanted = link] of links) {
          for (const status of [201, 202, 301, 302, 303, 307, 308]) {
            const path = `/v1/${newKey()}/x`;
            origin.route(() => ({ status, headers: { Location: link, "Content-Location": link } }), base + path);
            const key = newKey();
            for (const [method, headers] of [["POST", [["Idempotency-Key", key]]], ["POST", [["Idempotency-Key", key]]], ["POST", []], ["GET", []]]) {
              const response = await exchange(url, { method, path, headers: [["X-Api-Key", apiKey], ...headers] });
              assert.deepEqual([response.status, response.get("Location"), response.get("Content-Location")], [status, wanted, wanted], link);
            }
          }
        }
        const path = `/v1/${newKey()}`;
        origin.route(created, `${base}${path}`);
        const moved = `/v1/${newKey()}`;
        origin.route(() => ({ status: 307, headers: { Location: `${origin.url}${base}${path}` } }), base + moved);
        const key = newKey();
        const first = await exchange(url, { method: "POST", path: moved, headers: [["X-Api-Key", apiKey], ["Idempotency-Key", key]] });
        // A caller that follows the link reaches the gateway again, where the key counts.
        const at = new URL(first.get("Location"));
        for (const replayed of [false, true]) {
          const response = await exchange(at.origin, { method: "POST", path: at.pathname, headers: [["X-Api-Key", apiKey], ["Idempotency-Key", key]] });
          assert.deepEqual([response.status, response.replayed], [201, replayed]);
        }
        assert.equal(origin.hits(base + path), 1);
      } finally {
        await gateway.worker.dispose();
        await gateway.origin.close();
        await origin.close();
      }
    });
  }
});
