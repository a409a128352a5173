// Which keys the list shows: all, those of a state, or those that somebody looks for.

const LISTED = ["unknown", "in_progress"];

export class Search {
  #api;

  constructor(api) {
    this.#api = api;
  }

  /**
   * Unknown outcomes and what is in flight are asked for by themselves: they may be older than the newest keys.
   * Gives {keys, unknown, inFlight, hasMore}; the keys that are shown, and the counts of the two states.
   */
  async look({ state, words }) {
    const others = LISTED.includes(state) ? undefined : this.#api.keys(state);
    const [unknown, inFlight, more] = await Promise.all([...LISTED.map((name) => this.#api.keys(name)), others]);
    const open = { unknown, in_progress: inFlight };
    const counts = { unknown: countedApart(unknown), inFlight: counted(inFlight) };
    if (words) return { ...counts, keys: await this.#find(words, state, [unknown, inFlight, more]), hasMore: false };
    const shown = open[state] ?? more;
    const keys = state ? shown.data : ordered([unknown, inFlight, more]);
    return { ...counts, keys, hasMore: shown.has_more };
  }

  /** By the start of a hash among the listed ones, by a whole hash or by a request's id everywhere. */
  async #find(words, state, lists) {
    const listed = ordered(lists.filter(Boolean));
    const start = words.toLowerCase().replace(/[\s…]/g, "");
    const isHash = /^[0-9a-f]{4,64}$/.test(start);
    const near = listed.filter(({ key, request_id: id }) => id === words || (isHash && key.startsWith(start)));
    const hashes = start.length === 64 && isHash ? [start] : isHash ? [] : await this.#byRequest(words);
    const missing = hashes.filter((hash) => !near.some(({ key }) => key === hash));
    const lives = await Promise.all(missing.map((hash) => this.#api.key(hash)));
    const far = lives.flatMap((life) => (life ? [life.key ?? gone(life)] : []));
    return ordered([{ data: near }, { data: far }]).filter((key) => !state || key.state === state);
  }

  async #byRequest(requestId) {
    const { rows } = await this.#api.journal({ requestId });
    return [...new Set(rows.map(({ key }) => key))].slice(0, 20);
  }
}

const counted = ({ data, has_more: hasMore }) => ({ count: data.length, hasMore });

/** One request may leave its key and its business key unknown, so business keys are counted apart. */
function countedApart({ data, has_more: hasMore }) {
  const businessKeys = data.filter(({ of }) => of === "number").length;
  return { count: data.length - businessKeys, businessKeys, hasMore };
}

/** Each key once: unknown ones first, those in flight next, then the newest. */
function ordered(lists) {
  const keys = new Map();
  for (const { data } of lists.filter(Boolean)) for (const key of data) if (!keys.has(key.key)) keys.set(key.key, key);
  const rank = ({ state }) => (LISTED.includes(state) ? LISTED.indexOf(state) : LISTED.length);
  const begun = ({ created_at: at }) => Date.parse(at);
  return [...keys.values()].sort((one, other) => rank(one) - rank(other) || begun(other) - begun(one));
}

/** A key whose record has expired, as its last row describes it. */
function gone({ journal }) {
  const last = journal.at(-1);
  return { ...last, state: "gone", cause: null, attempts: last.attempt, changed_at: last.at, expires_at: null };
}
