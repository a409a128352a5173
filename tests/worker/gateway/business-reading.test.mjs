// A body that two programs could read in two ways is refused on a route with a business key, and an order has the same
// business key under every spelling of its path.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isError, isReplayOf, newBusinessKey, startBusinessKeys } from "../fixtures/business-keys.mjs";
import { created, inTurn, newKey } from "../fixtures/support.mjs";

const PATH = "/v1/orders";
const typed = (...types) => types.map((type) => ["Content-Type", type]);
const JSON_TYPE = typed("application/json");

/** Spellings of this path that some origins accept: Express, Tomcat, PHP, Rails, IIS, lenient proxies. */
const SPELLINGS = [
  "/v1/orders/",
  "/V1/Orders",
  "//v1//orders",
  "/v1;a=b/orders;jsessionid=1",
  "/v1%2forders",
  "/v1/x/..%2forders",
  "/index.php/v1/orders",
  "/Index.php/v1/orders/",
  "/public/app.php/v1/orders",
  "/v1/orders.json",
  "/v1/orders.xml/",
  "/v1/orders/index.php",
  "/v1/orders.",
  "/v1/orders%20",
  "/v1/orders%3Fx",
  "/v1/orders%00.json",
];

/** A gateway whose origin creates something at every path. */
async function start(vars) {
  const gateway = await startBusinessKeys({ vars });
  for (const path of [PATH, ...SPELLINGS]) gateway.origin.route(created, path);
  const send = (path, body, { headers = JSON_TYPE, ...more } = {}) =>
    gateway.call("POST", path, { body: typeof body === "object" && !Buffer.isBuffer(body) ? JSON.stringify(body) : body, headers, ...more });
  return Object.assign(gateway, { send });
}

