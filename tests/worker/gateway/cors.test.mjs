// Which requests pages of other origins may send, and which responses they may read.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, cut, gated, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

const SHOP = "https://shop.example";
const from = (origin) => ({ headers: [["Origin", origin]] });
const EXPOSED = ["idempotent-replayed", "idempotency-state", "idempotency-expires", "x-request-id", "retry-after"];
const foreign = {
  "Access-Control-Allow-Origin": "https://origin.example",
  "Access-Control-Allow-Credentials": "true",
  "Access-Control-Expose-Headers": "X-B",
};

/** Every kind of response that a page can get. */
const RESPONSES = {
  "an execution": (gateway, more) => gateway.post(gateway.route(), newKey(), { a: 1 }, more),
  "an execution whose origin sets CORS headers": (gateway, more) =>
    gateway.post(
      gateway.route(() => ({ ...created(), headers: foreign })),
      newKey(),
      { a: 1 },
      more,
    ),
  "a replay": async (
    gateway,
    more,
    path = gateway.route(() => ({ ...created(), headers: foreign })),
    key = newKey(),
  ) => {
    await gateway.post(path, key, { a: 1 });
    const response = await gateway.post(path, key, { a: 1 }, more);
    assert.ok(response.replayed);
    return response;
  },
  "a mismatch": async (gateway, more, path = gateway.route(), key = newKey()) => {
    await gateway.post(path, key);
    return gateway.post(path, key, { a: 2 }, more);
  },
  "a 409": async (gateway, more, slow = gated(), path = gateway.route(slow), key = newKey()) => {
    const first = gateway.post(path, key);
    await slow.reached;
    const response = await gateway.post(path, key, { a: 1 }, more);
    slow.open();
    return first.then(() => response);
  },
  "an invalid key": (gateway, more) => gateway.post("/x", "a b", { a: 1 }, more),
  "a missing credential": (gateway, more) => gateway.post("/x", newKey(), { a: 1 }, { ...more, as: null }),
  "a body that is too large": (gateway, more) => gateway.post("/x", newKey(), "x".repeat(3000), more),
  "a dead origin": (gateway, more) => gateway.post(gateway.route(cut), newKey(), { a: 1 }, more),
  "a response too large to keep": (gateway, more) =>
    gateway.post(
      gateway.route(() => ({ body: "x".repeat(5000) })),
      newKey(),
      { a: 1 },
      more,
    ),
  "a released key": (gateway, more) => gateway.post(gateway.route(inTurn(429)), newKey(), { a: 1 }, more),
  "a store that is down": async (gateway, more, key = newKey()) => {
    await gateway.faults(key, { op: "begin", fault: "refuse", times: 1000 });
    return gateway.post(gateway.route(), key, { a: 1 }, more);
  },
  "a response that is not stored": async (gateway, more, key = newKey()) => {
    await gateway.faults(key, { op: "complete", fault: "refuse", times: 1000 });
    const response = await gateway.post(gateway.route(), key, { a: 1 }, more);
    assert.equal(response.get("Idempotency-Stored"), "false");
    return response;
  },
  "a read": (gateway, more) =>
    gateway.get(
      gateway.route(() => ({ headers: foreign, body: "ok" })),
      more,
    ),
  "a write without a key": (gateway, more) => gateway.post(gateway.route(), undefined, { a: 1 }, more),
  "a key call": (gateway, more) => gateway.get("/_oncekey/key", { ...more, key: newKey() }),
  health: (gateway, more) => gateway.get("/_oncekey/health", more),
  "a path that does not exist": (gateway, more) => gateway.get("/_oncekey/nothing", more),
  "a webhook": (gateway, more) => gateway.post("/webhooks/nobody", undefined, {}, more),
};

