// Incoming webhooks: signed by a known source, forwarded until the origin accepts them, and processed once.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { WEBHOOK_SECRETS, deliver, event, isDuplicate, newId, newSecret, now, secrets, sign } from "../fixtures/sender.mjs";
import { cut, gated, inTurn, newKey, sleep, startGateway, startWorker } from "../fixtures/support.mjs";

describe("behind an upstream", () => {
  let gateway;
  let count = 0;
  before(async () => {
    const vars = { WEBHOOK_SECRETS, RETENTION_SECONDS: "1", ORIGIN_TIMEOUT_SECONDS: "3", MAX_REQUEST_BYTES: "100000" };
    gateway = await startGateway({ faults: true, vars });
  });
  after(() => gateway.dispose());

  /** Returns a new source, whose deliveries `handler` handles at the origin. */
  const source = (handler = inTurn(200)) => {
    const name = `s${count++}`;
    gateway.origin.route(handler, `/webhooks/${name}`);
    return name;
  };
  const hits = (name) => gateway.hits(`/webhooks/${name}`);
  /** Fails unless no shard is called and the origin gets no request. */
  const leavesNothing = async (work) => {
    const before = [(await gateway.allCalls()).length, gateway.origin.seen.length];
    await work();
    assert.deepEqual([(await gateway.allCalls()).length, gateway.origin.seen.length], before);
  };

  test("an event is forwarded unchanged, with its id as the key, and its sender gets the origin's response", async () => {
    const name = source(() => ({ status: 202, headers: { "Content-Type": "text/plain", "X-A": "1" }, body: "taken" }));
    const [id, body] = [newId(), `{ "type":"a.b" , "data":{"ü":1}}`];
    const path = `/webhooks/${name}?via=1`;
    const first = await deliver(gateway, name, { id, body, path, headers: [["Idempotency-Key", "its own"]] });
    assert.deepEqual([first.status, first.text, first.get("X-A")], [202, "taken", "1"]);
    assert.deepEqual([first.state, first.replayed], ["completed", false]);
    const seen = gateway.origin.last(`/webhooks/${name}`);
    assert.deepEqual([seen.method, seen.target, seen.body.toString()], ["POST", path, body]);
    assert.equal(seen.headers["idempotency-key"], id);
    assert.equal(seen.headers["idempotency-attempt"], "1");
    assert.equal(seen.headers["content-type"], "application/json");
    assert.equal(seen.headers["webhook-id"], id);
    assert.ok(seen.headers["webhook-timestamp"] && seen.headers["webhook-signature"]);
    assert.deepEqual((await gateway.allCalls()).map(({ op }) => op), ["begin", "complete"]);
    isDuplicate(await deliver(gateway, name, { id, body }));
    assert.equal(hits(name), 1);
  });

  test("a processed event is never forwarded again, even if its body changed", async () => {
    const name = source();
    const id = newId();
    await deliver(gateway, name, { id, body: event({ a: 1, b: 2 }) });
    isDuplicate(await deliver(gateway, name, { id, body: event({ b: 2, a: 1 }) }));
    isDuplicate(await deliver(gateway, name, { id, body: "something else" }));
    await sleep(1500);
    isDuplicate(await deliver(gateway, name, { id }));
    assert.equal(hits(name), 1, "also after a response would have expired");
  });

  test("ten deliveries at once are forwarded once: the others must retry", async () => {
    const slow = gated(inTurn(200));
    const name = source(slow);
    const id = newId();
    const first = deliver(gateway, name, { id });
    await slow.reached;
    const others = await Promise.all(Array.from({ length: 9 }, () => deliver(gateway, name, { id })));
    for (const response of others) {
      assert.deepEqual([response.status, response.json.code], [409, "idempotency_in_progress"]);
      assert.ok(Number(response.get("Retry-After")) >= 1);
    }
    slow.open();
    assert.equal((await first).status, 200);
    isDuplicate(await deliver(gateway, name, { id }));
    assert.equal(hits(name), 1);
  });

  test("fault 38: an event is forwarded until the origin returns a 2xx, and not after that", async () => {
    const failures = [500, 503, 408, 409, 400, 401, 404, 410, 429, 302, 307];
    const name = source(inTurn(...failures, cut, gated(), 201));
    const id = newId();
    for (const status of [...failures, 502, 504]) {
      const response = await deliver(gateway, name, { id });
      assert.equal(response.status, status, response.text);
      assert.notEqual(response.state, "completed");
    }
    const done = await deliver(gateway, name, { id });
    assert.deepEqual([done.status, done.state, done.replayed], [201, "completed", false]);
    isDuplicate(await deliver(gateway, name, { id }));
    assert.equal(hits(name), failures.length + 3);
  });

  test("a 500 and then a 200 are two deliveries to the origin, under one key", async () => {
    const name = source(inTurn(500, 200));
    const id = newId();
    assert.deepEqual([(await deliver(gateway, name, { id })).state, hits(name)], ["unknown", 1]);
    assert.deepEqual([(await deliver(gateway, name, { id })).state, hits(name)], ["completed", 2]);
    const [first, second] = gateway.origin.at(`/webhooks/${name}`);
    assert.deepEqual([first, second].map((seen) => seen.headers["idempotency-key"]), [id, id]);
    assert.equal(second.headers["idempotency-attempt"], "2");
  });

  test("the same id from two sources is two events, and neither is the key of a tenant", async () => {
    const [one, other, id] = [source(), source(), newId()];
    assert.equal((await deliver(gateway, one, { id })).replayed, false);
    assert.equal((await deliver(gateway, other, { id })).replayed, false);
    const path = gateway.route();
    assert.equal((await gateway.post(path, id)).status, 201);
    assert.deepEqual([hits(one), hits(other), gateway.hits(path)], [1, 1, 1]);
    assert.equal((await gateway.status(id)).http_status, 201, "a tenant sees only its own key");
    assert.equal(await gateway.status(newKey()), undefined);
  });

  test("an event signed with any secret of its source, or with both, is accepted", async () => {
    gateway.origin.route(inTurn(200), "/webhooks/twice");
    for (const secret of [secrets.old, secrets.new]) {
      assert.equal((await deliver(gateway, "twice", { secret })).status, 200);
    }
    const [id, stamp, body] = [newId(), now(), event()];
    const both = [secrets.other, secrets.new].map((secret) => sign(secret, id, stamp, body)).join(" ");
    assert.equal((await deliver(gateway, "twice", { id, stamp, body, signature: both })).status, 200);
  });

  test("the older names of the headers are accepted", async () => {
    const name = source();
    const id = newId();
    assert.equal((await deliver(gateway, name, { id, spelling: "svix" })).status, 200);
    isDuplicate(await deliver(gateway, name, { id }));
  });

  test("a wrong signature or time returns 401 and leaves no record", async () => {
    const name = source();
    const [id, stamp, body] = [newId(), now(), event()];
    const good = sign(secrets.old, id, stamp, body);
    await leavesNothing(async () => {
      for (const wrong of [
        { secret: newSecret() },
        { secret: secrets.other },
        { secret: secrets.new },
        { signature: "v1,AAAA" },
        { signature: good.replace("v1,", "v1a,") },
        { id: newId(), stamp, body, signature: good },
        { id, stamp: stamp - 1, body, signature: good },
        { id, stamp, body: `${body} `, signature: good },
        { id, stamp, body: "", signature: good },
        { stamp: now() - 310 },
        { stamp: now() + 310 },
        { stamp: now() - 3600 },
        { stamp: "soon" },
        { stamp: `${now()}.5` },
      ]) {
        const response = await deliver(gateway, name, wrong);
        assert.deepEqual([response.status, response.json.code], [401, "authentication_error"], JSON.stringify(wrong));
        assert.equal(response.state, undefined);
        assert.ok(!response.text.includes(good) && !response.text.includes(id));
      }
      assert.equal((await deliver(gateway, "other")).status, 401, "another source's secret");
    });
    assert.equal((await deliver(gateway, name, { id, stamp, body, signature: good })).status, 200);
    assert.equal((await deliver(gateway, name, { stamp: now() - 290 })).status, 200);
  });

  test("a missing header, or an id that is not a valid key, returns 400 and leaves no record", async () => {
    const name = source();
    await leavesNothing(async () => {
      for (const [wrong, named] of [
        [{ drop: "-id" }, "webhook-id"],
        [{ drop: "-timestamp" }, "webhook-timestamp"],
        [{ drop: "-signature" }, "webhook-signature"],
        [{ spelling: "x" }, "webhook-id"],
        [{ spelling: "svix", drop: "-signature" }, "svix-signature"],
        [{ id: "a b" }, "id"],
        [{ id: "a.b" }, "id"],
        [{ id: "a".repeat(256) }, "id"],
        [{ headers: [["webhook-id", "evt_2"]] }, "id"],
      ]) {
        const response = await deliver(gateway, name, wrong);
        assert.deepEqual([response.status, response.json.code], [400, "invalid_request_error"], JSON.stringify(wrong));
        assert.ok(response.json.message.includes(named), response.json.message);
      }
    });
    assert.equal((await deliver(gateway, name, { id: "a".repeat(255) })).status, 200);
  });

  test("only listed sources and only POST are accepted", async () => {
    await leavesNothing(async () => {
      for (const nobody of ["nobody", "", "S0", "s0/", "s0/x", "%2530", "s0%2f"]) {
        const response = await deliver(gateway, nobody);
        assert.deepEqual([response.status, response.json.code], [404, "invalid_request_error"], nobody);
      }
      for (const method of ["PUT", "PATCH", "DELETE"]) {
        assert.equal((await deliver(gateway, "s0", { method })).status, 405, method);
      }
      assert.equal((await gateway.get("/webhooks/s0")).status, 405);
    });
  });

  test("no spelling of the path reaches the origin unchecked", async () => {
    await leavesNothing(async () => {
      for (const path of ["/%2577ebhooks/s0", "//webhooks/s0", "/x/..%2fwebhooks/s0", "/Webhooks/s0", "/webhooks%2Fs0"]) {
        assert.equal((await deliver(gateway, "s0", { path })).status, 404, path);
        assert.equal((await gateway.post(path, newKey())).status, 404, path);
      }
    });
    // An escaped letter is that letter, so this is a webhook path, and the signature is checked.
    assert.equal((await deliver(gateway, "s0", { path: "/%77ebhooks/%730", secret: secrets.other })).status, 401);
    gateway.origin.route(inTurn(200), "/webhooks");
    assert.equal((await gateway.get("/webhooks")).status, 200, "this path belongs to the origin");
  });

  test("fault 37: an event whose body is too large returns 413 and leaves no record", async () => {
    const name = source();
    await leavesNothing(async () => {
      const response = await deliver(gateway, name, { body: `"${"x".repeat(100_000)}"` });
      assert.deepEqual([response.status, response.json.code], [413, "invalid_request_error"]);
    });
    assert.equal((await deliver(gateway, name, { body: `"${"x".repeat(99_998)}"` })).status, 200);
  });

  test("a response of the origin that is too large to keep is passed on whole", async () => {
    const large = "x".repeat(3 << 20);
    const name = source(() => ({ status: 200, body: large }));
    const id = newId();
    const first = await deliver(gateway, name, { id });
    assert.deepEqual([first.status, first.text.length], [200, large.length]);
    isDuplicate(await deliver(gateway, name, { id }));
  });

  test("no log shows a secret or a signature", () => {
    const logged = gateway.worker.logs.map(({ message }) => message).join("\n");
    assert.doesNotMatch(logged, /whsec_|v1,/);
  });
});

