// Settings are checked before any request is served. An error names the wrong setting and its valid values.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { newKey, startGateway, startWorker } from "../fixtures/support.mjs";

const hash = "ab".repeat(32);
const secret = `whsec_${"a2tr".repeat(8)}`;

/** Each setting with invalid values. */
const WRONG = {
  SANDBOX: ["yes", "true", "Open"],
  UPSTREAM: ["localhost", "ftp://x", "http://", "http://user:s3cr3t@x", "http://x/?q", "http://x/#f", "//x"],
  RETENTION_SECONDS: ["0", "-1", "1.5", "1e3", "+5", "x", "31536001", "99999999999999999999", "60,70", "POST:/v1/orders", "POST:/v1/orders:0", "60,post:/v1:70"],
  LEASE_SECONDS: ["0", "-1", "3601"],
  ORIGIN_TIMEOUT_SECONDS: ["0", "30"],
  UNKNOWN_OUTCOME: ["maybe", "Retry", "hold,retry"],
  EXPIRED_KEY: ["forgotten"],
  KEY_REQUIRED: ["/v1", "post:/v1", "POST:v1", "POST:/a*", "POST:/v1,x"],
  KEY_HEADERS: [",", "a b", "Idempotency-Key,Host", "Authorization", "Content-Type", "X-Request-Id", "Idempotency-Attempt", "x-api-key", "X-Forwarded-For", "X-Key,x_key"],
  BLANK_KEY: ["allow", "true"],
  MAX_KEY_LENGTH: ["0", "256", "x"],
  SKIP: ["/v1", "post:/v1", "POST:/a*", "POST:/v1/orders", "POST:/v1/Orders/"],
  NOT_FINAL: ["404=unknown", "307", "errors", "POST:/v1", "post:/v1:/errors"],
  OUTCOMES: ["409", "409=ok", "307=final", "/errors=released", "200=released", "302=released", "POST:/v1", "post:/v1:409=final"],
  HEADERS_NOT_REPLAYED: ["a b", "Content-Type", "POST:/v1:Content-Encoding", "post:/v1:X-A"],
  DIALECT: ["stripe"],
  SCOPE: ["header:a+b", "header:a,header:A", "header:a+header:b,header:b", "X-Api-Key", "header:", "query:key", "header:a b", "cookie:a=b", "jwt:", "jwt:a b", "jwt:sub,header:Authorization", "jwt:sub,jwt:id", "origin:/me", "origin:/me#id", "origin:/me#/id,header:a", "origin:/me#/id+jwt:sub", "origin:/me#/id+origin:/you#/id"],
  SCOPE_CACHE_SECONDS: ["-1", "3601", "1m"],
  REPLAY_AUTHORIZATION: ["/v1/me", "origin:", "origin:v1/me", "origin://s3cr3t/me", "origin:/v1/me#/id", "header:X-Api-Key", "origin:/a/../me"],
  JWKS_URL: ["https://id.example/jwks"],
  JWT_ISSUER: ["https://id.example/"],
  JWT_AUDIENCE: ["s3cr3t"],
  ANONYMOUS: ["true"],
  JOURNAL_RETENTION_SECONDS: ["0", "-1", "315360001", "90d"],
  MAX_REPLAY_BYTES: ["-1", "1887437", "1MiB"],
  MAX_REQUEST_BYTES: ["-1", "33554433"],
  REPLAY_MEMORY_BYTES: ["-1", "8388609", "4MiB", "none"],
  CORS_ORIGINS: ["shop.example", "https://shop.example/", "https://shop.example,*", "https://SHOP.example", "null", "https://*.shop.example", "https://*", "https://shop.example/checkout", "https://shop.example:443", "ftp://shop.example", "https://shop$.example"],
  CONNECT_FAILURE: ["release"],
  FINGERPRINT_IGNORE: ["POST:/v1", "POST:/v1:nonce", "post:/v1:/nonce"],
  FINGERPRINT_SECRET: ["s3cr3t", ":s3cr3t", "k1:", "k1:s3cr3t,k1:b", "s3cr3t id:a", "k1:s3cr3t,"],
  SCOPE_ALIASES: ["s3cr3t", "s3cr3t:acme", `${hash}:`, `${hash}:a,${hash}:b`],
  KEY_FIELD: ["a b", 'a"', "a&b", "a=b", "%6b", "a+b", "a;b", "a\\b", "clé", "x".repeat(65), "_charset_"],
  BUSINESS_KEYS: ["POST:/v1/orders", "POST:/v1/orders:no", "post:/v1:/no", "POST:/v1/orders:/no,none", "/no"],
  RESOLVE: [
    "POST:/v1/orders:/v1/orders?out_trade_no={/out_trade_no}",
    ...["POST:/v1/orders", "POST:/v1:/x#/id", "POST:/v1:x?y={/z}#/id", "POST:/v1:https://x/{/z}#/id", "POST:/v1:/x/{z}#/id"],
    ...["POST:/v1:/x/{/z}#", "POST:/v1:/x/{/z}#id", "POST:/v1:/x/{/z}#/~2", "POST:/v1:/x/{/z}#/%", "POST:/v1:/x/{/z}#/a#/b"],
  ],
  WEBHOOK_TARGETS: ["LOCAL", "all", "true", "https://shop.example"],
  WEBHOOK_SECRETS: [
    "dodo",
    "whsec_s3cr3t",
    `:${secret}`,
    `do do:${secret}`,
    `a/b:${secret}`,
    "dodo:s3cr3t",
    "dodo:whsec_s3cr3t",
    "dodo:whsec_a2tr",
    `dodo:${secret},polar:whsec_s3cr3t`,
  ],
};

