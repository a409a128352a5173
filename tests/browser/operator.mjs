// The console in a page, and the actions of an operator.
import assert from "node:assert/strict";
import { exchange } from "../worker/fixtures/client.mjs";
import { recordName } from "../worker/fixtures/support.mjs";

export const TOKEN = "admin-token-0123456789";
/** The headers of an operator's calls. */
export const admin = [["Authorization", `Bearer ${TOKEN}`]];

export class Operator {
  /** Problems: errors, violations of the policy, and warnings of the browser. */
  problems = [];
  #expected = [];
  /** The {url, headers} of every request. */
  requests = [];

  constructor(page, gateway) {
    this.page = page;
    this.gateway = gateway;
    page.on("pageerror", (error) => this.problems.push(error.stack));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.problems.push(message.text());
    });
    page.on("request", (request) => this.requests.push({ url: request.url(), headers: request.headers() }));
  }

  /** Expected problems, because the browser logs responses with error statuses. */
  expect(...expected) {
    this.#expected.push(...expected);
  }

  static async open(context, gateway) {
    const operator = new Operator(await context.newPage(), gateway);
    await operator.page.goto(`${gateway.url}/_oncekey/console`);
    return operator;
  }

  async signIn(token = TOKEN) {
    await this.page.fill("#token", token);
    await this.page.press("#token", "Enter");
  }
  /** Signs in, and waits until everything was loaded once. */
  static async atDesk(context, gateway) {
    const operator = await Operator.open(context, gateway);
    await operator.signIn();
    await operator.seen();
    return operator;
  }
  /** Waits for the next update. */
  seen() {
    return this.page.waitForResponse((response) => response.url().includes("/keys?limit="), { timeout: 180_000 });
  }

  row(key) {
    return this.page.locator(`[data-hash="${recordName(key)}"]`);
  }
  /** Selects a key in the list and waits for its life. */
  async pick(key) {
    await this.row(key).click({ timeout: 180_000 });
    await this.page.waitForFunction(
      (start) => document.querySelector("#life-title code").textContent.startsWith(start) && !document.querySelector("#one-life").hidden,
      recordName(key).slice(0, 8),
    );
  }
  /** Returns the state of the selected key. */
  state() {
    return this.page.locator("#life-title .pill");
  }
  async stands(word) {
    await this.page.waitForFunction((word) => document.querySelector("#life-title .pill").textContent === word, word, {
      timeout: 180_000,
    });
  }
  /** Returns the list as text, without times. */
  words() {
    return this.page.locator("#log li > span:nth-child(2)").allTextContents();
  }
  text(selector) {
    return this.page.locator(selector).textContent();
  }

  /** Makes the same calls without a page. */
  async ask(path) {
    return exchange(this.gateway.url, { path: `/_oncekey/${path}`, headers: admin });
  }
  settle(key, settlement) {
    const headers = [...admin, ["X-Oncekey-Name", recordName(key)]];
    return exchange(this.gateway.url, { method: "POST", path: "/_oncekey/key/settle", headers, body: settlement });
  }
  async journal(key) {
    return (await this.ask(`keys/${recordName(key)}`)).json.journal;
  }

  /** Fails if the page had an unexpected problem. */
  isSound() {
    const isExpected = (problem) => this.#expected.some((expected) => expected.test(problem));
    assert.deepEqual(this.problems.filter((problem) => !isExpected(problem)), []);
    for (const { url } of this.requests) {
      assert.ok(url.startsWith(`${this.gateway.url}/`) || url.startsWith("data:"), url);
      assert.ok(!url.includes(TOKEN), `the token is in ${url}`);
    }
  }
}
