// The operators' console in Chromium, against the real Worker.
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { created, cut, eventually, gated, inTurn, newKey, recordName, scopeName, startGateway } from "../worker/fixtures/support.mjs";
import { faultsOf } from "./looks.mjs";
import { Operator, TOKEN, admin } from "./operator.mjs";
import { startBrowser } from "./support.mjs";

const DONE = { outcome: "executed", status: 201, headers: {}, body: "" };

describe("the console", () => {
  let browser, gateway, context, operator;
  before(async () => {
    const vars = { ADMIN_TOKEN: TOKEN, BUSINESS_KEYS: "POST:/v1/orders:/out_trade_no" };
    [browser, gateway] = await Promise.all([startBrowser(), startGateway({ vars })]);
    // Starts all 256 objects once.
    await gateway.get("/_oncekey/keys", { headers: admin, as: null });
  });
  beforeEach(async () => {
    context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    await context.addInitScript(() =>
      addEventListener("securitypolicyviolation", (event) => console.error(`forbidden: ${event.violatedDirective}`)),
    );
  });
  afterEach(async () => {
    await context.close();
    operator?.isSound();
    operator = undefined;
  });
  after(async () => {
    await browser.close();
    await gateway.dispose();
  });

  const desk = async () => (operator = await Operator.atDesk(context, gateway));
  /** Creates a key whose outcome is unknown, and returns it with its path. */
  async function unknown(handler = inTurn(500, created)) {
    const [key, path] = [newKey(), gateway.route(handler)];
    await gateway.post(path, key);
    return { key, path };
  }
  async function completed(handler) {
    const key = newKey();
    await gateway.post(gateway.route(handler), key);
    return key;
  }
  const isOpen = (name) => operator.page.locator(`#dialog-${name}`).evaluate((dialog) => dialog.open);
  const focused = () => operator.page.evaluate(() => document.activeElement.dataset.hash ?? document.activeElement.id);

  test("a wrong token is refused, and the right token is forgotten at sign-out", async () => {
    operator = await Operator.open(context, gateway);
    const { page } = operator;
    assert.equal(await focused(), "token");
    for (const [token, words] of [
      ["", /Type the token/],
      ["wrong", /not the gateway’s ADMIN_TOKEN/],
      [TOKEN.slice(0, -1), /not the gateway’s ADMIN_TOKEN/],
      ["tökén", /not the gateway’s ADMIN_TOKEN/],
    ]) {
      await operator.signIn(token);
      await page.waitForFunction((words) => document.querySelector("#sign-in-problem").textContent.match(words), words.source);
      assert.equal(await page.getAttribute("#token", "aria-invalid"), "");
      assert.ok(await page.locator("main.desk").isHidden());
    }
    operator.expect(/status of 401/);
    assert.equal(operator.problems.length, 2, "an invalid token is not sent");
    await operator.signIn();
    await operator.seen();
    assert.ok(await page.locator("main.door").isHidden());
    assert.equal(await focused(), "keys-title");
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, history.state, location.href, document.documentElement.outerHTML]));
    assert.ok(!kept.includes(TOKEN));
    assert.equal(await page.inputValue("#token"), "");
    const listed = operator.requests.filter(({ url }) => url.includes("/_oncekey/keys"));
    assert.ok(listed.length > 0 && listed.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`));
    await page.reload();
    assert.ok(await page.locator("main.door").isVisible(), "a reload asks for the token again");
    await operator.signIn();
    await operator.seen();
    await completed();
    await page.waitForSelector("[role=option]");
    await page.click("#sign-out");
    assert.ok(await page.locator("main.door").isVisible());
    assert.equal(await page.locator("[role=option]").count(), 0, "the list is empty after sign-out");
    const before = operator.requests.length;
    await page.waitForTimeout(3500);
    assert.equal(operator.requests.length, before, "the page sends no further requests");
  });

  test("unknown outcomes are listed first, then keys in flight, then the newest", async () => {
    const slow = gated();
    const done = await completed();
    const { key } = await unknown(cut);
    const flying = newKey();
    const response = gateway.post(gateway.route(slow), flying);
    await slow.reached;
    const last = await completed();
    await desk();
    const { page } = operator;
    await operator.row(done).waitFor();
    const order = await page.locator("[role=option]").evaluateAll((rows) => rows.map(({ dataset }) => dataset.hash));
    const places = [key, flying, last, done].map((one) => order.indexOf(recordName(one)));
    assert.deepEqual(places, places.toSorted((one, other) => one - other));
    assert.equal(places[0], 0);
    assert.match(await operator.row(key).textContent(), /^unknown [0-9a-f]{8}… (just now|\d+ (s|min) ago) connection lost$/);
    assert.match(await operator.row(done).textContent(), /^completed .* response 201$/);
    assert.match(await operator.text("#said"), /outcomes? (is|are) unknown/);
    assert.match(await page.title(), /^\(\d+\) oncekey console$/);
    assert.deepEqual([await operator.text("#count-unknown"), await operator.text("#count-in-flight")], [String(order.indexOf(recordName(flying))), "1"]);
    // The attempt is in progress: its lease is shown, and no decision is possible.
    await operator.pick(flying);
    assert.equal(await page.locator("#picture .lease").count(), 1);
    assert.equal(await page.locator("#picture .bar.running").count(), 1);
    assert.ok(await page.locator("#acts").isHidden());
    assert.match((await operator.words()).at(-1), /its lease ends at \d\d:\d\d:\d\d unless it is renewed/);
    slow.open();
    await response;
    await operator.stands("completed");
    assert.equal(await page.locator("#picture .lease").count(), 0);
    for (const secret of [key, flying, "kuko_test_gateway"]) assert.ok(!(await page.content()).includes(secret), "the page contains only hashes");
  });

  test("a key can be settled as not executed, and its request sent again", async () => {
    const { key, path } = await unknown();
    assert.equal((await gateway.post(path, key)).status, 409);
    await desk();
    const { page } = operator;
    await operator.pick(key);
    await page.click("#act-not-executed");
    assert.ok(await isOpen("not-executed"));
    assert.match(await operator.text("#dialog-not-executed"), /The next request with it goes to the origin and is executed/);
    await page.click("#dialog-not-executed [type=submit]");
    assert.ok(await isOpen("not-executed"), "the decision needs a confirmation that the origin was checked");
    await page.click("#dialog-not-executed .cancel");
    assert.equal(await focused(), "act-not-executed", "Cancel returns the focus to the button");
    assert.equal((await gateway.status(key)).state, "unknown");
    await page.click("#act-not-executed");
    assert.ok(!(await page.isChecked("#dialog-not-executed [type=checkbox]")), "each decision needs its own confirmation");
    await page.check("#dialog-not-executed [type=checkbox]");
    await page.click("#dialog-not-executed [type=submit]");
    await operator.stands("free again");
    assert.match(await operator.text("#result"), /is settled: it was never executed/);
    assert.equal(await focused(), "result");
    assert.ok(await page.locator("#acts").isHidden());
    assert.deepEqual((await operator.journal(key)).map((row) => `${row.operation} ${row.kind} ${row.state}`), [
      "complete unknown unknown",
      "settle settled released",
    ]);
    const again = await gateway.post(path, key);
    assert.deepEqual([again.status, again.replayed, gateway.hits(path)], [201, false, 2]);
    await operator.stands("completed");
    assert.equal(await page.locator("#picture .bar").count(), 2);
    const lines = await operator.words();
    assert.match(lines[1], /^Attempt 1 ended in 500 and may have been executed\. The outcome is unknown\. req_/);
    assert.match(lines[2], /^An operator said that it was never executed/);
    assert.match(lines[3], /^Attempt 2 got the response 201/);
    assert.match(lines[4], /gets this response again until/);
  });

  test("a key that is settled as executed replays the response that the operator entered", async () => {
    const { key, path } = await unknown();
    await desk();
    const { page } = operator;
    await operator.pick(key);
    await page.click("#act-executed");
    const field = (name) => `#dialog-executed [data-field=${name}]`;
    await page.fill(field("status"), "201");
    await page.fill(field("headers"), "Content-Type: text/plain\nnot a header\nX-Seen: a");
    await page.fill(field("body"), "paid – by hand");
    await page.check("#dialog-executed [type=checkbox]");
    await page.click("#dialog-executed [type=submit]");
    assert.match(await operator.text("#dialog-executed .problem"), /“not a header”/);
    await page.fill(field("headers"), "Content-Type: text/plain\nX-Seen: a\nX-Seen: b");
    await page.fill(field("status"), "429");
    await page.click("#dialog-executed [type=submit]");
    await page.waitForFunction(() => /final response/.test(document.querySelector("#dialog-executed .problem").textContent));
    operator.expect(/status of 400/);
    await page.fill(field("status"), "201");
    await page.click("#dialog-executed [type=submit]");
    await operator.stands("completed");
    assert.match(await operator.text("#result"), /is settled: it was executed.*201/);
    assert.ok(await page.locator("#acts").isHidden());
    assert.match(await operator.text("#untouchable"), /A response never changes/);
    const response = await gateway.post(path, key);
    assert.deepEqual(
      [response.status, response.replayed, response.get("Content-Type"), response.all("X-Seen"), response.text],
      [201, true, "text/plain", ["a", "b"], "paid – by hand"],
    );
    assert.equal(gateway.hits(path), 1, "the origin was not called again");
    assert.equal(await page.locator("#picture .mark.settled").count(), 1);
    // The replay is also part of the key's life.
    await page.locator("#picture .mark.replayed").waitFor();
    assert.match(await operator.text("#log"), /The response was replayed once since/);
  });

  test("only unknown outcomes can be decided", async () => {
    const keys = { completed: await completed(), "free again": await completed(inTurn(429)), voided: newKey() };
    await gateway.call("POST", "/_oncekey/key/void", { key: keys.voided });
    await desk();
    for (const [word, key] of Object.entries(keys)) {
      await operator.pick(key);
      assert.equal(await operator.state().textContent(), word);
      assert.ok(await operator.page.locator("#acts").isHidden());
      assert.equal(await operator.page.locator("#acts button:visible").count(), 0);
      assert.ok((await operator.text("#untouchable")).length > 40, "the page says why");
    }
  });

  test("a decision is not sent if the key has changed meanwhile", async () => {
    const { key, path } = await unknown(inTurn(500, 503));
    await desk();
    const { page } = operator;
    await operator.pick(key);
    // While the dialog is open, another operator releases the key. The outcome of the next attempt is unknown, too.
    await page.click("#act-executed");
    await page.fill("#dialog-executed [data-field=status]", "200");
    await page.check("#dialog-executed [type=checkbox]");
    await operator.settle(key, { outcome: "not_executed" });
    await gateway.post(path, key);
    await page.click("#dialog-executed [type=submit]");
    await page.waitForFunction(() => /was not settled: it has changed/.test(document.querySelector("#result").textContent));
    assert.equal((await gateway.status(key)).state, "unknown");
    assert.equal((await gateway.status(key)).attempts, 2);
    // The key is then settled elsewhere. The page shows that, and the focus stays on an element.
    await page.focus("#act-executed");
    await operator.settle(key, DONE);
    await operator.stands("completed");
    await page.waitForFunction(() => document.activeElement.id === "life-title");
  });

  test("when the response to a decision is lost, the console says that the key may or may not be settled", async () => {
    const { key } = await unknown();
    await desk();
    const { page } = operator;
    await operator.pick(key);
    await page.route("**/key/settle", async (route) => {
      await route.fetch();
      await route.abort();
    });
    await page.click("#act-not-executed");
    await page.check("#dialog-not-executed [type=checkbox]");
    await page.click("#dialog-not-executed [type=submit]");
    await page.waitForFunction(() => /may be settled or not/.test(document.querySelector("#result").textContent));
    operator.expect(/ERR_FAILED/);
    await operator.stands("free again");
  });

  test("a key and its business key are decided separately, and link to each other", async () => {
    const [key, path] = [newKey(), "/v1/orders"];
    gateway.origin.route(inTurn(500, created), path);
    await desk();
    const { page } = operator;
    const unknowns = async () => Number(await operator.text("#count-unknown"));
    await eventually(async () => assert.ok((await unknowns()) >= 0));
    const before = await unknowns();
    await gateway.post(path, key, { out_trade_no: "A-1" });
    // One request has failed, so the count grows by one.
    await eventually(async () => assert.equal(await operator.text("#unknown-words"), "unknown, and 1 business key"));
    assert.equal(await unknowns(), before + 1);
    await operator.pick(key);
    const free = async () => {
      await page.click("#act-not-executed");
      await page.check("#dialog-not-executed [type=checkbox]");
      await page.click("#dialog-not-executed [type=submit]");
      await operator.stands("free again");
    };
    await free();
    await page.waitForSelector("#kin:not([hidden])");
    assert.match(await operator.text("#kin"), /another outcome unknown, .*: business key [0-9a-f]{8}…\.$/);
    assert.equal((await gateway.post(path, key, { out_trade_no: "A-1" })).status, 409, "the business key is on hold");
    await page.click("#kin button");
    await page.waitForFunction(() => document.querySelector("#life-title").textContent.startsWith("Business key"));
    await operator.stands("unknown");
    assert.equal(await focused(), "life-title");
    await free();
    await page.waitForSelector("#kin[hidden]", { state: "attached" });
    assert.equal((await gateway.post(path, key, { out_trade_no: "A-1" })).status, 201);
    assert.equal(gateway.hits(path), 2);
  });

  test("the list is used by keyboard, and updates change neither focus nor position", async () => {
    const keys = [];
    for (let index = 0; index < 25; index++) keys.unshift(await completed());
    await desk();
    const { page } = operator;
    await operator.row(keys[20]).waitFor();
    assert.equal(await page.locator("[role=option][tabindex='0']").count(), 1, "the list is one tab stop");
    await page.focus("#words");
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.matches("[role=option]")));
    await page.keyboard.press("End");
    await page.keyboard.press("Home");
    for (let step = 0; (await focused()) !== recordName(keys[12]); step++) {
      assert.ok(step < 100);
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    await page.waitForSelector("#one-life:not([hidden])");
    assert.equal(await operator.row(keys[12]).getAttribute("aria-selected"), "true");
    const place = () => page.evaluate(() => document.activeElement.getBoundingClientRect().top);
    const before = await place();
    const { key } = await unknown();
    await completed();
    await operator.row(key).waitFor();
    assert.equal(await focused(), recordName(keys[12]));
    assert.ok(Math.abs((await place()) - before) < 2, "the focused row does not move");
    assert.match(await operator.row(key).evaluate((row) => row.parentElement.querySelector("[role=option]").className), /unknown/);
    // A dialog is opened and closed by keyboard.
    await operator.pick(key);
    await page.focus("#act-not-executed");
    await page.keyboard.press("Enter");
    assert.ok(await isOpen("not-executed"));
    await page.keyboard.press("Escape");
    assert.ok(!(await isOpen("not-executed")));
    assert.equal(await focused(), "act-not-executed");
  });

  test("keys are found by state, by hash and by request", async () => {
    const { key } = await unknown();
    const other = newKey();
    const response = await gateway.post(gateway.route(), other);
    await desk();
    const { page } = operator;
    const shown = () => page.locator("[role=option]").evaluateAll((rows) => rows.map(({ dataset }) => dataset.hash));
    const isAlone = (one) => eventually(async () => assert.deepEqual(await shown(), [recordName(one)]));
    await page.selectOption("#state", "unknown");
    await eventually(async () => {
      assert.ok((await page.locator(".row").evaluateAll((rows) => rows.length > 0 && rows.every(({ className }) => className === "row unknown"))));
    });
    await page.selectOption("#state", "expired");
    await page.waitForFunction(() => document.querySelector("#loading").textContent === "No key is in this state.");
    await page.selectOption("#state", "");
    await page.fill("#words", recordName(key).slice(0, 12));
    await isAlone(key);
    await page.fill("#words", recordName(other));
    await isAlone(other);
    await page.fill("#words", response.get("X-Request-Id"));
    await isAlone(other);
    await page.fill("#words", "req_none");
    await page.waitForFunction(() => /No key has this hash/.test(document.querySelector("#loading").textContent));
  });

  test("a key's life is shown as a picture and as text, with its scope", async () => {
    const key = newKey();
    const path = gateway.route(inTurn(429, cut, created));
    await gateway.post(path, key);
    await gateway.post(path, key);
    await desk();
    const { page } = operator;
    await operator.pick(key);
    assert.deepEqual(await page.locator("#picture .bar").evaluateAll((bars) => bars.map((bar) => bar.getAttribute("class"))), [
      "bar released",
      "bar unknown",
    ]);
    const lines = await operator.words();
    assert.match(lines[0], /Attempt 1 began/);
    assert.match(lines[1], /Attempt 1 ended in 429 and was not executed/);
    assert.match(lines[2], /Attempt 2 lost its connection to the origin and may have been executed/);
    assert.match(lines[3], /It waits for a response, or for a decision, until/);
    assert.match(await operator.text("#facts"), new RegExp(`Whose${scopeName().slice(0, 8)}…`));
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.click("#copy-key");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), recordName(key));
    await page.waitForFunction(() => document.querySelector("#copied").textContent === "Copied.");
  });

  test("decisions are counted from the time when the page was opened", async () => {
    await desk();
    const { page } = operator;
    const path = gateway.route();
    const key = newKey();
    for (let again = 0; again < 4; again++) await gateway.post(path, key);
    await gateway.post(path, key, { other: 1 });
    const legend = (figure, series) => operator.text(`#${figure} .key.${series} b`);
    await eventually(async () => assert.equal(await operator.text("#count-replayed"), "3"));
    assert.deepEqual(
      [await legend("decisions", "executed"), await legend("decisions", "replayed"), await legend("decisions", "refused")],
      ["1", "3", "1"],
    );
    assert.ok((await page.locator("#decisions .bar").count()) >= 3);
    // The other chart is about the whole gateway, and includes the time before the page was opened.
    await eventually(async () => {
      const { text } = await operator.ask(`journal?from=${Date.now() - 3_600_000}`);
      const rows = text.split("\n").filter(Boolean).map(JSON.parse);
      // A request that changes its key and its business key alike counts once.
      const isBesideKey = (row) => row.of === "number" && rows.some(({ of, kind, request_id: id }) => of === "key" && kind === row.kind && id === row.request_id);
      const many = (is) => String(rows.filter((row) => is(row) && !isBesideKey(row)).length);
      assert.equal(await legend("changes", "completed"), many(({ kind }) => kind === "completed"));
      assert.equal(await legend("changes", "unknown"), many(({ kind }) => kind === "unknown"));
      assert.equal(await operator.text("#count-completed"), many(({ state, kind }) => state === "completed" && kind !== "late_ignored"));
    });
  });

  test("the page handles a lost connection, being hidden, and a changed token", async () => {
    await desk();
    const { page } = operator;
    await page.waitForSelector("[role=option]");
    await context.setOffline(true);
    await page.waitForSelector("#trouble:not([hidden])");
    assert.match(await operator.text("#trouble"), /^There is no connection\. What you see is of \d\d:\d\d:\d\d\./);
    assert.ok((await page.locator("[role=option]").count()) > 0, "the list stays");
    await context.setOffline(false);
    await page.waitForSelector("#trouble[hidden]", { state: "attached" });
    operator.expect(/ERR_INTERNET_DISCONNECTED/, /status of (401|503)/);
    const hide = (hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await hide(true);
    await page.waitForTimeout(1500);
    const before = operator.requests.length;
    await page.waitForTimeout(4000);
    assert.equal(operator.requests.length, before, "a hidden page sends no requests");
    await hide(false);
    await operator.seen();
    await page.route("**/_oncekey/health", (route) => route.fulfill({ status: 503, json: { code: "api_connection_error", message: "The store does not respond." } }));
    await page.waitForFunction(() => /responded with 503: The store does not respond/.test(document.querySelector("#trouble").textContent), null, { timeout: 180_000 });
    await page.route("**/_oncekey/health", (route) => route.fulfill({ status: 401, json: {} }));
    await page.waitForSelector("main.door", { timeout: 180_000 });
    assert.match(await operator.text("#sign-in-problem"), /not accepted any more/);
    assert.equal(await focused(), "token");
  });

  for (const [look, options] of Object.entries({
    "in light": { colorScheme: "light", viewport: { width: 1280, height: 800 } },
    "in the dark": { colorScheme: "dark", viewport: { width: 1440, height: 900 } },
    "on a phone": { colorScheme: "dark", viewport: { width: 360, height: 740 }, hasTouch: true, reducedMotion: "reduce" },
    "on a tablet": { colorScheme: "light", viewport: { width: 900, height: 1000 } },
  })) {
    test(`every control has a name and enough contrast ${look}`, async () => {
      const { key } = await unknown();
      const done = await completed();
      await context.close();
      context = await browser.newContext(options);
      operator = await Operator.open(context, gateway);
      const { page } = operator;
      assert.deepEqual(await page.evaluate(faultsOf), []);
      await operator.signIn();
      await operator.row(key).waitFor();
      assert.deepEqual(await page.evaluate(faultsOf), []);
      const isPhone = look === "on a phone";
      for (const one of [done, key]) {
        await operator.pick(one);
        assert.deepEqual(await page.evaluate(faultsOf), []);
        assert.equal(await page.locator("#keys").isHidden(), isPhone, "a phone shows either the list or the key");
        if (isPhone) {
          assert.equal(await focused(), "back");
          await page.click("#back");
          assert.equal(await focused(), recordName(one), "the focus returns to the row");
        }
      }
      await operator.pick(key);
      for (const name of ["not-executed", "executed"]) {
        await page.click(`#act-${name}`);
        assert.deepEqual(await page.evaluate(faultsOf), []);
        await page.click(`#dialog-${name} .cancel`);
      }
    });
  }
});