describe("a business key", () => {
  let gateway;
  before(async () => (gateway = await start({ BUSINESS_KEYS: `POST:${PATH}:/buyer/no` })));
  after(() => gateway.dispose());

  /** Fails unless the body is refused with a key and without, and nothing reaches the origin. */
  const isRefused = async (what, body, headers, says) => {
    const before = gateway.origin.seen.length;
    for (const key of [newKey(), undefined]) {
      const response = await gateway.send(PATH, body, { headers, key });
      assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], `${what}: ${response.text}`);
      assert.match(response.json.message, says, what);
      if (key) assert.equal(await gateway.status(key), undefined, "the key has no record");
    }
    assert.equal(gateway.origin.seen.length, before, what);
  };

  const variants = (no) => [
    `{"buyer":{"no":"${no}","NO":"other"}}`,
    `{"buyer":{"NO":"other","no":"${no}"}}`,
    `{"buyer":{"No":"${no}"}}`,
    `{"buyer":{"n_o":"${no}"}}`,
    `{"BUYER":{"no":"${no}"}}`,
    `{"buyer":{"no":"${no}"},"Buyer":{"no":"other"}}`,
    `{"buyer":{"no":"${no}"},"\\u0042uyer":{"no":"other"}}`,
  ];

  test("whose name appears in two spellings is refused, at each level of the body", async () => {
    for (const body of variants(newBusinessKey())) await isRefused(body, body, JSON_TYPE, /take for buyer\.no/);
  });

  test("whose name contains letters that fold to other letters is refused", async () => {
    const other = await start({ BUSINESS_KEYS: `POST:${PATH}:/task` });
    try {
      for (const name of ["ta\u017fk", "tas\u212a", "TASK"]) {
        for (const body of [{ [name]: "1" }, { task: "2", [name]: "1" }]) {
          const response = await other.send(PATH, body, { key: newKey() });
          assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], name);
        }
      }
      assert.equal(other.hits(PATH), 0);
    } finally {
      await other.dispose();
    }
  });

  test("in JSON with another media type, or with none, is refused", async () => {
    const body = `{"buyer":{"no":"${newBusinessKey()}"}}`;
    for (const types of [
      [],
      [""],
      ["text/plain"],
      ["text/json"],
      ["application/x-www-form-urlencoded"],
      ["application/octet-stream"],
      ["application/json, application/json"],
      ["application/json", "application/json"],
      ["text/plain", "application/json"],
      ["application"],
    ]) {
      await isRefused(types.join(" and "), body, typed(...types), /application\/json/);
    }
    for (const odd of [` \n\t${body}`, `\ufeff${body}`, `/* x */${body}`, "[1]", `${body} and more`, Buffer.from(body, "utf16le"), Buffer.from(`\ufeff${body}`, "utf16le")]) {
      await isRefused(String(odd), odd, typed("text/plain"), /application\/json/);
    }
  });

  test("in another charset than UTF-8 is refused", async () => {
    const no = newBusinessKey();
    const body = `{"buyer":{"no":"${no}"}}`;
    for (const type of [
      "application/json; charset=utf-7",
      'application/json; charset="utf-16"',
      "application/json; charset=UTF-16LE",
      "application/json; charset=iso-8859-1",
      "application/json; charset=utf-8; charset=utf-7",
      "application/json; charset*=utf-8''utf-7",
      "application/json; charset = utf-7",
      "text/plain; charset=utf-7",
    ]) {
      await isRefused(type, body, typed(type), /UTF-8/);
      await isRefused(type, Buffer.from(body, "utf16le"), typed(type), /UTF-8/);
    }
    await isRefused("UTF-16 without a charset", Buffer.from(body, "utf16le"), JSON_TYPE, /valid, uncompressed JSON/);
    for (const type of ["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "application/merge-patch+json"]) {
      assert.equal((await gateway.send(PATH, { buyer: { no: newBusinessKey() } }, { headers: typed(type), key: newKey() })).status, 201, type);
    }
  });

  test("in JSON that only some programs accept is refused", async () => {
    for (const body of [`\ufeff{"buyer":{"no":"1"}}`, `{"buyer":{"no":"1"},}`, `{"buyer":{"no":"1"}/**/}`, `// x\n{"buyer":{"no":"1"}}`, `{'buyer':{'no':'1'}}`, `{"buyer":{"no":"1"}}{"buyer":{"no":"2"}}`]) {
      await isRefused(body, body, JSON_TYPE, /valid, uncompressed JSON/);
    }
  });

  const FORM = "application/x-www-form-urlencoded";
  const multipart = (...parts) => parts.map(([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`).join("") + "--B--\r\n";

  test("in a form is the field that origins read under this name", async () => {
    for (const [type, form] of [
      [FORM, (no, amount) => `buyer[no]=${no}&amount=${amount}`],
      [FORM, (no, amount) => `amount=${amount}&buyer%5Bn%6F%5D=${no}`],
      ["multipart/form-data; boundary=B", (no, amount) => multipart(["buyer[no]", no], ["amount", amount])],
    ]) {
      const no = newBusinessKey();
      const made = await gateway.send(PATH, form(no, 1), { headers: typed(type), key: newKey() });
      assert.equal(made.status, 201, made.text);
      const hits = gateway.hits(PATH);
      for (const key of [newKey, () => undefined]) {
        isReplayOf(await gateway.send(PATH, form(no, 1), { headers: typed(type), key: key() }), made);
        for (const [other, headers] of [[form(no, 2), typed(type)], [{ buyer: { no }, amount: 1 }, JSON_TYPE]]) {
          const response = await gateway.send(PATH, other, { headers, key: key() });
          assert.deepEqual([response.status, response.json.code, response.json.param], [400, "idempotency_error", "buyer.no"]);
        }
      }
      assert.equal(gateway.hits(PATH), hits);
    }
  });

  test("in a form that origins could read in two ways is refused", async () => {
    const no = newBusinessKey();
    for (const body of [`buyer[no]=${no}&buyer[no]=${no}`, `buyer[NO]=${no}`, `buyer.no=${no}`, `Buyer[no]=${no}&buyer[no]=${no}`, `buyer[no][]=${no}`, `buyer[][no]=${no}`, `a=1;buyer[no]=${no}`, `buyer[no]=${no}%`, Buffer.from("1f8b0800", "hex")]) {
      await isRefused(String(body), body, typed(FORM), /the field buyer\[no\]/);
    }
    await isRefused("no type", `buyer[no]=${no}`, typed(), /the field buyer\[no\]/);
    for (const type of ["multipart/form-data; boundary=B", "multipart/mixed; boundary=B"]) {
      await isRefused(type, multipart(["buyer[no]", no], ["Buyer[No]", no]), typed(type), /the field buyer\[no\]/);
      await isRefused(type, `--B\r\nbuyer[no]\r\n--B--\r\n`, typed(type), /the field buyer\[no\]/);
    }
  });

  test("is not searched for in a body that is neither JSON nor a form", async () => {
    for (const [type, body] of [["text/plain", "hello"], ["application/x-www-form-urlencoded", "no=1&seller[no]=2"], ["application/xml", "<a/>"], ["application/json", "[1]"], ["application/json", '"x"'], ["image/png", Buffer.from([0x89, 0x50])], ["text/plain", ""]]) {
      const hits = gateway.hits(PATH);
      for (const key of [newKey(), undefined]) assert.equal((await gateway.send(PATH, body, { headers: typed(type), key })).status, 201, type);
      assert.equal(gateway.hits(PATH), hits + 2);
    }
  });

  test("is the same under every spelling of its route's path", async () => {
    for (const [first, second] of SPELLINGS.flatMap((spelling) => [[PATH, spelling], [spelling, PATH]])) {
      const body = { buyer: { no: newBusinessKey() } };
      const made = await gateway.send(first, body, { key: newKey() });
      assert.equal(made.status, 201, first);
      const before = gateway.origin.seen.length;
      for (const key of [newKey(), undefined]) {
        const again = await gateway.send(second, body, { key });
        assert.deepEqual([again.status, again.json.code, again.json.param], [400, "idempotency_error", "buyer.no"], `${first} ${second}`);
      }
      isReplayOf(await gateway.send(first, body, { key: newKey() }), made);
      assert.equal(gateway.origin.seen.length, before, `${first} ${second}`);
    }
  });

  test("of another path is another business key", async () => {
    const body = { buyer: { no: newBusinessKey() } };
    const other = gateway.route();
    for (const path of [PATH, other, other]) assert.equal((await gateway.send(path, body, { key: newKey() })).status, 201);
  });
});

test("under a wildcard too, a business key is the same for all spellings of a path", async () => {
  const gateway = await start({ BUSINESS_KEYS: "POST:/v1/*:/no" });
  try {
    for (const spelling of SPELLINGS) {
      const body = { no: newBusinessKey() };
      assert.equal((await gateway.send(PATH, body, { key: newKey() })).status, 201);
      const before = gateway.origin.seen.length;
      isError(await gateway.send(spelling, body, { key: newKey() }), 400, "idempotency_error", "released");
      assert.equal(gateway.origin.seen.length, before, spelling);
    }
  } finally {
    await gateway.dispose();
  }
});

test("with ANONYMOUS=allow, a request without a credential can use a business key", async () => {
  const gateway = await start({ ANONYMOUS: "allow", BUSINESS_KEYS: `POST:${PATH}:/no` });
  try {
    const body = { no: newBusinessKey() };
    const made = await gateway.send(PATH, body, { as: null });
    assert.equal(made.status, 201);
    for (const key of [undefined, newKey()]) isReplayOf(await gateway.send(PATH, body, { as: null, key }), made);
    isError(await gateway.send(PATH, { ...body, amount: 2 }, { as: null }), 400, "idempotency_error", "completed");
    assert.equal(gateway.hits(PATH), 1);
    assert.equal((await gateway.send(PATH, body)).status, 201, "a caller with a credential has another scope");
    const odd = await gateway.send(PATH, body, { as: null, headers: typed("text/plain") });
    assert.deepEqual([odd.status, odd.json.code], [400, "invalid_request_error"]);
  } finally {
    await gateway.dispose();
  }
});

test("a request without its required business key never reaches the origin", async () => {
  const gateway = await start({ BUSINESS_KEYS: `POST:${PATH}:/no!,POST:/v1/refunds:/no` });
  try {
    gateway.origin.route(created, "/v1/refunds");
    for (const path of [PATH, "/V1/orders/", "/index.php/v1/orders"]) {
      for (const [type, body] of [["application/json", "{}"], ["application/json", '{"no":null}'], ["application/json", '{"no":""}'], ["application/json", '{"no":[1]}'], ["application/json", "[]"], ["application/x-www-form-urlencoded", "n=1"], ["application/x-www-form-urlencoded", "no="], ["text/plain", "no=1"], ["text/plain", ""]]) {
        for (const key of [newKey(), undefined]) {
          const response = await gateway.send(path, body, { headers: typed(type), key });
          assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], `${path} ${body}`);
          assert.match(response.json.message, /needs a business key. Send JSON whose member no /);
        }
      }
      const anonymous = await gateway.send(path, { no: newBusinessKey() }, { as: null });
      assert.deepEqual([anonymous.status, anonymous.json.code], [401, "authentication_error"]);
    }
    assert.equal(gateway.origin.seen.length, 0);
    assert.equal((await gateway.send(PATH, { no: newBusinessKey() })).status, 201);
    assert.equal((await gateway.send("/v1/refunds", {})).status, 201, "the origin gets a request whose business key is optional");
  } finally {
    await gateway.dispose();
  }
});

test("FINGERPRINT_IGNORE applies to every spelling of its path, and other paths are compared in full", async () => {
  const vars = { BUSINESS_KEYS: "none", FINGERPRINT_IGNORE: `POST:${PATH}:/nonce,POST:/v1/orders.json:/at` };
  const gateway = await start(vars);
  try {
    for (const path of SPELLINGS.filter((spelling) => spelling !== "/v1/orders.json")) {
      const key = newKey();
      const made = await gateway.send(path, { a: 1, nonce: 1 }, { key });
      isReplayOf(await gateway.send(path, { a: 1, nonce: 2 }, { key }), made, path);
      isError(await gateway.send(path, { a: 2, nonce: 1 }, { key }), 400, "idempotency_error", "completed");
      isError(await gateway.send(PATH, { a: 1, nonce: 1 }, { key }), 400, "idempotency_error", "completed");
    }
    // A route with its own rule uses only that rule.
    const key = newKey();
    const made = await gateway.send("/v1/orders.json", { nonce: 1, at: 1 }, { key });
    isReplayOf(await gateway.send("/v1/orders.json", { nonce: 1, at: 2 }, { key }), made);
    isError(await gateway.send("/v1/orders.json", { nonce: 2, at: 1 }, { key }), 400, "idempotency_error", "completed");
  } finally {
    await gateway.dispose();
  }
});

test("a look-up applies to every spelling of its path, but not to a body that could be read in two ways", async () => {
  const gateway = await start({ BUSINESS_KEYS: "none", RESOLVE: `POST:${PATH}:/found?no={/no}#/id` });
  try {
    gateway.origin.route(() => ({ headers: { "Content-Type": "application/json" }, body: '{"id":"ord_1"}' }), "/found");
    for (const path of SPELLINGS) {
      gateway.origin.route(inTurn(500, created), path);
      const [key, no] = [newKey(), newBusinessKey()];
      assert.equal((await gateway.send(path, { no }, { key })).status, 500);
      const found = await gateway.send(path, { no }, { key });
      assert.deepEqual([found.status, found.text, found.replayed], [200, '{"id":"ord_1"}', true], path);
    }
    {
      gateway.origin.route(inTurn(500, created), PATH);
      const more = { key: newKey(), headers: typed("application/x-www-form-urlencoded") };
      assert.equal((await gateway.send(PATH, "no=A%2F1", more)).status, 500);
      const found = await gateway.send(PATH, "no=A%2F1", more);
      assert.deepEqual([found.status, found.text, found.replayed], [200, '{"id":"ord_1"}', true]);
      assert.equal(gateway.origin.last("/found").target, "/found?no=A%2F1");
    }
    for (const body of ['{"no":"A","NO":"B"}', '{"No":"A"}']) {
      gateway.origin.route(inTurn(500, created), PATH);
      const key = newKey();
      await gateway.send(PATH, body, { key });
      const before = gateway.origin.seen.length;
      isError(await gateway.send(PATH, body, { key }), 409, "idempotency_outcome_unknown", "unknown");
      assert.equal(gateway.origin.seen.length, before, "the look-up could find another customer's order");
    }
  } finally {
    await gateway.dispose();
  }
});
