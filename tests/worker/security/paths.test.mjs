// Attacks with paths. The gateway checks the same path that it sends to the origin, and no spelling of a path bypasses
// the checks. Origins read paths in different ways, so each path that could be read in two ways is tried in both.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { apiKey, created, Gateway, head, newKey, Origin, sendRaw, startGateway, startWorker } from "../fixtures/support.mjs";
import { event, secrets, sign, now, newId } from "../fixtures/sender.mjs";

const WEBHOOK_SECRETS = `s0:${secrets.old}`;

/** Sends a request with any request line and headers, as bytes. Returns the response and what reached the origin. */
async function attack(gateway, method, target, { headers = [], body = "{}", key = newKey() } = {}) {
  const before = gateway.origin.seen.length;
  const pairs = [["X-Api-Key", apiKey], ["Content-Type", "application/json"], ["Content-Length", body.length], ["Connection", "close"], ...headers];
  if (key) pairs.push(["Idempotency-Key", key]);
  const response = await sendRaw(gateway.url, Buffer.concat([head(method, target, pairs), Buffer.from(body)]));
  return { ...response, reached: gateway.origin.seen.slice(before) };
}

/** Reads a path as a lenient origin would: decoded, without parameters, with dots and slashes resolved. */
function careless(target) {
  let path = target.split("?")[0];
  for (let again = path, round = 0; round < 4; round++, path = again) again = path.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
  const segments = [];
  for (const segment of path.replaceAll("\\", "/").split("/").map((one) => one.split(";")[0])) {
    if (segment === "..") segments.pop();
    else if (segment && segment !== ".") segments.push(segment.toLowerCase());
  }
  return `/${segments.join("/")}`;
}

