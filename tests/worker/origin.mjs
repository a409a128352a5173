// A scripted origin on 127.0.0.1: what the gateway stands in front of. It counts what really reached it.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

/** A 201 whose body no other call gets. */
export const created = () => ({
  status: 201,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ id: randomUUID() }),
});

/** A handler that gives these answers in turn; a number is a status with an empty JSON object. */
export function inTurn(...answers) {
  const left = [...answers];
  return (...call) => {
    const next = left.length > 1 ? left.shift() : left[0];
    if (typeof next === "function") return next(...call);
    return typeof next === "number"
      ? { status: next, headers: { "Content-Type": "application/json" }, body: next === 204 ? "" : "{}" }
      : next;
  };
}

/** A handler that cuts the connection without an answer. */
export const cut = (_, response) => void response.socket.destroy();

/** A handler that waits until `open()` is called; `reached` tells that a call has come, and fails when none comes. */
export function gated(then = created) {
  let open, reach;
  const opened = new Promise((resolve) => (open = resolve));
  const reached = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("no call reached the origin")), 60_000);
    reach = () => (clearTimeout(timer), resolve());
    timer.unref();
  });
  reached.catch(() => {});
  const handler = async (...call) => {
    reach();
    await opened;
    return then(...call);
  };
  return Object.assign(handler, { open, reached });
}

export class Origin {
  seen = [];
  #routes = new Map();
  #server;

  static async start() {
    const origin = new Origin();
    origin.#server = createServer((request, response) =>
      origin.#serve(request, response).catch(() => response.destroy()),
    );
    origin.#server.keepAliveTimeout = 60_000;
    await new Promise((resolve) => origin.#server.listen({ port: 0, host: "127.0.0.1", backlog: 2048 }, resolve));
    origin.url = `http://127.0.0.1:${origin.#server.address().port}`;
    return origin;
  }

  /** A path, a new one by default, that `handler(request, response)` answers; one that returns nothing has answered by itself. */
  route(handler = created, path = `/o/${randomUUID()}`) {
    this.#routes.set(path, handler);
    return path;
  }

  /** What reached a path. */
  at(path) {
    return this.seen.filter((request) => request.path === path);
  }
  hits(path) {
    return this.at(path).length;
  }
  last(path) {
    return this.at(path).at(-1);
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request, response) {
    const path = request.url.split("?")[0];
    const seen = {
      method: request.method,
      path,
      target: request.url,
      headers: request.headers,
      rawHeaders: request.rawHeaders,
    };
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    seen.body = Buffer.concat(chunks);
    this.seen.push(seen);
    const handler = this.#routes.get(path) ?? (() => ({ status: 404, body: "no such path" }));
    const answer = await handler(seen, response);
    if (!answer) return;
    const { status = 200, headers = {}, body = "" } = answer;
    const bytes = Buffer.from(body);
    response.statusCode = status;
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // Node sends a length by itself only for a body of one piece that it may have.
    if (
      ![204, 304].includes(status) &&
      !response.hasHeader("Transfer-Encoding") &&
      !response.hasHeader("Content-Length")
    ) {
      response.setHeader("Content-Length", bytes.length);
    }
    response.end(seen.method === "HEAD" ? undefined : bytes);
  }
}
