import type { Context, Env, MiddlewareHandler } from "hono";
import type { Options, ScopeOption } from "./index.js";

/** Returns a middleware that executes each write of its routes once. The handlers behind it are the origin. */
export declare function idempotency<E extends Env = any>(
  options?: Omit<Options, "resolve"> & { scope?: ScopeOption<[c: Context<E>]> },
): MiddlewareHandler<E>;
