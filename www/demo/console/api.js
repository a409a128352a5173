// The operator's calls. The token goes in a header, is in no URL, and is forgotten with this object.

/** Longer than the gateway itself waits for its records. In milliseconds. */
const PATIENCE = 15_000;
/** Rows of one page of the journal, and pages that are read at once. */
const ROWS = 5000;
const PAGES = 3;

/** The token is not the gateway's. */
export class NotAllowed extends Error {}

/** There was no answer: no line, or too long a wait. */
export class NoAnswer extends Error {}

/** The gateway refused, in its own words. */
export class Refused extends Error {
  constructor(status, { code, message, request_id: requestId } = {}) {
    super(message ?? `The gateway answered ${status}.`);
    Object.assign(this, { status, code, requestId });
  }
}

export class Api {
  #token;

  constructor(token) {
    this.#token = token;
  }

  /** Throws unless the token is the gateway's. Of the journal it asks for as little as one shard can tell. */
  async check() {
    await this.#call(`journal?limit=1&key=${"0".repeat(64)}`);
  }

  /** What the isolate that answers has counted. */
  async isolate() {
    return (await (await this.#call("health")).json()).isolate;
  }

  /** `{data, has_more}`, the newest first. */
  async keys(state = "", limit = 200) {
    return (await this.#call(`keys?limit=${limit}${state && `&state=${state}`}`)).json();
  }

  /** `{key, journal}` of the key with this hash, undefined where nothing is known of it. */
  async key(hash) {
    try {
      return await (await this.#call(`keys/${hash}`)).json();
    } catch (error) {
      if (error.status === 404) return undefined;
      throw error;
    }
  }

  /** `{rows, isWhole}`: what changed keys, from then on or by one request. */
  async journal({ from, requestId }) {
    const question = new URLSearchParams({ limit: ROWS });
    if (from !== undefined) question.set("from", Math.max(0, Math.floor(from)));
    if (requestId !== undefined) question.set("request_id", requestId);
    const rows = [];
    let next = `journal?${question}`.replaceAll("+", "%20");
    for (let page = 0; next && page < PAGES; page++) {
      const answer = await this.#call(next);
      const lines = (await answer.text()).split("\n");
      rows.push(...lines.filter(Boolean).map((line) => JSON.parse(line)));
      next = answer.headers.get("link")?.match(/^<\/_oncekey\/([^>]*)>; rel="next"$/)?.[1];
    }
    return { rows, isWhole: !next };
  }

  /** Tells what became of an unknown outcome. Gives how the key stands now. */
  async settle(hash, settlement) {
    const headers = { "X-Oncekey-Name": hash, "Content-Type": "application/json" };
    return (await this.#call("key/settle", { method: "POST", headers, body: JSON.stringify(settlement) })).json();
  }

  async #call(path, { headers, ...more } = {}) {
    let answer;
    try {
      answer = await fetch(`/_oncekey/${path}`, {
        headers: { ...headers, Authorization: `Bearer ${this.#token}`, Accept: "application/json" },
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.timeout(PATIENCE),
        ...more,
      });
    } catch (error) {
      throw new NoAnswer(error.message);
    }
    if (answer.ok) return answer;
    if (answer.status === 401) throw new NotAllowed();
    throw new Refused(answer.status, await answer.json().catch(() => undefined));
  }
}
