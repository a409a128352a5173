// The middleware for Hono: the handlers behind it are the origin (docs/guide/inside-a-worker.md).

import { read, respond } from "./index.mjs";

/**
 * Returns a middleware that executes each write of its route once. `options.scope` may be a function of the context
 * that names the caller.
 */
export function idempotency(options = {}) {
  if (options.resolve) {
    throw new TypeError("resolve: a middleware cannot call another route; use idempotent(app.fetch, { resolve })");
  }
  // A var RESOLVE is for the whole app, so it must not call this route either.
  const { texts, scope } = read({ ...options, resolve: "none" });
  return async (c, next) => {
    let isDone = false;
    const { url, method } = c.req.raw;
    const handler = async (request) => {
      if (request.url !== url || request.method !== method) throw new Error("a middleware cannot call another route");
      c.req.raw = request;
      c.req.bodyCache = {};
      await next();
      isDone = true;
      return c.res;
    };
    const own = { handler, texts, scope: scope && (() => scope(c)) };
    const response = await respond(await unread(c.req), c.env, contextOf(c), own);
    // If no handler has run, Hono adds the headers that outer middleware has set. Otherwise the response has them.
    if (!isDone) return response;
    c.res = undefined;
    c.res = response;
  };
}

/** The request with its body, even if a middleware has read it. */
async function unread(req) {
  const { url, method, headers: asked, cf, bodyUsed } = req.raw;
  if (!bodyUsed) return req.raw;
  const headers = new Headers(asked);
  // What Hono has parsed may be written differently.
  headers.delete("content-length");
  return new Request(url, { method, headers, cf, body: await req.arrayBuffer() });
}

/** The execution context. Outside of a Worker there is none. */
function contextOf(c) {
  try {
    return c.executionCtx;
  } catch {
    return { waitUntil() {} };
  }
}
