// Calls a Worker as HTTP clients do: header by header and byte by byte, nothing joined, decoded or repeated.
import { request as send } from "node:http";
import { connect } from "node:net";

/** One answer. Header names compare case-free; `all` gives every value of a name, in order. */
export class Answer {
  constructor(status, pairs, body) {
    Object.assign(this, { status, pairs, body });
  }
  all(name) {
    return this.pairs.filter(([known]) => known.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }
  get(name) {
    return this.all(name)[0];
  }
  get text() {
    return this.body.toString("utf8");
  }
  get json() {
    return JSON.parse(this.text);
  }
  get replayed() {
    return this.get("Idempotent-Replayed") === "true";
  }
  get state() {
    return this.get("Idempotency-State");
  }
}

/** `body`: bytes, a text, or a value that is sent as JSON. Gives the bytes and the type that belongs to them. */
export function encode(body) {
  if (body === undefined) return [Buffer.alloc(0), undefined];
  if (body instanceof Uint8Array) return [Buffer.from(body), undefined];
  if (typeof body === "string") return [Buffer.from(body), undefined];
  return [Buffer.from(JSON.stringify(body)), "application/json"];
}

/** One exchange on a connection of its own. `headers`: pairs, so a name may come twice. `chunked`: no Content-Length. */
export function exchange(url, { method = "GET", path, headers = [], body, chunked = false, timeout = 180_000 }) {
  const { host, hostname, port } = new URL(url);
  const [bytes, type] = encode(body);
  const has = (name) => headers.some(([known]) => known.toLowerCase() === name);
  const all = [["Host", host], ...headers, ["Connection", "close"]];
  if (type && !has("content-type")) all.push(["Content-Type", type]);
  const writes = !["GET", "HEAD", "OPTIONS"].includes(method);
  if (chunked) all.push(["Transfer-Encoding", "chunked"]);
  else if (bytes.length > 0 || writes) all.push(["Content-Length", String(bytes.length)]);
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeout);
    const request = send({ hostname, port, method, path, headers: all.flat(), agent: false, signal }, (response) => {
      const chunks = [];
      const pairs = response.rawHeaders.flatMap((name, at, raw) => (at % 2 ? [] : [[name, raw[at + 1]]]));
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve(new Answer(response.statusCode, pairs, Buffer.concat(chunks))));
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(bytes);
  });
}

/** Sends bytes as they are and gives all that comes back until the other side closes. */
export async function sendRaw(url, bytes) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.end(bytes);
  const chunks = [];
  for await (const chunk of socket) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("latin1");
  return { status: Number(text.split(" ")[1]), text };
}

/** Opens a connection and sends the start of a request on it; the caller goes on, closes or resets it. */
export async function startRaw(url, bytes) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  await new Promise((resolve) => socket.write(bytes, resolve));
  return socket;
}

/** The bytes of a request's head; `headers` are pairs. */
export function head(method, path, headers) {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: oncekey.test", ...headers.map((pair) => pair.join(": "))];
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}