/** Settings that are wrong together, and the one that the error names. */
const jwt = { SCOPE: "jwt:sub", JWKS_URL: "https://id.example/jwks", JWT_ISSUER: "https://id.example/", JWT_AUDIENCE: "a,b" };
const TOGETHER = [
  ...["JWKS_URL", "JWT_ISSUER", "JWT_AUDIENCE"].map((name) => [{ ...jwt, [name]: "" }, name]),
  [{ ...jwt, JWT_AUDIENCE: " , " }, "JWT_AUDIENCE"],
  ...["http://id.example/jwks", "http://127.0.0.1.example/", "ftp://127.0.0.1/", "https://u:s3cr3t@id.example/", "https://id.example/#f", "id.example"].map(
    (JWKS_URL) => [{ ...jwt, JWKS_URL }, "JWKS_URL"],
  ),
];
const RIGHT = [jwt, { ...jwt, JWKS_URL: "http://localhost:9/jwks?a=b" }, { ...jwt, JWKS_URL: "http://[::1]/" }];

/**
 * Vars that are not settings, and for each the setting that was probably or perhaps meant. null: the var does not
 * resemble a setting.
 */
const NAMES = [
  [{ UNKNOWN_OUTCOM: "hold" }, "UNKNOWN_OUTCOME"],
  [{ KEY_REQIRED: "POST:/v1/*" }, "KEY_REQUIRED"],
  [{ lease_seconds: "5" }, "LEASE_SECONDS"],
  [{ UPSTRAEM: "http://127.0.0.1:1" }, "UPSTREAM"],
  [{ UPSTREAM_URL: "http://127.0.0.1:1" }, "UPSTREAM"],
  [{ ONCEKEY_DIALECT: "ietf" }, "DIALECT"],
  [{ LEASE_SECONDS: 5 }, "LEASE_SECONDS"],
  [{ SCOPES: "header:X-Api-Key" }, "SCOPE"],
  [{ SCOEP: "header:X-Api-Key" }, "SCOPE"],
  [{ UPSTREAM_TOKEN: "s3cr3t" }, "UPSTREAM", "perhaps"],
  [{ RETENTION: "5" }, "RETENTION_SECONDS", "perhaps"],
  [{ MAX_CONNECTIONS: "5" }, "MAX_REQUEST_BYTES", "perhaps"],
  [{ ORIGIN: "https://api.example.com" }, "UPSTREAM"],
  [{ ORIGIN_URL: "x" }, "ORIGIN_TIMEOUT_SECONDS", "perhaps"],
  [{ OTHER: "x", NODE_ENV: "production", DATABASE: "x", METRICS_URL: "x", STORE: "x", CODE: "x", "": "x" }, null],
  [{ SCOPES: {}, UPSTREAM_KV: {}, ADMIN: { fetch: null } }, null],
];

const CASES = Object.entries(WRONG).flatMap(([name, values]) => values.map((value) => [name, value]));