describe("with CORS_ORIGINS=https://shop.example,https://other.example", () => {
  let gateway;
  before(async () => {
    gateway = await startGateway({
      faults: true,
      vars: {
        CORS_ORIGINS: `${SHOP},https://other.example`,
        MAX_REQUEST_BYTES: "2000",
        MAX_REPLAY_BYTES: "2000",
        LEASE_SECONDS: "4",
      },
    });
  });
  after(() => gateway.dispose());

  for (const [what, make] of Object.entries(RESPONSES)) {
    test(`fault 35: a page of a listed origin may read ${what}, and no other page may`, async () => {
      const response = await make(gateway, from(SHOP));
      assert.deepEqual(response.all("Access-Control-Allow-Origin"), [SHOP]);
      assert.deepEqual(response.all("Access-Control-Allow-Credentials"), ["true"]);
      const exposed = response.get("Access-Control-Expose-Headers").toLowerCase().split(", ");
      for (const name of EXPOSED) assert.ok(exposed.includes(name), name);
      assert.ok(!exposed.includes("x-b"));
      assert.match(response.get("Vary"), /origin/i);
    });
  }

  test("a page of an origin that is not listed may read nothing", async () => {
    for (const origin of [
      "https://evil.example",
      "http://shop.example",
      "https://shop.example.evil",
      "null",
      `${SHOP}:8443`,
      "https://SHOP.example",
    ]) {
      const response = await gateway.post(
        gateway.route(() => ({ ...created(), headers: foreign })),
        newKey(),
        { a: 1 },
        from(origin),
      );
      assert.equal(response.status, 201);
      for (const [name] of response.pairs) assert.doesNotMatch(name, /^access-control-/i, origin);
      assert.match(response.get("Vary"), /origin/i, "a cache must not give a listed page this response");
    }
  });

  test("a replay carries the CORS permission of its own caller, not of the first caller", async () => {
    const path = gateway.route();
    const key = newKey();
    for (const origin of [SHOP, "https://other.example"]) {
      assert.equal((await gateway.post(path, key, { a: 1 }, from(origin))).get("Access-Control-Allow-Origin"), origin);
    }
    assert.equal((await gateway.post(path, key)).get("Access-Control-Allow-Origin"), undefined);
  });

  test("the origin's own Vary header is kept", async () => {
    const vary = async (value) =>
      (
        await gateway.post(
          gateway.route(() => ({ headers: { Vary: value }, body: "ok" })),
          newKey(),
          { a: 1 },
          from(SHOP),
        )
      ).get("Vary");
    assert.deepEqual(
      [await vary("Accept"), await vary("accept, ORIGIN"), await vary("*")],
      ["Accept, x-api-key, authorization, Idempotency-Key, Origin", "accept, ORIGIN, x-api-key, authorization, Idempotency-Key", "*"],
    );
  });

  test("a preflight needs no origin, no credential and no key", async () => {
    const path = gateway.route();
    const preflightFrom = (origin) => ({
      as: null,
      headers: [
        ["Origin", origin],
        ["Access-Control-Request-Method", "PUT"],
        ["Access-Control-Request-Headers", "idempotency-key,x-api-key,x-mine"],
      ],
    });
    const response = await gateway.call("OPTIONS", path, preflightFrom(SHOP));
    assert.equal(response.status, 204);
    assert.equal(response.get("Access-Control-Allow-Origin"), SHOP);
    assert.equal(response.get("Access-Control-Allow-Methods"), "PUT");
    assert.equal(response.get("Access-Control-Allow-Headers"), "idempotency-key,x-api-key,x-mine");
    const other = await gateway.call("OPTIONS", path, preflightFrom("https://evil.example"));
    assert.equal(other.get("Access-Control-Allow-Origin"), undefined);
    assert.equal(other.get("Access-Control-Allow-Headers"), undefined);
    assert.equal(gateway.hits(path), 0);
    // An OPTIONS that is not a preflight goes to the origin.
    assert.equal((await gateway.call("OPTIONS", path, from(SHOP))).status, 201);
    assert.equal(gateway.hits(path), 1);
  });
});

test("without CORS_ORIGINS the origin's own CORS headers are passed on", async () => {
  const gateway = await startGateway();
  try {
    const path = gateway.route(() => ({ headers: foreign, body: "ok" }));
    const preflight = await gateway.call("OPTIONS", path, {
      headers: [
        ["Origin", SHOP],
        ["Access-Control-Request-Method", "POST"],
      ],
    });
    const key = newKey();
    for (const response of [
      preflight,
      await gateway.post(path, key, { a: 1 }, from(SHOP)),
      await gateway.get(path, from(SHOP)),
    ]) {
      assert.equal(response.get("Access-Control-Allow-Origin"), "https://origin.example");
      assert.equal(response.get("Access-Control-Expose-Headers"), "X-B");
    }
    // The permission of one page is not stored for another.
    const replay = await gateway.post(path, key, { a: 1 }, from(SHOP));
    assert.deepEqual([replay.replayed, replay.get("Access-Control-Allow-Origin")], [true, undefined]);
    assert.equal((await gateway.post(path, "a b", { a: 1 }, from(SHOP))).get("Access-Control-Allow-Origin"), undefined);
  } finally {
    await gateway.dispose();
  }
});

test("the sandbox may be called by every page, without cookies", async () => {
  const gateway = await startGateway({ upstream: undefined });
  try {
    const order = { out_trade_no: `ORDER_${newKey()}`, amount: 1, currency: "USD", subject: "x" };
    for (const response of [
      await gateway.post("/v1/orders", newKey(), order, from(SHOP)),
      await gateway.get("/v1/nothing", from("null")),
    ]) {
      assert.deepEqual(
        [response.get("Access-Control-Allow-Origin"), response.get("Access-Control-Allow-Credentials")],
        ["*", undefined],
      );
      assert.ok(response.get("Access-Control-Expose-Headers").includes("Idempotent-Replayed"));
    }
    const preflight = await gateway.call("OPTIONS", "/v1/orders", {
      as: null,
      headers: [
        ["Origin", SHOP],
        ["Access-Control-Request-Method", "POST"],
      ],
    });
    assert.deepEqual([preflight.status, preflight.get("Access-Control-Allow-Origin")], [204, "*"]);
    assert.match(preflight.get("Access-Control-Allow-Headers"), /idempotency-key/i);
  } finally {
    await gateway.dispose();
  }
});
