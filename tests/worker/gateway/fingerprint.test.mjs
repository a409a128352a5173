// Which requests count as the same request. The content decides, and its spelling does not matter.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { newKey, recordName, startGateway } from "../fixtures/support.mjs";

const typed = (type) => ({ headers: type === undefined ? [] : [["Content-Type", type]] });
const json = typed("application/json");

/** Sends two requests with one key. Returns "replayed" or the type of the error. */
async function compare(
  gateway,
  [first, firstMore = json],
  [second, secondMore = firstMore],
  { path = gateway.route() } = {},
) {
  const key = newKey();
  assert.equal((await gateway.post(path, key, first, firstMore)).status, 201);
  const response = await gateway.post(path, key, second, secondMore);
  assert.equal(gateway.hits(path), 1);
  if (!response.replayed) assert.equal(response.status, 400);
  return response.replayed ? "replayed" : response.json.type;
}

describe("the same request", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ faults: true })));
  after(() => gateway.dispose());

  test("fault 16: JSON is the same request whatever its member order, spaces, escapes and spelling of numbers", async () => {
    const spellings = [
      ['{"amount": 10, "to": {"a": "x", "b": [1, 2]}}', '{"to":{"b":[1,2],"a":"\\u0078"},"amount":10}'],
      ['{"a":1}', '\n{ "a" : 1.0 }\t'],
      ['{"a":1e2}', '{"a":100}'],
      ['{"a":-0}', '{"a":0}'],
      ['"/"', '"\\/"'],
      ['["\u00e9","\ud83d\ude00"]', '["\\u00E9","\\ud83d\\ude00"]'],
    ];
    for (const [one, other] of spellings) assert.equal(await compare(gateway, [one], [other]), "replayed", one);
  });

  test("a large body, which the platform hashes, is compared by the same rules and stored as the same hash", async () => {
    const text = "x".repeat(100_000);
    const large = (amount) => `{"amount":${amount},"note":"${text}"}`;
    assert.equal(await compare(gateway, [large(10)], [`{ "note": "${text}", "amount": 10.0 }`]), "replayed");
    assert.equal(await compare(gateway, [large(10)], [large(11)]), "idempotency_error");
    for (const [type, tag, body] of [
      ["application/json", 1, large(10)],
      ["text/plain", 0, large(10)],
    ]) {
      const [key, path] = [newKey(), gateway.route()];
      assert.equal((await gateway.post(path, key, body, typed(type))).status, 201);
      const hash = createHash("sha256");
      for (const part of ["oncekey-fingerprint-1", "POST", path, "", type]) {
        const length = Buffer.alloc(8);
        length.writeBigUInt64BE(BigInt(Buffer.byteLength(part)));
        hash.update(length).update(part);
      }
      const expected = hash.update(Buffer.of(tag)).update(body).digest("hex");
      const [row] = await gateway.sql(key, "SELECT hex(record) AS record FROM records WHERE name = ?", { hex: recordName(key) });
      assert.ok(row.record.toLowerCase().includes(expected));
    }
  });

  test("the media type counts without its parameters", async () => {
    const as = (type) => ['{"a":1}', typed(type)];
    assert.equal(await compare(gateway, as("application/json"), as("Application/JSON; charset=utf-8")), "replayed");
    assert.equal(
      await compare(gateway, ['{"a":1,"b":2}', typed("application/vnd.api+json")], ['{"b":2,"a":1}']),
      "replayed",
    );
    assert.equal(await compare(gateway, as("application/json"), as("text/plain")), "idempotency_error");
    assert.equal(await compare(gateway, as("application/json"), as(undefined)), "idempotency_error");
  });

  test("fault 19: every digit of a number counts", async () => {
    const pairs = [
      ["9007199254740993", "9007199254740992"],
      ["0.1000000000000000055", "0.1"],
      ["1234567890123456789012345678901", "1234567890123456789012345678902"],
      ["1e400", "1e401"],
      ["1E-400", "0"],
      ["10", "1"],
    ];
    for (const [one, other] of pairs) {
      assert.equal(
        await compare(gateway, [`{"amount":${one}}`], [`{"amount":${other}}`]),
        "idempotency_error",
        `${one}, ${other}`,
      );
    }
  });

  test("a body that is compressed again is the same request, whatever is in the gzip header", async () => {
    const body = Buffer.from('{"amount":10,"note":"x"}');
    const gzip = { headers: [["Content-Type", "application/json"], ["Content-Encoding", "gzip"]] };
    const stream = gzipSync(body);
    /** Returns the same data with another gzip header: flags, time, level, system, and fields that the flags announce. */
    const anew = (flags, time, more = Buffer.alloc(0)) => {
      const header = Buffer.from([0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 2, 255]);
      header.writeUInt32LE(time, 4);
      return Buffer.concat([header, more, stream.subarray(10)]);
    };
    const extra = Buffer.from([3, 0, 1, 2, 3]);
    for (const [what, other] of [
      ["time", anew(0, 1_700_000_000)],
      ["name", anew(0x08, 1, Buffer.from("/tmp/a1b2\0"))],
      ["everything", anew(0x1e, 2, Buffer.concat([extra, Buffer.from("n\0comment\0"), Buffer.from([9, 9])]))],
    ]) {
      assert.equal(await compare(gateway, [stream, gzip], [other]), "replayed", what);
      const plain = { headers: [["Content-Type", "application/octet-stream"]] };
      assert.equal(await compare(gateway, [stream, plain], [other]), "idempotency_error", `${what}, as content`);
    }
    const changed = gzipSync('{"amount":11,"note":"x"}');
    assert.equal(await compare(gateway, [stream, gzip], [changed]), "idempotency_error");
    // Bytes that are not a gzip stream are compared unchanged.
    for (const broken of [stream.subarray(0, 12), anew(0x20, 0), anew(0x04, 0), Buffer.from([0x1f, 0x8b]), Buffer.alloc(0)])
      assert.equal(await compare(gateway, [stream, gzip], [broken]), "idempotency_error");
    assert.equal(await compare(gateway, [anew(0x20, 1), gzip], [anew(0x20, 2)]), "idempotency_error");
  });

  test("array order, letter case, null or absent, text or number make a different request", async () => {
    const pairs = [
      ["[1,2]", "[2,1]"],
      ['{"a":"x"}', '{"a":"X"}'],
      ['{"a":null}', "{}"],
      ['{"a":1}', '{"a":"1"}'],
      ['{"a":{}}', '{"a":[]}'],
      ['"e\u0301"', '"\u00e9"'],
    ];
    for (const [one, other] of pairs) assert.equal(await compare(gateway, [one], [other]), "idempotency_error", one);
  });

  test("JSON with more than one meaning is compared byte for byte", async () => {
    const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
    for (const body of ['{"a":1,"a":2}', '{"a":', '"\\ud800"', "01", "NaN", deep, Buffer.from([0x22, 0xff, 0x22])]) {
      const spaced = Buffer.concat([Buffer.from(body), Buffer.from(" ")]);
      assert.equal(await compare(gateway, [body], [body]), "replayed");
      assert.equal(await compare(gateway, [body], [spaced]), "idempotency_error");
    }
  });

  test("fault 17: the same key with another query is a mismatch", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.post(`${path}?to=alice`, key)).status, 201);
    for (const query of ["?to=mallory", "", "?to=alice&x=1", "?to=Alice", "?to=%61lice"]) {
      const response = await gateway.post(path + query, key);
      assert.deepEqual([response.status, response.json.type], [400, "idempotency_error"], query);
    }
    assert.ok((await gateway.post(`${path}?to=alice`, key)).replayed);
    assert.equal(gateway.hits(path), 1);
  });

  test("fault 18: the same key on another path or method is a mismatch, never a replay", async () => {
    const [path, other] = [gateway.route(), gateway.route()];
    const key = newKey();
    assert.equal((await gateway.post(path, key)).status, 201);
    for (const [method, target] of [
      ["POST", other],
      ["POST", `${path}/`],
      ["PUT", path],
      ["PATCH", path],
      ["DELETE", path],
    ]) {
      const response = await gateway.call(method, target, { key, body: { a: 1 } });
      assert.deepEqual(
        [response.status, response.json.type, response.state],
        [400, "idempotency_error", "completed"],
        method + target,
      );
    }
    assert.deepEqual([gateway.hits(path), gateway.hits(other)], [1, 0]);
  });

  test("fault 26: a form with another boundary is the same request, and with other content a mismatch", async () => {
    const form = (boundary, parts) => {
      const lines = parts.flatMap(([head, value]) => [
        `--${boundary}`,
        `Content-Disposition: form-data; ${head}`,
        "",
        value,
      ]);
      return [[...lines, `--${boundary}--`, ""].join("\r\n"), typed(`multipart/form-data; boundary=${boundary}`)];
    };
    const file = (content) => [
      ['name="amount"', "10"],
      ['name="f"; filename="a.txt"', content],
    ];
    assert.equal(
      await compare(gateway, form("AaB03x", file("x")), form("----WebKitFormBoundary9", file("x"))),
      "replayed",
    );
    assert.equal(await compare(gateway, form("AaB03x", file("x")), form("AaB03x", file("y"))), "idempotency_error");
    assert.equal(
      await compare(gateway, form("AaB03x", file("x")), form("AaB03x", file("x").slice(0, 1))),
      "idempotency_error",
    );
    assert.equal(
      await compare(gateway, form("AaB03x", file("x")), form("AaB03x", file("x").reverse())),
      "idempotency_error",
      "order of parts",
    );
  });

  test("a urlencoded form is compared by its pairs, and pairs of one field keep their order", async () => {
    const form = (body) => [body, typed("application/x-www-form-urlencoded")];
    const note = "two+words".repeat(10_000);
    for (const [one, other] of [
      ["a=1&b=2", "b=2&a=1"],
      ["note=two+words&a=%c3%a9", "a=%C3%A9&note=two%20words"],
      ["card[number]=42&card[exp]=12", "card%5Bexp%5D=12&card%5Bnumber%5D=42"],
      // Large enough for the platform to hash it.
      [`note=${note}&a=1`, `a=1&note=${note.replaceAll("+", "%20")}`],
    ]) {
      assert.equal(await compare(gateway, form(one), form(other)), "replayed", other.slice(0, 50));
    }
    for (const [one, other] of [
      ["a=1&b=2", "b=1&a=2"],
      ["a=1&a=2", "a=2&a=1"],
      ["i[][id]=a&i[][n]=1&i[][id]=b", "i[][id]=a&i[][id]=b&i[][n]=1"],
      ["a=1&b=2&c", "b=2&a=1&c"],
      [`note=${note}&a=1`, `a=2&note=${note}`],
    ]) {
      assert.equal(await compare(gateway, form(one), form(other)), "idempotency_error", other.slice(0, 50));
    }
  });

  test("a body of another kind is compared byte by byte", async () => {
    const bytes = typed("application/octet-stream");
    assert.equal(
      await compare(gateway, [Buffer.from([0, 255, 1]), bytes], [Buffer.from([0, 255, 1]), bytes]),
      "replayed",
    );
    assert.equal(
      await compare(gateway, [Buffer.from([0, 255, 1]), bytes], [Buffer.from([0, 255, 1, 0]), bytes]),
      "idempotency_error",
    );
  });

  test("other headers of a request do not matter", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal(
      (
        await gateway.post(
          path,
          key,
          { a: 1 },
          {
            headers: [
              ["User-Agent", "one"],
              ["X-Request-Id", "mine"],
            ],
          },
        )
      ).status,
      201,
    );
    assert.ok(
      (
        await gateway.post(
          path,
          key,
          { a: 1 },
          {
            headers: [
              ["User-Agent", "two"],
              ["Accept", "*/*"],
            ],
          },
        )
      ).replayed,
    );
  });
});