describe("settings", () => {
  let worker;
  before(async () => (worker = await startWorker({ wrapper: "many-settings.mjs", copies: CASES.length + 2 + NAMES.length + TOGETHER.length + RIGHT.length })));
  after(() => worker.dispose());

  const ask = (copy, vars, path, more = {}) =>
    worker.fetch(`/${copy}${path}`, {
      ...more,
      headers: { "Test-Settings": JSON.stringify(vars), "X-Api-Key": "a", "Idempotency-Key": newKey() },
    });

  for (const name of Object.keys(WRONG)) {
    test(`a Worker with a wrong ${name} serves no request, and the error names the setting and its valid values`, async () => {
      const every = [
        ["GET", "/_oncekey/health"],
        ["POST", "/v1/orders"],
        ["GET", "/v1/orders/x"],
        ["GET", "/_oncekey/key"],
        ["POST", "/webhooks/x"],
      ];
      const first = CASES.findIndex(([one]) => one === name);
      for (const [copy, [one, value]] of CASES.entries()) {
        if (one !== name) continue;
        for (const [method, path] of copy === first ? every : every.slice(1, 2)) {
          const response = await ask(copy, { [name]: value }, path, { method });
          const body = await response.json();
          assert.deepEqual([response.status, body.type], [500, "api_error"], `${name}=${value} ${path}`);
          assert.ok(body.message.includes(name), body.message);
          if (name === "RESOLVE") assert.match(body.message, /for example POST:\/v1\/orders:\/v1\/orders\?out_trade_no=\{\/out_trade_no\}#\/data\/id/);
          assert.doesNotMatch(body.message, /s3cr3t/, "the value may be a secret");
          assert.equal(body.request_id, response.headers.get("X-Request-Id"));
        }
      }
    });
  }

  test("a wrong setting is logged too, and no log shows a secret", () => {
    const logged = worker.logs.map(({ message }) => message).join("\n");
    assert.match(logged, /LEASE_SECONDS: must be a whole number from 1 to 3600/);
    assert.doesNotMatch(logged, /s3cr3t/);
  });

  for (const [at, [vars, meant, perhaps]] of NAMES.entries()) {
    test(`${Object.keys(vars)} is ${meant ? "reported by health" : "ignored"}`, async () => {
      const response = await ask(CASES.length + 2 + at, vars, "/_oncekey/health");
      const body = await response.json();
      assert.equal(response.status, meant && !perhaps ? 500 : 200, JSON.stringify(body));
      if (!meant) return assert.deepEqual(body, { status: "ok" });
      const says = perhaps ? body.warnings.join() : body.message;
      for (const name of [Object.keys(vars)[0], meant]) assert.ok(says.includes(name), says);
      assert.ok(!JSON.stringify(body).includes("s3cr3t"));
    });
  }

  test("settings that do not fit together are an error too", async () => {
    const from = CASES.length + 2 + NAMES.length;
    for (const [at, [vars, name]] of TOGETHER.entries()) {
      const response = await ask(from + at, vars, "/_oncekey/health");
      const text = await response.text();
      assert.equal(response.status, 500, JSON.stringify(vars));
      assert.ok(text.includes(`configured correctly: ${name}: `), text);
      assert.ok(!text.includes("s3cr3t"));
    }
    for (const [at, vars] of RIGHT.entries())
      assert.equal((await ask(from + TOGETHER.length + at, vars, "/_oncekey/health")).status, 200, JSON.stringify(vars));
  });

  test("an empty setting counts as absent", async () => {
    const names = Object.keys(WRONG).filter((name) => name !== "SANDBOX");
    const vars = Object.fromEntries(names.map((name) => [name, ""]));
    assert.equal((await ask(CASES.length, vars, "/_oncekey/health")).status, 200);
  });

  test("space around a value is ignored", async () => {
    const vars = { DIALECT: " ietf ", SCOPE: " header:X-A , cookie:b ", LEASE_SECONDS: " 15 " };
    assert.equal((await ask(CASES.length + 1, vars, "/_oncekey/health")).status, 200);
    assert.equal(
      (await ask(CASES.length + 1, vars, "/_oncekey/nothing")).headers.get("Content-Type"),
      "application/problem+json",
    );
  });
});

describe("without UPSTREAM", () => {
  const ask = async (vars) => {
    const worker = await startWorker({ vars });
    try {
      const headers = { "X-Api-Key": "kuko_test_a", "Idempotency-Key": newKey() };
      return await Promise.all(
        [["GET", "/_oncekey/health"], ["POST", "/v1/orders"], ["GET", "/v1/orders/x"], ["GET", "/"]].map(async ([method, path]) => {
          const response = await worker.fetch(path, { method, headers });
          return { status: response.status, text: await response.text() };
        }),
      );
    } finally {
      await worker.dispose();
    }
  };

  for (const SANDBOX of ["", "closed"]) {
    test(`and with SANDBOX=${SANDBOX}, a Worker serves no request, and says how to open the sandbox`, async () => {
      for (const { status, text } of await ask({ SANDBOX })) {
        assert.equal(status, 500);
        assert.match(JSON.parse(text).message, /UPSTREAM: is missing, and the sandbox is closed.* SANDBOX=open$/);
      }
    });
  }

  test("and with SANDBOX=open, a Worker serves the sandbox", async () => {
    const [health] = await ask({ SANDBOX: "open" });
    assert.deepEqual(health, { status: 200, text: '{"status":"ok"}' });
  });
});

test("a Worker with UPSTREAM ignores SANDBOX", async () => {
  for (const SANDBOX of ["open", "closed"]) {
    const gateway = await startGateway({ vars: { SANDBOX } });
    try {
      const path = gateway.route();
      assert.equal((await gateway.post(path, newKey())).status, 201);
      assert.equal(gateway.hits(path), 1);
    } finally {
      await gateway.dispose();
    }
  }
});

test("the bounds of numbers are valid values", async () => {
  const vars = {
    RETENTION_SECONDS: "31536000",
    LEASE_SECONDS: "3600",
    MAX_KEY_LENGTH: "255",
    ORIGIN_TIMEOUT_SECONDS: "29",
    JOURNAL_RETENTION_SECONDS: "315360000",
    MAX_REPLAY_BYTES: "1887436",
    MAX_REQUEST_BYTES: "33554432",
    REPLAY_MEMORY_BYTES: "8388608",
    SCOPE_CACHE_SECONDS: "3600",
  };
  const gateway = await startGateway({ vars });
  try {
    const path = gateway.route();
    const key = newKey();
    const first = await gateway.post(path, key);
    assert.equal(first.status, 201);
    const days = (Date.parse(first.get("Idempotency-Expires")) - Date.now()) / 86_400_000;
    assert.ok(days > 364.9 && days <= 365.1);
    assert.ok((await gateway.post(path, key)).replayed);
  } finally {
    await gateway.dispose();
  }
});

describe("without settings", () => {
  let gateway;
  before(async () => (gateway = await startGateway()));
  after(() => gateway.dispose());

  test("every caller can read health when the Worker can serve", async () => {
    const response = await gateway.get("/_oncekey/health", { as: null });
    assert.deepEqual([response.status, response.json], [200, { status: "ok" }]);
    assert.equal(response.get("Cache-Control"), "no-store");
  });

  test("without WEBHOOK_SECRETS, an event returns 404 and does not reach the origin", async () => {
    for (const path of ["/webhooks/dodo", "/webhooks/", "/webhooks/a/b"]) {
      const response = await gateway.post(path, undefined, { type: "x" }, { as: null });
      assert.deepEqual([response.status, response.json.type], [404, "invalid_request_error"]);
    }
    assert.equal(gateway.origin.seen.length, 0);
  });
});

describe("make start", () => {
  const check = (env) =>
    spawnSync(process.execPath, ["scripts/check-start.mjs"], {
      cwd: new URL("../../..", import.meta.url),
      env: { PATH: process.env.PATH, ...env },
      encoding: "utf8",
    });

  test("an invalid PORT is reported before the build", () => {
    for (const PORT of ["abc", "0", "70000", "-1", "8787x", "0x50", "1e3"]) {
      const { status, stderr } = check({ PORT });
      assert.deepEqual([status, stderr.includes(`PORT=${PORT}`)], [1, true], stderr);
    }
    for (const PORT of ["", "1", "65535"]) assert.equal(check({ PORT }).status, 0, PORT);
  });

  test("an unknown setting is reported together with the most similar known setting", () => {
    const { status, stderr } = check({ ONCEKEY_VARS: "LEASE_SECONDS=5 UNKNOWN_OUTCOM=s3cr3t" });
    assert.equal(status, 1);
    assert.match(stderr, /UNKNOWN_OUTCOM is not .*UNKNOWN_OUTCOME\?/);
    for (const ONCEKEY_VARS of ["x", "=x", "lease_seconds=5", "SCOPE=header:a SCOPE=header:b"])
      assert.equal(check({ ONCEKEY_VARS }).status, 1, ONCEKEY_VARS);
    const all = Object.keys(WRONG).map((name) => `${name}=x`).join(" ");
    assert.equal(check({ ONCEKEY_VARS: `${all} ADMIN_TOKEN=x` }).status, 0);
  });
});
