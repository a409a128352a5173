// The operator's calls. The token is sent in a header and never in a URL. It is kept only in this object.

/** Longer than the gateway itself waits for its records. In milliseconds. */
const PATIENCE = 15_000;
/** Rows of one page of the journal, and pages that are read at once. */
const ROWS = 5000;
const PAGES = 3;

/** The token is not the gateway's. */
export class NotAllowed extends Error {}

/** There was no response: no connection, or a timeout. */
export class NoResponse extends Error {}

/** The gateway refused, in its own words. */
export class Refused extends Error {
  constructor(status, { code, message, request_id: requestId } = {}) {
    super(message ?? `The gateway responded with ${status}.`);
    Object.assign(this, { status, code, requestId });
  }
}

export class Api {
  #token;

  constructor(token) {
    this.#token = token;
  }

  /** Throws unless the token is the gateway's. Asks one shard for one row of the journal, which costs least. */
  async check() {
    await this.#call(`journal?limit=1&key=${"0".repeat(64)}`);
  }

  /** The counts of the isolate that handles the request. */
  async isolate() {
    return (await (await this.#call("health")).json()).isolate;
  }

  /** `{data, has_more}`, the newest first. */
  async keys(state = "", limit = 200) {
    return (await this.#call(`keys?limit=${limit}${state && `&state=${state}`}`)).json();
  }

  /** `{key, journal}` of the key with this hash, or undefined if there is neither. */
  async key(hash) {
    try {
      return await (await this.#call(`keys/${hash}`)).json();
    } catch (error) {
      if (error.status === 404) return undefined;
      throw error;
    }
  }

  /** `{rows, isWhole}`: the changes of keys since a time, or by one request. */
  async journal({ from, requestId }) {
    const question = new URLSearchParams({ limit: ROWS });
    if (from !== undefined) question.set("from", Math.max(0, Math.floor(from)));
    if (requestId !== undefined) question.set("request_id", requestId);
    const rows = [];
    let next = `journal?${question}`.replaceAll("+", "%20");
    for (let page = 0; next && page < PAGES; page++) {
      const response = await this.#call(next);
      const lines = (await response.text()).split("\n");
      rows.push(...lines.filter(Boolean).map((line) => JSON.parse(line)));
      next = response.headers.get("link")?.match(/^<\/_oncekey\/([^>]*)>; rel="next"$/)?.[1];
    }
    return { rows, isWhole: !next };
  }

  /** Settles an unknown outcome. Returns the key's state afterwards. */
  async settle(hash, settlement) {
    const headers = { "X-Oncekey-Name": hash, "Content-Type": "application/json" };
    return (await this.#call("key/settle", { method: "POST", headers, body: JSON.stringify(settlement) })).json();
  }

  async #call(path, { headers, ...more } = {}) {
    let response;
    try {
      response = await fetch(`/_oncekey/${path}`, {
        headers: { ...headers, Authorization: `Bearer ${this.#token}`, Accept: "application/json" },
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.timeout(PATIENCE),
        ...more,
      });
    } catch (error) {
      throw new NoResponse(error.message);
    }
    if (response.ok) return response;
    if (response.status === 401) throw new NotAllowed();
    throw new Refused(response.status, await response.json().catch(() => undefined));
  }
}