describe("a CSRF token that is new with each page load", () => {
  let gateway;
  before(async () => (gateway = await startGateway({ vars: { KEY_FIELD: "idempotency_key" } })));
  after(() => gateway.dispose());

  const urlencoded = typed("application/x-www-form-urlencoded");
  const names = ["authenticity_token", "csrfmiddlewaretoken", "_token", "__RequestVerificationToken", "_csrf"];

  for (const name of names) {
    test(`fault 76: ${name} in a form does not count, and all other fields do`, async () => {
      const form = (token, amount) => [`${name}=${token}&amount=${amount}`, urlencoded];
      assert.equal(await compare(gateway, form("a%2B1%3D", 5), form("b%2F2%3D", 5)), "replayed");
      assert.equal(await compare(gateway, form("a", 5), ["amount=5", urlencoded]), "replayed");
      assert.equal(await compare(gateway, form("a", 5), form("a", 6)), "idempotency_error");
      const json = (token) => [JSON.stringify({ [name]: token, amount: 5 })];
      assert.equal(await compare(gateway, json("a"), json("b")), "idempotency_error");
    });
  }

  test("fault 76: a form that the browser posts again, with the same key field and a new CSRF token, is executed once", async () => {
    const path = gateway.route();
    const key = newKey();
    const post = (token, boundary) => {
      const part = (name, value) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
      const body = `${part("csrfmiddlewaretoken", token)}${part("amount", 5)}${part("idempotency_key", key)}--${boundary}--\r\n`;
      return gateway.call("POST", path, { body, ...typed(`multipart/form-data; boundary=${boundary}`) });
    };
    assert.equal((await post("one", "b1")).status, 201);
    const again = await post("two", "b2");
    assert.ok(again.replayed, JSON.stringify(again.json));
    assert.equal(gateway.hits(path), 1);
  });
});

