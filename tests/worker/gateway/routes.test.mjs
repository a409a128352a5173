// Settings for single routes: which writes are skipped, how long a response is kept, which headers are not replayed,
// and what certain responses prove.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { created, inTurn, newKey, startGateway } from "../fixtures/support.mjs";

const json = (status, body, headers = {}) => ({ status, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });

describe("SKIP", () => {
  let gateway;
  before(
    async () =>
      (gateway = await startGateway({
        vars: {
          SKIP: "POST:/v1/search,POST:/reports/*",
          KEY_REQUIRED: "POST:/v1/*,POST:/reports/7,POST:/orders,DELETE:/v1/search",
          BUSINESS_KEYS: "POST:/reports/orders:/no",
          MAX_REQUEST_BYTES: "1000",
        },
      })),
  );
  after(() => gateway.dispose());

  test("a skipped write passes through with its key, as often as it is sent", async () => {
    for (const path of ["/v1/search", "/reports/a/b"]) {
      gateway.origin.route(created, path);
      const key = newKey();
      for (const hits of [1, 2]) {
        const response = await gateway.post(path, key, "x".repeat(5000));
        assert.deepEqual([response.status, response.state, gateway.hits(path)], [201, undefined, hits], path);
      }
      assert.equal(gateway.origin.last(path).headers["idempotency-key"], key);
      assert.equal("idempotency-attempt" in gateway.origin.last(path).headers, false);
      assert.equal((await gateway.post(path, "a b")).status, 201, "no key is looked at");
    }
  });

  test("other spellings and methods of a skipped path are not skipped", async () => {
    const before = gateway.origin.seen.length;
    for (const path of ["/v1/Search", "/v1/search/", "/v1//search", "/v1/search.json", "/v1/search;x", "/reports/..%2forders", "/reports/x%2f..%2f..%2forders", "/reports/7", "/reports/7/", "/reports/7.json"]) {
      assert.equal((await gateway.post(path)).json.code, "idempotency_key_missing", path);
    }
    for (const [name, value] of [["X-HTTP-Method-Override", "DELETE"], ["X_HTTP_Method", "delete"]]) {
      assert.equal((await gateway.post("/v1/search", undefined, {}, { headers: [[name, value]] })).json.code, "idempotency_key_missing", name);
    }
    assert.equal((await gateway.post("/v1/search?_method=delete")).json.code, "idempotency_key_missing");
    assert.equal(gateway.origin.seen.length, before);
  });

  test("a business key takes precedence over a wildcard", async () => {
    gateway.origin.route(created, "/reports/orders");
    const key = newKey();
    assert.equal((await gateway.post("/reports/orders", key, { no: key })).state, "completed");
    assert.ok((await gateway.post("/reports/orders", newKey(), { no: key })).replayed);
  });
});

describe("RETENTION_SECONDS", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true, vars: { RETENTION_SECONDS: "3600,POST:/v1/orders:604800,POST:/v1/notes:60" } })));
  after(() => gateway.dispose());

  test("a route has its own retention, and all others have the number without a route", async () => {
    for (const [path, seconds] of [["/v1/orders", 604_800], ["/v1/Orders/", 604_800], ["/v1/notes", 60], ["/v1/other", 3600]]) {
      gateway.origin.route(created, path);
      const before = Date.now();
      const response = await gateway.post(path, newKey());
      const kept = (Date.parse(response.get("Idempotency-Expires")) - before) / 1000;
      assert.ok(kept > seconds - 2 && kept < seconds + 60, `${path}: ${kept}`);
    }
  });
});

test("a key whose response may be gone on a route with a shorter retention cannot be voided", async () => {
  const gateway = await startGateway({ faults: true, vars: { RETENTION_SECONDS: "864000,POST:/v1/notes:600" } });
  const v7 = () => {
    const time = Date.now().toString(16).padStart(12, "0");
    return `${time.slice(0, 8)}-${time.slice(8)}-7${newKey().slice(15)}`;
  };
  try {
    const [young, old] = [v7(), v7()];
    const path = gateway.origin.route(created, "/v1/notes");
    assert.equal((await gateway.post(path, old)).state, "completed");
    assert.equal((await gateway.call("POST", "/_oncekey/key/void", { key: v7() })).json.state, "voided");
    await gateway.clock(700_000);
    const gone = await gateway.call("POST", "/_oncekey/key/void", { key: old });
    assert.notEqual(gone.json.state, "voided", "it was executed");
    assert.notEqual((await gateway.call("POST", "/_oncekey/key/void", { key: young })).json.state, "voided", "nobody knows");
  } finally {
    await gateway.dispose();
  }
});

