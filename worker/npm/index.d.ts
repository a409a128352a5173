/**
 * The modules `oncekey-worker` and `oncekey-worker/sandbox`: the gateway as a Worker. A project with a Worker of its own
 * exports these names from its main module, or sends requests to the gateway through a service binding.
 */

/** The settings, as vars and secrets of the Worker. Every value is text. docs/guide/settings.md describes them. */
export interface Settings {
  ADMIN_TOKEN?: string;
  ANONYMOUS?: "refuse" | "allow";
  BLANK_KEY?: "refuse" | "ignore";
  BUSINESS_KEYS?: string;
  CONNECT_FAILURE?: "unknown" | "released";
  CORS_ORIGINS?: string;
  DIALECT?: "kukopay" | "ietf";
  EXPIRED_KEY?: "forget" | "refuse";
  FINGERPRINT_IGNORE?: string;
  FINGERPRINT_SECRET?: string;
  HEADERS_NOT_REPLAYED?: string;
  JOURNAL_RETENTION_SECONDS?: string;
  JWKS_URL?: string;
  JWT_AUDIENCE?: string;
  JWT_ISSUER?: string;
  KEY_FIELD?: string;
  KEY_HEADERS?: string;
  KEY_REQUIRED?: string;
  LEASE_SECONDS?: string;
  MAX_KEY_LENGTH?: string;
  MAX_REPLAY_BYTES?: string;
  MAX_REQUEST_BYTES?: string;
  NOT_FINAL?: string;
  ORIGIN_TIMEOUT_SECONDS?: string;
  OUTCOMES?: string;
  REPLAY_AUTHORIZATION?: string;
  REPLAY_MEMORY_BYTES?: string;
  RESOLVE?: string;
  RETENTION_SECONDS?: string;
  SANDBOX?: "closed" | "open";
  SCOPE?: string;
  SCOPE_ALIASES?: string;
  SCOPE_CACHE_SECONDS?: string;
  SKIP?: string;
  UNKNOWN_OUTCOME?: "retry" | "hold";
  UPSTREAM?: string;
  WEBHOOK_SECRETS?: string;
  WEBHOOK_TARGETS?: "public" | "local";
}

/**
 * What the Worker finds in its environment. The bindings are objects of the platform; their types are in
 * `@cloudflare/workers-types`.
 */
export interface Env extends Settings {
  /** The namespace of the class `Shard`. */
  SHARDS: object;
  /** The namespace of the class `Merchant`, for the sandbox. */
  MERCHANTS?: object;
  /** A KV namespace for copies of responses. */
  REPLICA?: object;
  /** The static files in `dist/pages`. */
  ASSETS?: object;
  /** A dataset of Analytics Engine. */
  METRICS?: object;
}

/** The gateway. The platform creates it for each request. */
declare class Gateway {
  constructor(ctx: object, env: Env);
  fetch(request: Request): Promise<Response>;
}
export default Gateway;

/** The Durable Object of a shard, which holds the records of keys. */
export declare class Shard {
  constructor(ctx: object, env: Env);
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
}

/** The Durable Object of a merchant of the sandbox. In the build without the sandbox it does nothing. */
export declare class Merchant {
  constructor(ctx: object, env: Env);
  fetch(request: Request): Promise<Response>;
  alarm(): Promise<void>;
}

type CamelCase<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Lowercase<Word>}${Capitalize<CamelCase<Rest>>}`
  : Lowercase<Name>;
type Value<Text> = string extends Text ? string | number | readonly string[] : Text;

/** The settings that cannot be options: secrets, what the objects read too, and what is about another origin. */
type OnlyVars =
  | "ADMIN_TOKEN"
  | "CONNECT_FAILURE"
  | "FINGERPRINT_SECRET"
  | "JOURNAL_RETENTION_SECONDS"
  | "SANDBOX"
  | "SCOPE"
  | "SCOPE_ALIASES"
  | "UPSTREAM"
  | "WEBHOOK_SECRETS"
  | "WEBHOOK_TARGETS";

/**
 * Options are settings in camelCase: `retentionSeconds` is `RETENTION_SECONDS`. They take precedence over vars. If an
 * option is wrong or unknown, every request gets 500 with a message that says what to write.
 */
export type Options = {
  [Name in Exclude<keyof Settings, OnlyVars> as CamelCase<Name>]?: Value<NonNullable<Settings[Name]>>;
} & {
  /** Whether every write that reaches the handler must have a key. */
  required?: boolean;
  /** JSON pointers to members of the body that do not count when requests are compared: `["/sent_at"]`. */
  ignore?: string | readonly string[];
};

/** The name of a caller. Without one, a request with a key gets 401. */
export type Name = string | null | undefined;

/** Where requests carry the caller's credential, or a function that names the caller. */
export type ScopeOption<Values extends unknown[]> = string | readonly string[] | ((...values: Values) => Name | Promise<Name>);

/**
 * Puts oncekey inside a Worker: returns a fetch handler that executes each write once. It calls `handler`, or returns
 * what an earlier request with the same key got. A scope function gets the request without its body, and the bindings.
 */
export declare function idempotent<Bindings = any>(
  handler: (request: any, env: Bindings, ctx: any) => Response | Promise<Response>,
  options?: Options & { scope?: ScopeOption<[request: Request, env: Bindings]> },
): (request: any, env: Bindings, ctx: any) => Promise<Response>;