describe("FINGERPRINT_IGNORE", () => {
  let gateway;
  before(
    async () =>
      (gateway = await startGateway({ vars: { FINGERPRINT_IGNORE: "POST:/o/*:/nonce,*:/o/*:/meta/sent~1at" } })),
  );
  after(() => gateway.dispose());

  test("only members that FINGERPRINT_IGNORE names may differ", async () => {
    const body = (nonce, at, amount) => [JSON.stringify({ nonce, meta: { "sent/at": at, who: "me" }, amount })];
    assert.equal(await compare(gateway, body(1, 1, 5), body(2, 2, 5)), "replayed");
    assert.equal(await compare(gateway, body(1, 1, 5), body(1, 1, 6)), "idempotency_error");
    assert.equal(await compare(gateway, body(1, 1, 5), ['{"amount":5,"meta":{"who":"me"}}']), "replayed");
    assert.equal(await compare(gateway, body(1, 1, 5), ['{"amount":5,"meta":{"who":"you"}}']), "idempotency_error");
  });

  test("a pointer with one segment names a field of a form of either type", async () => {
    const pairs = (nonce, amount) => [`nonce=${nonce}&amount=${amount}`, typed("application/x-www-form-urlencoded")];
    const parts = (nonce, amount, boundary = `b${nonce}`) => {
      const part = (name, value) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
      return [
        `${part("nonce", nonce)}${part("amount", amount)}--${boundary}--\r\n`,
        typed(`multipart/form-data; boundary=${boundary}`),
      ];
    };
    for (const form of [pairs, parts]) {
      assert.equal(await compare(gateway, form(1, 5), form(2, 5)), "replayed");
      assert.equal(await compare(gateway, form(1, 5), form(1, 6)), "idempotency_error");
    }
    const deep = (value) => [`meta=${value}&amount=5`, typed("application/x-www-form-urlencoded")];
    assert.equal(await compare(gateway, deep(1), deep(2)), "idempotency_error");
  });

  test("FINGERPRINT_IGNORE of one route does not apply to another route", async () => {
    const path = gateway.route();
    const key = newKey();
    assert.equal((await gateway.call("PUT", path, { key, body: { nonce: 1 } })).status, 201);
    assert.equal((await gateway.call("PUT", path, { key, body: { nonce: 2 } })).status, 400);
  });
});

