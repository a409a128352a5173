// The JavaScript side of one request: it reads, sends and waits as Rust tells it (src/http/bridge.rs), and decides
// nothing.
//
// What takes time is an operation with a number. Its result goes back in one call: a status, and a text, bytes or an
// object of the platform. No function throws into wasm. Headers travel as text, a line for each name and each value.

/** Statuses of operations that are not statuses of HTTP: platform/src/operation.rs. */
const LATE = 0;
const FAILED = 1;
const DONE = 2;
const CUT_OFF = 3;

/** The size of the pieces in which a large body is sent and read, in bytes. */
const PIECE = 64 << 10;

const SHARD = "https://object/";
/** The bytes before the body of a shard's reply: worker/src/shard/mod.rs. */
export const HEAD = 11;

/** Who responds to a request to the origin, in the order of `Responder` in src/http/bridge.rs. */
const RESPONDERS = [
  (url, init) => fetch(url, init),
  (url, init, { sandbox, env }) => sandbox(new Request(url, init), env),
  (url, init, { env, cf }) => env.ORIGIN.fetch(url, { ...init, cf }),
  (url, init, bridge) => bridge.handle(url, init),
];
/** The place of the sandbox, which ends no call early. */
const SANDBOX = 1;
/** The place of the handler of this Worker. */
const HANDLER = 3;

/** The algorithms of signatures, as Web Crypto names them. */
const ALGORITHMS = {
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  PS256: { name: "RSA-PSS", hash: "SHA-256", saltLength: 32 },
  ES256: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
};

/** The time limits of a request's operations. They share one timer, because a timer costs more than an operation. */
class Limits {
  #waiting = new Set();
  #timer;
  /** When the timer rings. */
  #at = Infinity;

  /** Waits for a promise, but no longer than so many milliseconds: then it gives LATE. */
  within(limit, promise) {
    return new Promise((resolve, reject) => {
      const wait = { until: performance.now() + limit, end: () => resolve(LATE) };
      const leave = (settle) => (value) => {
        this.#waiting.delete(wait);
        settle(value);
      };
      this.#waiting.add(wait);
      this.#arm(wait.until);
      promise.then(leave(resolve), leave(reject));
    });
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #arm(until) {
    if (until >= this.#at) return;
    clearTimeout(this.#timer);
    this.#at = until;
    this.#timer = setTimeout(() => this.#ring(), until - performance.now());
  }

  #ring() {
    this.#at = Infinity;
    let next = Infinity;
    for (const wait of this.#waiting) {
      if (wait.until > performance.now()) {
        next = Math.min(next, wait.until);
      } else {
        this.#waiting.delete(wait);
        wait.end();
      }
    }
    if (next < Infinity) this.#arm(next);
  }
}

/** The deadline of a call to the origin, which counts from when the request's body has gone out. */
class Deadline {
  #limits;
  #length;
  #controller = new AbortController();
  /** When the call was made, or when the latest piece of its body went out. */
  from = performance.now();

  constructor(limits, length) {
    this.#limits = limits;
    this.#length = length;
  }

  get signal() {
    return this.#controller.signal;
  }

  /** Waits for a promise until the deadline: then it aborts the call, and gives LATE. */
  async bound(promise) {
    for (;;) {
      const { from } = this;
      const result = await this.#limits.within(from + this.#length - performance.now(), promise);
      if (result !== LATE) return result;
      // If more of the body went out meanwhile, the deadline has moved.
      if (this.from === from) {
        this.#controller.abort();
        return LATE;
      }
    }
  }
}

/** A body that is read in pieces. */
class Source {
  #run;
  #limits;
  #stream;
  #deadline;
  #reader;
  #next;

  constructor({ run, limits }, stream, headers, deadline) {
    this.#run = run;
    this.#limits = limits;
    this.#stream = stream;
    this.#deadline = deadline;
    this.headers = headers;
  }

  read(operation, limit) {
    this.#run(operation, async () => {
      this.#reader ??= this.#open();
      this.#next ??= this.#reader.read(new Uint8Array(PIECE));
      const piece = await (limit ? this.#limits.within(limit, this.#next) : this.#deadline.bound(this.#next));
      if (piece === LATE) return [LATE];
      this.#next = undefined;
      return [DONE, undefined, piece.done ? undefined : piece.value];
    });
  }

