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