describe("an origin below a path of its host", () => {
  let gateway;
  before(async () => {
    const origin = await Origin.start();
    gateway = new Gateway(await startWorker({ upstream: `${origin.url}/api`, vars: { WEBHOOK_SECRETS } }), origin);
  });
  after(() => gateway.dispose());

  // Each of these is `..` or a spelling of it.
  const UP = ["..", "%2e%2e", ".%2e", "%2E.", "..%2f", "%2e%2e%2f", "..%5c", "%2e%2e%5c", "..;", "..;x=1", "%2e%2e;", "..%3b", "%252e%252e", "..%252f", "%252e%252e%252f", "..%255c"];

  test("gets no path that leads out of its base path or to /webhooks/", async () => {
    let reached = 0;
    for (const up of UP) {
      for (const [method, target] of [
        ["POST", `/${up}/admin`],
        ["GET", `/${up}/admin`],
        ["POST", `/v1/${up}/${up}/admin`],
        ["POST", `/${up}/api/webhooks/s0`],
        ["POST", `/v1/${up}/${up}/api/webhooks/s0`],
        ["POST", `/v1/${up}/webhooks/s0`],
        ["PUT", `//${up}//${up}/api/webhooks/s0`],
        ["POST", `/${up}/${up}/${up}/${up}/etc`],
      ]) {
        for (const key of [newKey(), null]) {
          const body = method === "GET" ? "" : "{}";
          const response = await attack(gateway, method, target, { key, body });
          for (const { target: sent } of response.reached) {
            reached += 1;
            assert.match(careless(sent), /^\/api(\/|$)/, `${method} ${target} was sent as ${sent}`);
            assert.doesNotMatch(careless(sent), /^\/api\/webhooks\//, `${method} ${target} was sent as ${sent}`);
          }
          assert.ok(response.status < 500, `${method} ${target}: ${response.status}`);
        }
      }
    }
    assert.ok(reached > 20, "paths that stay below the base path are forwarded");
  });

  test("gets dots unchanged that do not lead to another path", async () => {
    for (const target of ["/v1/a..b", "/v1/...", "/v1/..a/x", "/v1/a%2fb", "/v1/x/..%2fy", "/v1/%25", "/v1/100%"]) {
      const { reached } = await attack(gateway, "POST", target);
      assert.deepEqual(reached.map(({ target: sent }) => sent), [`/api${target}`], target);
    }
  });
});

describe("an origin at the root of its host", () => {
  let gateway;
  before(async () => {
    const vars = { WEBHOOK_SECRETS, KEY_REQUIRED: "POST:/v1/*", BUSINESS_KEYS: "POST:/v1/*:/no", ADMIN_TOKEN: "a-token-of-an-operator" };
    gateway = await startGateway({ vars });
  });
  after(() => gateway.dispose());

  test("gets no spelling of /webhooks/ without a valid signature", async () => {
    for (const target of [
      "/webhooks/s0",
      "/webhooks%2fs0",
      "/webhooks%252fs0",
      "/%77ebhooks/s0",
      "/%2577ebhooks/s0",
      "/%252577ebhooks/s0",
      "/WebHooks/s0",
      "//webhooks//s0",
      "/./webhooks/s0",
      "/.%2fwebhooks/s0",
      "/%2fwebhooks/s0",
      "/%5cwebhooks/s0",
      "/\\webhooks\\s0",
      "/;/webhooks/s0",
      "/;a=b/webhooks;c=d/s0",
      "/x/..%2fwebhooks/s0",
      "/x/..;/webhooks/s0",
      "/x/%252e%252e/webhooks/s0",
      "http://evil.example/webhooks/s0",
      "/webhooks/s0?x",
    ]) {
      for (const key of [newKey(), null]) {
        const { status, reached } = await attack(gateway, "POST", target, { key, body: event() });
        assert.deepEqual([reached.length, [400, 404].includes(status)], [0, true], `${target}: ${status}`);
      }
    }
    // With a valid signature the path works, so the requests above were refused because of the signature.
    gateway.origin.route(created, "/webhooks/s0");
    const [id, stamp, body] = [newId(), String(now()), event()];
    const headers = [["webhook-id", id], ["webhook-timestamp", stamp], ["webhook-signature", sign(secrets.old, id, stamp, body)]];
    const signed = await attack(gateway, "POST", "/webhooks/s0", { key: null, headers, body });
    assert.deepEqual([signed.status, signed.reached.length], [201, 1]);
  });

  test("a header that names another path does not reach the origin", async () => {
    const path = gateway.route();
    for (const name of ["X-Original-URL", "X-Rewrite-URL", "x-original-url"]) {
      for (const key of [newKey(), null]) {
        const plain = gateway.origin.route(created, "/o/plain");
        for (const target of key ? [path] : [plain]) {
          const { reached } = await attack(gateway, "POST", target, { key, headers: [[name, "/webhooks/s0"]], body: event() });
          assert.equal(reached.length, 1);
          assert.equal(reached[0].headers[name.toLowerCase()], undefined, name);
        }
      }
      const { reached } = await attack(gateway, "GET", path, { key: null, headers: [[name, "/webhooks/s0"]], body: "" });
      assert.equal(reached[0].headers[name.toLowerCase()], undefined, name);
    }
  });

  test("a header that names another method is refused with a key, whatever it is called", async () => {
    const path = gateway.route();
    for (const name of ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"]) {
      const { status, reached } = await attack(gateway, "POST", path, { headers: [[name, "DELETE"]] });
      assert.deepEqual([status, reached.length], [400, 0], name);
    }
  });

  test("KEY_REQUIRED applies to every spelling of a path", async () => {
    for (const target of ["/v1/orders", "/v1/%6frders", "/%761/orders", "/v1//orders", "//v1/orders", "/v1/orders/", "/V1/orders", "/v1%2forders", "/v1;x/orders", "/v1/x/../orders", "/\\v1\\orders", "/x/..%2fv1/orders"]) {
      const { status, text, reached } = await attack(gateway, "POST", target, { key: null });
      assert.deepEqual([status, reached.length], [400, 0], target);
      assert.match(text, /idempotency_key_missing/, target);
    }
    // Reads and other paths need no key.
    for (const [method, target] of [["GET", "/v1/orders"], ["POST", "/v2/orders"]]) {
      const { status } = await attack(gateway, method, target, { key: null, body: method === "GET" ? "" : "{}" });
      assert.equal(status, 404, `${method} ${target} reaches the origin, which has no such path`);
    }
  });

  test("a path with escaped plain letters is the same path", async () => {
    gateway.origin.route(created, "/v1/orders");
    const body = (no) => JSON.stringify({ no, amount: 5 });
    const first = await attack(gateway, "POST", "/v1/orders", { body: body("A-1") });
    assert.deepEqual([first.status, first.reached.length], [201, 1]);
    for (const target of ["/v1/%6Frders", "/v1/order%73", "/%76%31/%6f%72%64%65%72%73"]) {
      // A business key is not executed again if the path is sent in another spelling.
      const again = await attack(gateway, "POST", target, { body: body("A-1") });
      assert.deepEqual([again.status, again.reached.length], [201, 0], target);
      assert.match(again.text, /idempotent-replayed: true/i);
      // A new business key reaches the origin.
      const other = await attack(gateway, "POST", target, { body: body(newKey()) });
      assert.deepEqual(other.reached.map(({ path }) => path), ["/v1/orders"], target);
    }
    // A necessary escape stays an escape.
    const kept = await attack(gateway, "POST", "/o/a%2fb%20c%25%C3%A9%00?q=%6f", {});
    assert.equal(kept.reached[0].target, "/o/a%2fb%20c%25%C3%A9%00?q=%6f");
  });

  test("no request line makes the gateway call another host", async () => {
    const path = gateway.route();
    for (const target of [
      `http://evil.example${path}`,
      `https://evil.example:444${path}`,
      `http://user:secret@evil.example${path}`,
      `//evil.example${path}`,
      `///evil.example${path}`,
      `/\\evil.example${path}`,
      `/@evil.example${path}`,
      `/:80@evil.example${path}`,
      `/.evil.example${path}`,
      `${path}?url=http://evil.example`,
    ]) {
      const { status, reached } = await attack(gateway, "POST", target);
      assert.ok([201, 404].includes(status), `${target}: ${status}`);
      assert.equal(reached.length, 1, `${target} reached the origin`);
      assert.equal(reached[0].headers.host, new URL(gateway.origin.url).host);
      assert.ok(!JSON.stringify(reached[0].headers).includes("secret"));
    }
  });

  test("the gateway itself sends no redirects", async () => {
    for (const target of ["/_oncekey/console", "/_oncekey//evil.example", "/_oncekey/console//evil.example", "/_oncekey/demo", "//evil.example/_oncekey/demo/..", "/_oncekey/key/"]) {
      const { status, text } = await attack(gateway, "GET", target, { key: null, body: "" });
      assert.ok(status < 300 || status >= 400, `${target}: ${status}`);
      assert.doesNotMatch(text.split("\r\n\r\n")[0], /^location:/im);
    }
  });
});
