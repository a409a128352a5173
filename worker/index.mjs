// What the npm package `oncekey-worker` exports: the gateway, its objects, and a function that puts oncekey inside a
// Worker of your own, whose handler is then the origin (docs/guide/inside-a-worker.md).
//
// Nothing happens when this module is loaded. The first request makes an instance of the wasm.

import Gateway from "./entry.mjs";

export { default, Merchant, Shard } from "./entry.mjs";

/**
 * Returns a fetch handler that executes each write once: it calls `handler`, or returns what an earlier request with
 * the same key got. `options.scope` may be a function of the request and the bindings that names the caller.
 */
export function idempotent(handler, options) {
  const { texts, scope } = read(options);
  return (request, env, ctx) => respond(request, env, ctx, { handler, texts, scope: scope && (() => scope(headOf(request), env)) });
}

/** Lets the gateway respond to a request. `own`: the handler that is the origin, its options, and who the caller is. */
export function respond(request, env, ctx, own) {
  return Gateway.respond(request, env, ctx, own);
}

/** The options as text, which Rust checks like vars (src/config/options.rs), and the function that names the caller. */
export function read(options = {}) {
  const isFunction = typeof options.scope === "function";
  const all = Object.entries({ ...options, ...(isFunction && { scope: "function" }) });
  const texts = all.filter(([, value]) => value !== undefined).map(([name, value]) => `${name}\0${value}`);
  return { texts: texts.join("\0"), scope: isFunction ? options.scope : undefined };
}

/** The request without its body, which stays for the gateway to read. */
function headOf({ url, method, headers, cf }) {
  return new Request(url, { method, headers, cf });
}