test("in the ietf dialect, errors have its format and the same statuses", async () => {
  const gateway = await startGateway({ vars: { WEBHOOK_SECRETS, DIALECT: "ietf" } });
  try {
    for (const [more, status, code] of [
      [{ drop: "-id" }, 400, "invalid_request_error"],
      [{ secret: secrets.new }, 401, "authentication_error"],
    ]) {
      const response = await deliver(gateway, "s0", more);
      assert.deepEqual([response.status, response.json.code, response.json.status], [status, code, status]);
      assert.equal(response.get("Content-Type"), "application/problem+json");
    }
  } finally {
    await gateway.dispose();
  }
});

test("fault 36: while the store is down nothing is forwarded, and the sender must retry", async () => {
  const gateway = await startGateway({ faults: true, vars: { WEBHOOK_SECRETS, LEASE_SECONDS: "6" } });
  try {
    gateway.origin.route(inTurn(200), "/webhooks/s0");
    await gateway.faults(null, { op: "begin", fault: "refuse", times: 99 });
    const id = newId();
    const response = await deliver(gateway, "s0", { id });
    assert.deepEqual([response.status, response.json.code], [503, "api_connection_error"]);
    assert.equal(gateway.hits("/webhooks/s0"), 0);
    await gateway.faults(null);
    assert.equal((await deliver(gateway, "s0", { id })).status, 200);
    isDuplicate(await deliver(gateway, "s0", { id }));

    const lost = newId();
    await gateway.faults(null, { op: "complete", fault: "refuse", times: 99 });
    const taken = await deliver(gateway, "s0", { id: lost });
    assert.deepEqual([taken.status, taken.get("Idempotency-Stored")], [200, "false"], "the origin has processed the event");
    assert.equal(gateway.hits("/webhooks/s0"), 2);
  } finally {
    await gateway.dispose();
  }
});

test("without the setting every source is unknown", async () => {
  const worker = await startWorker();
  try {
    for (const path of ["/webhooks/s0", "/webhooks/", "/webhooks/a/b"]) {
      assert.equal((await deliver(worker, "s0", { path })).status, 404, path);
    }
  } finally {
    await worker.dispose();
  }
});