  #open() {
    try {
      return this.#stream.getReader({ mode: "byob" });
    } catch {
      // A stream that a handler has written in JavaScript cannot fill a buffer.
      this.#stream = this.#stream.pipeThrough(new IdentityTransformStream());
      return this.#stream.getReader({ mode: "byob" });
    }
  }

  rest() {
    this.#reader?.releaseLock();
    return this.#stream;
  }
}

/** A body that Rust writes. */
class Sink {
  #run;
  #limits;
  #writable;
  #writer;
  #written;

  constructor({ run, limits }, length) {
    const { readable, writable } = length < 0 ? new IdentityTransformStream() : new FixedLengthStream(length);
    this.#run = run;
    this.#limits = limits;
    this.readable = readable;
    this.#writable = writable;
    this.#writer = writable.getWriter();
  }

  write(bytes) {
    this.#written = this.#writer.write(bytes.slice());
  }

  wait(operation, limit) {
    this.#run(operation, async () => [(await this.#limits.within(limit, this.#written)) === LATE ? LATE : DONE]);
  }

  finish(operation, rest) {
    this.#run(operation, async () => {
      if (!rest) {
        await this.#writer.close();
      } else {
        this.#writer.releaseLock();
        await rest.pipeTo(this.#writable);
      }
      return [DONE];
    });
  }

  abort() {
    this.#writer.abort().catch(() => {});
  }
}

export class Bridge {
  #run;
  #limits = new Limits();
  /** What bodies take from this object. */
  #shared;
  #request;
  #ctx;
  #respond;
  #end;
  #whole;
  /** Calls through one stub arrive in the order in which they were made. */
  #shards = new Map();

  #own;
  /** The response of the own handler, if it passes through. */
  #passed;

  /**
   * `run` carries an operation out, and `sandbox` is the origin that is in this Worker. `own` is the handler of a Worker
   * with oncekey inside, its options and the function that names the caller. `respond` takes the response.
   */
  constructor({ run, sandbox, request, env, ctx, own, respond }) {
    this.#run = run;
    this.#shared = { run, limits: this.#limits };
    this.sandbox = sandbox;
    this.#request = request;
    this.#respond = respond;
    this.#own = own;
    this.#ctx = ctx;
    this.env = env;
    // The work goes on when the caller has gone.
    ctx.waitUntil(new Promise((resolve) => (this.#end = resolve)));
  }

  /** What the platform knows of the caller, such as its country. */
  get cf() {
    return this.#request.cf;
  }

  /** Asks the Worker who the caller is. The text is empty if it names nobody. */
  scope(operation) {
    this.#run(operation, async () => {
      // Rust waits for this call to return, and must not be called meanwhile.
      await null;
      try {
        const name = (await this.#own.scope()) ?? "";
        if (typeof name !== "string") throw new TypeError("scope: the function must return a text");
        return [DONE, name];
      } catch (error) {
        console.error(error);
        return [FAILED];
      }
    });
  }

  /** Lets the Worker's own handler respond. An error that it throws is a 500, as without oncekey. */
  async handle(url, init) {
    // Rust waits for this call to return, and must not be called meanwhile.
    await null;
    try {
      const response = await this.#own.handler(new Request(url, { ...init, cf: this.cf }), this.env, this.#ctx);
      const isUnread = response instanceof Response && !response.bodyUsed && !response.body?.locked;
      if (!isUnread) throw new TypeError("the handler must return a Response whose body is unread");
      return response;
    } catch (error) {
      console.error(error);
      return new Response("Internal Server Error", { status: 500 });
    }
  }

  /** Ends the request's work. */
  end() {
    this.#limits.stop();
    this.#end();
  }

  /** The head of the request: method, origin, path, query and headers. */
  head() {
    const { method, url, headers } = this.#request;
    const { origin, pathname, search } = new URL(url);
    return `${method}\n${origin}\n${pathname}\n${search}${lines(headers)}`;
  }

  readWhole(operation, limit) {
    this.#run(operation, async () => {
      this.#whole ??= this.#request.arrayBuffer();
      const body = await this.#limits.within(limit, this.#whole);
      return body === LATE ? [LATE] : [DONE, undefined, new Uint8Array(body)];
    });
  }

