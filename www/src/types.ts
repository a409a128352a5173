// The public types: settings, events and results. No code.

/** A storage for keys: `localStorage`, or any object with its methods. */
export interface StorageLike {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

/** A store outside of a page: what the functions of `oncekey/node` and `oncekey/store` return. */
export interface SharedStore {
  /** Called by a client. */
  openEntries(namespace: string): object;
}

/** The settings of retries. All times are in milliseconds, at most 2147483647. */
export interface RetryOptions {
  /** How many retries follow the first attempt; 0 to 100. Default 4. */
  limit?: number;
  /** The longest wait before each retry. The last value counts for all later retries. Default [1000, 2000, 4000, 8000]. */
  delays?: number[];
  /** How a wait is chosen: "full" is a random wait up to the limit, "none" is the limit. Default "full". */
  jitter?: "full" | "none";
  /** How long one attempt may take, at least 1. It should be longer than the 25 s that the gateway gives its origin. Default 30000. */
  attemptTimeout?: number;
  /**
   * How long all attempts and waits may take together, at least `attemptTimeout`. Before that, the call may wait for another
   * tab for the same time. Default 180000.
   */
  totalTime?: number;
  /** The longest `Retry-After` that is followed. Default 60000. */
  maxRetryAfter?: number;
}

export interface ClientOptions {
  /** How long the server keeps responses, in milliseconds. Default 24 hours. */
  retention?: number;
  /**
   * Where keys are stored. Default `localStorage`, if there is one. With null they are in memory only, and a reload forgets
   * them. Outside of a page, use a store of `oncekey/node` or `oncekey/store`.
   */
  storage?: StorageLike | SharedStore | null;
  /**
   * The prefix of stored names. Default "oncekey". If several people use one machine, give each login its own
   * namespace.
   */
  namespace?: string;
  retry?: RetryOptions;
  /** The URL that returns the state of a key, and voids the key under `…/void`. Default null: the server has no key calls. */
  keyUrl?: string | URL | null;
  /**
   * The header for the key of a request. Default "Idempotency-Key". If the server is the gateway, its `KEY_HEADERS` must
   * list the header. Key calls always send `Idempotency-Key`.
   */
  keyHeader?: string;
  /**
   * Returns the headers of a request that is no longer in memory, for example after a reload. Key calls send the headers
   * that the request had, with the same values, and no others. If a header is missing or differs, no key call is made,
   * and the outcome stays open.
   */
  headers?: () => HeadersInit | Promise<HeadersInit>;
  /**
   * The credentials mode of `fetch` for key calls about keys that an earlier version of this package stored. All other
   * key calls carry cookies if their requests did.
   */
  credentials?: RequestCredentials;
  /**
   * Statuses (4xx) that this server returns for the key itself, even without proof, after an attempt whose outcome is
   * unknown: `[402]` for Stripe. Default none: such a response may be about its attempt only, and the key stays. It has
   * no effect for a server that is known to send proof.
   */
  finalStatuses?: number[];
  /** The function that sends requests. Default: the global `fetch`. */
  fetch?: typeof fetch;
}

export interface IntentOptions {
  /**
   * JSON pointers (`/nonce`) to values in the body that may differ between submits of the same payload. In a form, a
   * pointer with a single step names a field. CSRF tokens in a form (`_token`, `csrfmiddlewaretoken` and the like) are
   * ignored already.
   */
  ignore?: string[];
  /**
   * The media types of the API's responses. Any other type counts as the page of a captive portal. Default: the
   * request's `Accept`, else "application/json". "*\/*" is anything.
   */
  expects?: string;
  /** Returns whether this is a response of the API. Any other response does not count. The function gets a copy to read. */
  validate?: (response: Response) => boolean | Promise<boolean>;
}

/** A request of an intent, as for `fetch`. The default method is POST. The body is read once, even a stream. */
export type IntentInit = RequestInit;

/** What is known about an intent. */
export interface IntentStatus {
  /**
   * - `idle`: nothing is stored
   * - `prepared`: it has a key, and nothing was executed
   * - `sending`: an attempt is in progress, or its page was closed before the response
   * - `unknown`: an attempt may have been executed
   * - `succeeded`, `refused`: it has its response
   * - `voided`: nothing was executed, and nothing will be
   */
  state: "idle" | "prepared" | "sending" | "unknown" | "succeeded" | "refused" | "voided";
  /** The status of the response, in the states that have one. */
  httpStatus?: number;
  key?: string;
  /** How many attempts were sent with the key. */
  attempts?: number;
  /** When the key was made, in milliseconds since 1970. */
  createdAt?: number;
  /** Why the stored entry cannot be read. The state is then `unknown`. */
  problem?: string;
}

export interface PendingIntent extends IntentStatus {
  intent: string;
}

export interface ResolveOptions {
  signal?: AbortSignal;
  /**
   * Asks the merchant's own API for the outcome, if the key calls do not return it. Returns `undefined` if the API does not
   * know the outcome either.
   */
  lookup?: () => Lookup | undefined | Promise<Lookup | undefined>;
}

/**
 * The result of a look-up. It must be about this request, not about an earlier one that was refused. A missing order
 * proves nothing, so there is no state for it: return `undefined`. Any other state is an error.
 */
export interface Lookup {
  state: "succeeded" | "refused";
  /** 200 to 399 for a success, 400 to 499 for a refusal. */
  httpStatus?: number;
}

/** The events of a client. Each is a `CustomEvent` whose `detail` has the name of the intent. No event contains a body. */
export interface ClientEvents {
  /** An attempt is being sent. */
  attempt: AttemptDetail;
  /** The request will be sent again, after this many milliseconds. */
  retry: { intent: string; key: string; after: number; attempt: number };
  /** An attempt is in progress, here or in another tab. The request is sent again after this time. */
  inprogress: { intent: string; key?: string; after?: number; elsewhere: boolean };
  /** The response is a replay. */
  replayed: { intent: string; key: string; httpStatus: number; requestId: string | null };
  /** The outcome is known. */
  settled: { intent: string; key?: string; state: IntentStatus["state"]; httpStatus?: number };
  /** The outcome is unknown. */
  unknown: { intent: string; key?: string; reason: string };
  /** The intent has another key than before. */
  keyrotated: { intent: string; key: string };
  /** Storage failed, so entries of this page may be lost on a reload. */
  "storage-degraded": { reason: "denied" | "quota" | "unavailable" };
  /** Wasm is forbidden in this page (CSP), so its translation to JavaScript runs instead. */
  "wasm-fallback": { reason: string };
  /** A submit was swallowed, because an earlier submit is in progress or is part of the same double click. */
  blocked: { intent: string };
  /**
   * The core could not be loaded. With an intent, a submit of its form waited for the core, and was not sent. The next
   * submit or call tries again.
   */
  "load-failed": { intent?: string | undefined; reason: string };
}

export interface AttemptDetail {
  intent: string;
  key: string;
  /** From 1. */
  attempt: number;
}

export type ClientEvent<K extends keyof ClientEvents = keyof ClientEvents> = CustomEvent<ClientEvents[K]>;

/** How a form is guarded. */
export interface GuardOptions {
  client: Client;
  /** The name of the intent, or a function that returns it at each submit. */
  intent: string | ((form: HTMLFormElement) => string);
  /** `fetch`: the package sends the form. `navigate`: the browser does, with the key in a hidden field. */
  send?: "fetch" | "navigate";
  /**
   * The name of the field for the key, as the gateway's KEY_FIELD. Default "idempotency_key". A key that the server has
   * put into a hidden field of that name is used where a key would be made otherwise.
   */
  keyField?: string;
  /** How the buttons are locked. Default "aria": `aria-disabled`. */
  disable?: "aria" | "native";
  /**
   * The label of the clicked button while it is busy. The button's `data-oncekey-busy` takes precedence. After a success
   * the label is the button's `data-oncekey-done`, or the label that it had before.
   */
  busyLabel?: string;
  /** The texts for the buyer in the live region. */
  messages?: Partial<GuardMessages>;
  /** With `fetch`: returns the request to send, if it should differ from what a browser would send. */
  request?: (form: HTMLFormElement, data: FormData, submitter: HTMLElement | null) => FormRequest | Promise<FormRequest>;
  /** The options of the intent. With `navigate`, only `ignore` has an effect. */
  options?: IntentOptions;
  /** With `fetch`: gets the response, also a refusal. An error that it throws is reported as an error of the page. */
  onResponse?: (response: Response, form: HTMLFormElement, outcome: "succeeded" | "refused") => void | Promise<void>;
  /** Gets the errors: OutcomeUnknownError and the like. */
  onError?: (error: unknown, form: HTMLFormElement) => void;
}

export interface FormRequest {
  url: string | URL;
  init: IntentInit;
}

export interface GuardMessages {
  busy: string;
  retry: string;
  inprogress: string;
  succeeded: string;
  refused: string;
  /** The form was not sent, or not executed. */
  failed: string;
  /** The intent has succeeded before, with another payload. */
  changed: string;
  unknown: string;
}

export interface FormGuard {
  /** Whether the form is locked: further submits are not sent. */
  readonly locked: boolean;
  /** Lets the form be submitted again. */
  release(): void;
  /** Marks the form as done: it stays locked and is no longer busy. A request that was not sent yet is not sent. */
  done(): void;
  /** Cancels a submit that was not sent yet, and frees the form. Returns false if there is none, or if it was sent already. */
  cancel(): boolean;
  /** Removes the guard. */
  detach(): void;
}

/** A named operation. */
export interface Intent {
  readonly name: string;
  /** Returns the response, after as many attempts as needed. */
  fetch(url: string | URL, init?: IntentInit): Promise<Response>;
  /** Asks the server, then `lookup`, for the outcome. Sends nothing that changes the outcome. */
  resolve(options?: ResolveOptions): Promise<IntentStatus>;
  /** Abandons the intent. The returned state is `voided` if nothing was executed and nothing will be. */
  abandon(options?: { signal?: AbortSignal }): Promise<IntentStatus>;
  /** Returns what is known without asking the server. */
  status(): IntentStatus;
  /**
   * Removes the stored entry. Use it only if the page knows the outcome, or if the buyer starts anew. With a store outside of
   * the page, await the promise that it returns.
   */
  forget(): void | Promise<void>;
}

export interface Client {
  intent(name: string, options?: IntentOptions): Intent;
  fetch(intent: string, url: string | URL, init?: IntentInit, options?: IntentOptions): Promise<Response>;
  /** Returns the intents whose outcome is unknown. */
  pending(): PendingIntent[];
  /**
   * Removes the entries of settled intents that are older than the retention, and returns their number. The calls of the
   * client do the same, a few at a time. An intent whose outcome is open stays.
   */
  prune(): Promise<number>;
  addEventListener<K extends keyof ClientEvents>(
    type: K,
    listener: ((event: ClientEvent<K>) => void) | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<K extends keyof ClientEvents>(
    type: K,
    listener: ((event: ClientEvent<K>) => void) | null,
    options?: boolean | EventListenerOptions,
  ): void;
  dispatchEvent(event: Event): boolean;
}

/** A client that loads its core. */
export interface LoadedClient extends Client {
  /**
   * Resolves when the core is loaded, and loads it if it is not. Await it before `pending`, `status` and `forget`. If
   * loading failed, the next use of `ready` tries again.
   */
  readonly ready: Promise<void>;
}

/** The exports of an entry point. The types of the core are not shipped. */
export interface EntryPoint {
  createClient(options?: ClientOptions): LoadedClient;
  /** Returns a new key, a UUIDv7, for requests that the package does not send. */
  mintKey(): Promise<string>;
}
