// The middleware for Hono: the handlers behind it are the origin, and everything else works as without it.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { exchange } from "../fixtures/client.mjs";
import { startInside } from "../fixtures/inside.mjs";
import { newKey } from "../fixtures/support.mjs";

const program = `
  import { Hono } from "hono";
  import { cors } from "hono/cors";
  import { HTTPException } from "hono/http-exception";
  import { stream } from "hono/streaming";
  import { idempotency } from "oncekey-worker/hono";
  export { Shard } from "oncekey-worker";

  const app = new Hono();
  const seen = [];
  app.use(cors({ origin: "https://shop.example", credentials: true }));
  app.use(async (c, next) => {
    c.header("X-Before", "outer");
    c.set("user", c.req.header("X-User"));
    await next();
    c.header("X-After", c.get("handled") ?? "no handler");
    c.res.headers.append("X-Error", c.error?.message ?? "none");
  });
  app.get("/seen", (c) => c.json(seen));
  const scope = (c) => c.get("user");
  const note = (c) => {
    seen.push([c.req.path, c.get("user"), c.req.header("Idempotency-Attempt")].join());
    c.set("handled", "by the handler");
  };

  app.post("/orders/:id", idempotency({ scope, required: true }), async (c) => {
    note(c);
    c.header("X-Handler", "1");
    return c.json({ id: crypto.randomUUID(), of: c.req.param("id"), query: c.req.query("q"), body: await c.req.json() }, 201);
  });
  app.post("/short", idempotency({ scope, retentionSeconds: 60 }), (c) => c.text(String(crypto.randomUUID())));
  app.post("/nonce", idempotency({ scope, ignore: ["/nonce"] }), (c) => c.text(String(crypto.randomUUID())));
  app.post("/throws/*", idempotency({ scope }), (c) => { note(c); throw new Error("a fault of the handler"); });
  app.post("/refuses/*", idempotency({ scope }), (c) => { note(c); throw new HTTPException(422, { message: "no such item" }); });
  app.post("/missing/*", idempotency({ scope }));
  app.post("/streams", idempotency({ scope }), (c) => stream(c, async (out) => { for (const piece of ["one ", "two"]) await out.write(piece); }));
  app.post("/misspelled", idempotency({ scope, requried: true }), (c) => (note(c), c.text("no")));
  app.post("/read/*",
    async (c, next) => { c.set("early", (await c.req.json()).a); await next(); },
    idempotency({ scope }),
    async (c) => { note(c); return c.json({ early: c.get("early"), late: (await c.req.json()).a, id: crypto.randomUUID() }); });
  app.get("/cached", idempotency({ scope }), (c) => c.text("read", 200, { "Set-Cookie": "a=1" }));
  app.all("/_oncekey/*", idempotency({ scope }));
  const inner = new Hono().use(idempotency({ scope })).post("/a", (c) => (note(c), c.text(crypto.randomUUID())));
  app.route("/inner", inner);
  let refused;
  try {
    idempotency({ resolve: "POST:/x:/y/{/z}#/id" });
  } catch (error) {
    refused = error.message;
  }
  app.get("/refused", (c) => c.text(refused));
  export default app;
`;