  body() {
    const { body } = this.#request;
    return body === null ? undefined : new Source(this.#shared, body);
  }

  shard(operation, name, message, headers, limit) {
    const body = message.slice();
    this.#run(operation, async () => {
      if (!this.#shards.has(name)) this.#shards.set(name, this.env.SHARDS.getByName(name));
      const stub = this.#shards.get(name);
      const send = async () => {
        const reply = await (headers ? stub.fetch(SHARD, { method: "POST", headers, body }) : stub.serve(body));
        if (!(reply instanceof Response)) return [reply[1] | (reply[2] << 8), undefined, reply.subarray(HEAD)];
        const length = reply.headers.get("oncekey-length");
        if (length !== null) return [reply.status, length, undefined, reply];
        return [reply.status, undefined, new Uint8Array(await reply.arrayBuffer())];
      };
      const sent = send();
      // An object that failed may stay broken, so the next call takes a new stub.
      sent.catch(() => this.#shards.get(name) === stub && this.#shards.delete(name));
      const result = await this.#limits.within(limit, sent);
      return result === LATE ? [LATE] : result;
    });
  }

  readReply(operation, reply, limit) {
    this.#run(operation, async () => {
      const body = await this.#limits.within(limit, reply.arrayBuffer());
      return body === LATE ? [LATE] : [DONE, undefined, new Uint8Array(body)];
    });
  }

  origin(operation, head, bytes, kind, responder, noStore, limit, whole) {
    const body = kind === 1 ? bytes.slice() : undefined;
    this.#run(operation, () => this.#callOrigin(head, body, kind, responder, noStore, limit, whole));
  }

  async #callOrigin(head, bytes, kind, responder, noStore, limit, whole) {
    const [method, url] = head.split("\n", 2);
    const deadline = limit ? new Deadline(this.#limits, limit) : undefined;
    const bound = (promise) => (deadline ? deadline.bound(promise) : promise);
    const init = { method, headers: headersOf(head.slice(method.length + url.length + 2), this.#request.headers), redirect: "manual" };
    if (bytes) init.body = bytes.length > PIECE ? inPieces(bytes, deadline) : bytes;
    if (kind === 2) init.body = this.#request.body ?? undefined;
    if (kind === 3) init.body = new ReadableStream({ start: (controller) => controller.close() });
    if (responder === HANDLER) {
      // No connection is between that says the length, and a WebSocket can still be opened.
      const length = bytes?.length ?? (kind === 2 ? this.#request.headers.get("content-length") : null);
      if (length !== null) init.headers.set("content-length", length);
      if (!deadline && this.#request.headers.has("upgrade")) init.headers.set("upgrade", this.#request.headers.get("upgrade"));
    }
    if (noStore) init.cache = "no-store";
    if (deadline && responder !== SANDBOX) init.signal = deadline.signal;
    const response = await bound(RESPONDERS[responder](url, init, this));
    if (response === LATE) return [LATE];
    if (responder === HANDLER && !deadline) this.#passed = response;
    const { status, headers } = response;
    const text = lines(headers).slice(1);
    const length = headers.get("content-length");
    const isShort = length !== null && Number(length) <= whole && !headers.has("content-encoding") && !isEventStream(headers);
    if (response.body !== null && !isShort && !(length === "0" && whole >= 0)) {
      return [status, text, undefined, new Source(this.#shared, response.body, headers, deadline)];
    }
    try {
      const body = response.body === null || length === "0" ? new ArrayBuffer() : await bound(response.arrayBuffer());
      if (body === LATE) return [LATE];
      const source = isAscii(text) ? undefined : new Source(this.#shared, response.body, headers, deadline);
      return [status, text, new Uint8Array(body), source];
    } catch {
      return [CUT_OFF];
    }
  }

  sha256(operation, bytes) {
    // The platform copies the bytes before this returns.
    const digest = crypto.subtle.digest("SHA-256", bytes);
    this.#run(operation, async () => [DONE, undefined, new Uint8Array(await digest)]);
  }

  verify(operation, algorithm, key, signature, signed) {
    const bytes = signature.slice();
    this.#run(operation, async () => {
      const how = ALGORITHMS[algorithm];
      const imported = await crypto.subtle.importKey("jwk", JSON.parse(key), how, false, ["verify"]);
      const isValid = await crypto.subtle.verify(how, imported, bytes, new TextEncoder().encode(signed));
      return [DONE, isValid ? "valid" : "invalid"];
    });
  }

  asset(operation, file, method, known) {
    this.#run(operation, async () => {
      const headers = known === undefined ? {} : { "if-none-match": known };
      // Only the path of this URL matters.
      const { status, headers: came, body } = await this.env.ASSETS.fetch(`https://demo.invalid/${file}`, { method, headers });
      return [status, lines(came).slice(1), undefined, body ?? undefined];
    });
  }

  putCopy(operation, key, bytes, seconds) {
    const value = bytes.slice();
    this.#run(operation, async () => {
      await this.env.REPLICA.put(key, value, { expirationTtl: seconds });
      return [DONE];
    });
  }

  getCopy(operation, key, limit) {
    this.#run(operation, async () => {
      const stream = await this.#limits.within(limit, this.env.REPLICA.get(key, "stream"));
      if (stream === LATE) return [LATE];
      return [DONE, undefined, undefined, stream === null ? undefined : new Source(this.#shared, stream)];
    });
  }

  writePoint(text, ...doubles) {
    // A dataset that refuses a data point is not an error.
    try {
      const blobs = text.split("\n");
      this.env.METRICS.writeDataPoint({ indexes: blobs.slice(0, 1), blobs, doubles });
    } catch {}
  }

  href(link, base) {
    const url = URL.parse(link, base);
    if (!url) return undefined;
    url.username = "";
    url.password = "";
    return url.href;
  }

  only(headers, names) {
    const found = copy(headers, new Set(names.split("\n")));
    return found.keys().next().done ? undefined : found;
  }

  sink(length) {
    return new Sink(this.#shared, length);
  }

  respond(status, head, bytes, stream, isCoded, came) {
    const headers = headersOf(head, came);
    const init = { status: status === 101 ? 502 : status, headers };
    if (isCoded) init.encodeBody = "manual";
    const isPassed = this.#passed?.status === status;
    this.#respond(isPassed ? withHeaders(this.#passed, headers) : new Response(bytes?.slice() ?? stream ?? null, init));
  }
}

const isAscii = (text) => !/[^\x00-\x7f]/.test(text);

/** Whether a body may never end: src/gateway/origin.rs leaves it unread. */
const isEventStream = (headers) => /^\s*text\/event-stream/i.test(headers.get("content-type"));

/** The headers, each name and each value after a line break. */
function lines(headers) {
  let text = "";
  for (const [name, value] of headers) text += `\n${name}\n${value}`;
  return text;
}

/**
 * Headers from text. A value that is not ASCII is taken from the object in which it `came`: as text it would get into
 * the Worker's log, and its bytes could change (src/http/headers.rs).
 */
function headersOf(text, came) {
  const parts = text.split("\n");
  const pairs = [];
  for (let i = 0; i + 1 < parts.length; i += 2) pairs.push([parts[i], parts[i + 1]]);
  const isOwn = ([name, value]) => !isAscii(value) && came?.get(name)?.includes(value);
  const own = new Set(isAscii(text) ? [] : pairs.filter(isOwn).map(([name]) => name));
  try {
    if (own.size === 0) return new Headers(pairs);
  } catch {
    // One of them is refused.
  }
  const headers = own.size > 0 ? copy(came, own) : new Headers();
  for (const [name, value] of pairs) {
    if (own.has(name)) continue;
    try {
      headers.append(name, value);
    } catch {
      // The platform takes what came from it. What it refuses is left out.
    }
  }
  return headers;
}

/** A response with other headers. What no header says stays: a WebSocket, and whether the body is coded already. */
function withHeaders(response, headers) {
  const made = new Response(response.body, response);
  for (const name of [...made.headers.keys()]) made.headers.delete(name);
  for (const [name, value] of headers) made.headers.append(name, value);
  return made;
}

/** A copy of the headers with these names. */
function copy(headers, names) {
  const made = new Headers(headers);
  for (const name of [...made.keys()]) if (!names.has(name)) made.delete(name);
  return made;
}

/** A body of known length that goes out in pieces. The deadline starts when the last one has gone out. */
function inPieces(bytes, deadline) {
  const { readable, writable } = new FixedLengthStream(bytes.length);
  const send = async () => {
    const writer = writable.getWriter();
    for (let at = 0; at < bytes.length; at += PIECE) {
      if (deadline) deadline.from = performance.now();
      await writer.write(bytes.subarray(at, at + PIECE));
    }
    await writer.close();
  };
  // An origin that responds before it has read everything ends this with an error.
  send().catch(() => {});
  return readable;
}