test("keys of an old FINGERPRINT_SECRET work while it is listed, and are never executed again after that", async () => {
  const state = mkdtempSync(join(tmpdir(), "oncekey-test-"));
  const keys = { plain: newKey(), old: newKey(), fresh: newKey() };
  const path = "/o/rotated";
  const run = async (vars, check) => {
    const gateway = await startGateway({ vars, state });
    try {
      await check((key, body = { a: 1 }) => gateway.post(path, key, body), gateway);
    } finally {
      await gateway.dispose();
    }
  };
  try {
    await run({}, async (post) => void (await post(keys.plain)));
    await run({ FINGERPRINT_SECRET: "k1:first-secret" }, async (post) => {
      assert.equal((await post(keys.old)).replayed, false);
      assert.ok((await post(keys.plain)).replayed, "a record without a secret can be compared");
    });
    await run({ FINGERPRINT_SECRET: "k2:second-secret,k1:first-secret" }, async (post) => {
      assert.ok((await post(keys.old)).replayed);
      assert.equal((await post(keys.old, { a: 2 })).json.type, "idempotency_error");
      assert.equal((await post(keys.fresh)).replayed, false);
    });
    await run({ FINGERPRINT_SECRET: "k2:second-secret" }, async (post, gateway) => {
      for (const body of [{ a: 1 }, { a: 2 }]) {
        const response = await post(keys.old, body);
        assert.deepEqual(
          [response.status, response.json.type, response.state],
          [409, "idempotency_not_replayable", "completed"],
        );
        assert.equal(response.json.http_status, 404, "the status of its response");
      }
      assert.ok((await post(keys.fresh)).replayed);
      assert.ok((await post(keys.plain)).replayed);
      assert.equal(gateway.hits(path), 0);
    });
    await run({ FINGERPRINT_SECRET: "k2:another-secret" }, async (post, gateway) => {
      assert.equal((await post(keys.fresh)).json.type, "idempotency_error", "a secret with a reused id does not match");
      assert.equal(gateway.hits(path), 0);
    });
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
});