test("HEADERS_NOT_REPLAYED: the first caller gets these headers, and a replay does not have them", async () => {
  const gateway = await startGateway({ vars: { HEADERS_NOT_REPLAYED: "X-Trace,POST:/v1/orders:X-Node" } });
  try {
    for (const [path, left] of [["/v1/orders", []], ["/v1/other", ["x-node"]]]) {
      gateway.origin.route(() => json(201, {}, { "X-Trace": "1", "X-Node": "2", "X-Kept": "3" }), path);
      const key = newKey();
      const [first, second] = [await gateway.post(path, key), await gateway.post(path, key)];
      const has = (response) => ["x-trace", "x-node", "x-kept"].filter((name) => response.get(name));
      assert.ok(second.replayed);
      assert.deepEqual([has(first), has(second)], [["x-trace", "x-node", "x-kept"], [...left, "x-kept"]]);
    }
  } finally {
    await gateway.dispose();
  }
});

for (const UNKNOWN_OUTCOME of ["hold", "retry"]) {
  describe(`OUTCOMES and NOT_FINAL with ${UNKNOWN_OUTCOME}`, () => {
    let gateway;
    before(
      async () =>
        (gateway = await startGateway({
          vars: {
            UNKNOWN_OUTCOME,
            OUTCOMES: "POST:/v1/x:409=final,POST:/v1/x:422=released,302@/login=released",
            NOT_FINAL: "POST:/graphql:/errors,POST:/v1/x:404",
            BUSINESS_KEYS: "POST:/graphql:/no",
          },
        })),
    );
    after(() => gateway.dispose());

    /** Sends a request with the same key until it has its second response. Returns both. */
    async function twice(path, first, body = { a: 1 }) {
      gateway.origin.route(inTurn(first, created), path);
      const key = newKey();
      const before = gateway.hits(path);
      const [one, two] = [await gateway.post(path, key, body), await gateway.post(path, key, body)];
      return { one, two, hits: gateway.hits(path) - before, state: (await gateway.status(key)).state };
    }

    test("errors in a final JSON response make the outcome unknown", async () => {
      const body = { data: { id: 7 }, errors: [{ message: "x" }] };
      for (const request of [{ a: 1 }, { no: newKey() }]) {
        const { one, two, hits } = await twice("/graphql", json(200, body), request);
        assert.deepEqual([one.status, one.json, one.state], [200, body, "unknown"]);
        if (UNKNOWN_OUTCOME === "retry") assert.deepEqual([two.status, two.state, hits], [201, "completed", 2]);
        else assert.deepEqual([two.status, two.json.code, hits], [409, "idempotency_outcome_unknown", 1]);
      }
    });

    test("a JSON response without errors is final", async () => {
      for (const body of [{ data: 1 }, { data: 1, errors: [] }, { errors: null }]) {
        const { one, two, hits } = await twice("/graphql", json(200, body));
        assert.deepEqual([one.state, two.replayed, hits], ["completed", true, 1]);
      }
    });

    test("a 409 is final where the setting says so, and unknown elsewhere", async () => {
      const { one, two, hits } = await twice("/v1/x", json(409, { code: "duplicate" }));
      assert.deepEqual([one.status, one.state, two.status, two.replayed, hits], [409, "completed", 409, true, 1]);
      assert.equal((await twice("/v1/y", json(409, {}))).one.state, "unknown");
      assert.equal((await twice("/v1/x.json", json(409, {}))).one.state, "unknown", "another spelling is another route");
    });

    test("a 404 is unknown, and a 422 frees the key, where the setting says so", async () => {
      const lost = await twice("/v1/x", json(404, {}));
      assert.deepEqual([lost.one.state, lost.hits], ["unknown", UNKNOWN_OUTCOME === "retry" ? 2 : 1]);
      assert.equal((await twice("/V1/x", json(404, {}))).one.state, "unknown", "every spelling is protected");
      const free = await twice("/v1/x", json(422, {}));
      assert.deepEqual([free.one.state, free.two.state, free.hits, free.state], ["released", "completed", 2, "completed"]);
    });

    test("a redirect to the log-in page frees the key like a 401", async () => {
      const redirect = (target, status = 302) => ({ status, headers: { Location: target } });
      for (const target of ["/login?next=/v1/z", "https://sso.example/login"]) {
        const { one, two, hits } = await twice("/v1/z", redirect(target));
        assert.deepEqual([one.status, one.state, two.state, hits], [302, "released", "completed", 2], target);
      }
      for (const [target, status] of [["/orders/7"], ["/login/help"], ["/login", 303]]) {
        const { one, two, hits } = await twice("/v1/z", redirect(target, status));
        assert.deepEqual([one.state, two.replayed, hits], ["completed", true, 1], target);
      }
    });
  });
}