describe("the middleware for Hono", () => {
  let worker;
  // With the var, only a route that says so could call another one.
  before(async () => (worker = await startInside({ program, vars: { RESOLVE: "POST:/throws/*:/seen?no={/a}#/0" } })));
  after(() => worker.dispose());

  const post = (path, key, { body = { a: 1 }, as = "ann", headers = [] } = {}) => {
    const all = [...headers];
    if (as) all.push(["X-User", as]);
    if (key) all.push(["Idempotency-Key", key]);
    return exchange(worker.url, { method: "POST", path, headers: all, body });
  };
  const get = (path, headers = [["X-User", "ann"]]) => exchange(worker.url, { path, headers });
  const seen = async (path) => (await get("/seen")).json.filter((line) => line.startsWith(`${path},`));

  test("runs a handler once for a key, with everything that Hono gives it", async () => {
    const [path, key] = [`/orders/${newKey()}`, newKey()];
    const first = await post(`${path}?q=x`, key);
    const again = await post(`${path}?q=x`, key);
    const { of, query, body } = first.json;
    assert.deepEqual([first.status, `/orders/${of}`, query, body], [201, path, "x", { a: 1 }]);
    assert.deepEqual([again.status, again.text, again.replayed], [201, first.text, true]);
    assert.equal((await post(path, key, { body: { a: 2 } })).status, 400);
    assert.notEqual((await post(`${path}?q=x`, key, { as: "bob" })).json.id, first.json.id, "another caller");
    assert.deepEqual(await seen(path), [`${path},ann,1`, `${path},bob,1`]);
  });

  test("keeps the headers of outer middleware, in first responses and in replays", async () => {
    const [path, key] = [`/orders/${newKey()}`, newKey()];
    const headers = [["Origin", "https://shop.example"]];
    const first = await post(path, key, { headers });
    const again = await post(path, key, { headers });
    const refused = await post(path, undefined, { headers });
    for (const [response, handled, handler] of [[first, "by the handler", "1"], [again, "no handler", "1"], [refused, "no handler", undefined]]) {
      const names = ["Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "X-Before", "X-Error", "X-After", "X-Handler"];
      const wanted = [["https://shop.example"], ["true"], ["outer"], ["none"], [handled], handler ? [handler] : []];
      assert.deepEqual(names.map((name) => response.all(name)), wanted);
    }
  });

  test("has options for each route", async () => {
    assert.deepEqual([(await post(`/orders/1`)).status, (await post("/short")).status], [400, 200]);
    const short = await post("/short", newKey());
    assert.ok(Date.parse(short.get("Idempotency-Expires")) < Date.now() + 3_600_000);
    for (const [path, replayed] of [["/nonce", true], ["/short", false]]) {
      const key = newKey();
      await post(path, key, { body: { a: 1, nonce: 1 } });
      assert.equal((await post(path, key, { body: { a: 1, nonce: 2 } })).replayed, replayed, path);
    }
  });

  test("lets Hono respond to errors, whose status decides", async () => {
    const [path, key] = [`/throws/${newKey()}`, newKey()];
    const first = await post(path, key);
    assert.deepEqual([first.status, first.text, first.state, first.get("X-Error")], [500, "Internal Server Error", "unknown", "a fault of the handler"]);
    assert.deepEqual([(await post(path, key)).json.code, (await seen(path)).length], ["idempotency_outcome_unknown", 1]);

    const refused = await post(`/refuses/${newKey()}`, newKey());
    assert.deepEqual([refused.status, refused.text, refused.state], [422, "no such item", "completed"]);

    const missing = await post(`/missing/${newKey()}`, newKey());
    assert.deepEqual([missing.status, missing.state], [404, "completed"]);
  });

  test("reads streams to their end", async () => {
    const key = newKey();
    assert.equal((await post("/streams", key)).text, "one two");
    const again = await post("/streams", key);
    assert.deepEqual([again.text, again.replayed], ["one two", true]);
  });

  test("works behind a middleware that has read the body", async () => {
    const [path, key] = [`/read/${newKey()}`, newKey()];
    const first = await post(path, key);
    assert.deepEqual([first.json.early, first.json.late], [1, 1]);
    assert.equal((await post(path, key)).text, first.text);
    assert.equal((await post(path, key, { body: { a: 2 } })).status, 400);
  });

  test("works in an app that is mounted in another one", async () => {
    const key = newKey();
    const first = await post("/inner/a", key);
    const again = await post("/inner/a", key);
    assert.deepEqual([first.status, again.text, again.replayed], [200, first.text, true]);
  });

  test("passes reads through, and serves the calls about keys where it stands", async () => {
    const read = await get("/cached");
    assert.deepEqual([read.status, read.text, read.all("Set-Cookie")], [200, "read", ["a=1"]]);
    const key = newKey();
    await post("/short", key);
    assert.equal((await get("/_oncekey/key", [["X-User", "ann"], ["Idempotency-Key", key]])).json.state, "completed");
    assert.equal((await get("/_oncekey/key", [["X-User", "bob"], ["Idempotency-Key", key]])).status, 404);
  });

  test("refuses a caller without a name, and options that are wrong", async () => {
    const path = `/orders/${newKey()}`;
    assert.equal((await post(path, newKey(), { as: null })).status, 401);
    const misspelled = await post("/misspelled", newKey());
    assert.equal(misspelled.status, 500);
    assert.match(misspelled.json.message, / requried is not the name of an option; did you mean required\?/);
    assert.match((await get("/refused")).text, /^resolve: a middleware cannot call another route; use idempotent/);
    assert.deepEqual([...(await seen(path)), ...(await seen("/misspelled"))], []);
  });
});
