// What callers see: settings, events and results. No code.

/** What stores the keys: `localStorage`, or anything with its methods. */
export interface StorageLike {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

/** When a request is sent again. Lengths are in milliseconds. */
export interface RetryOptions {
  /** How often it is sent again after the first time; 0 to 100. Default 4. */
  limit?: number;
  /** The longest wait before each retry; the last one counts for all that follow. Default 1, 2, 4, 8 s. */
  delays?: number[];
  /** How a wait is drawn: anything up to its limit, or the limit. Default "full". */
  jitter?: "full" | "none";
  /** How long one attempt may take. More than the 25 s that the gateway gives its origin. Default 30 s. */
  attemptTimeout?: number;
  /** How long all attempts and waits may take together; waiting for another tab may take as long before. Default 180 s. */
  totalTime?: number;
  /** The longest that a server's `Retry-After` is followed. Default 60 s. */
  maxRetryAfter?: number;
}

export interface ClientOptions {
  /** How long the server keeps answers, in milliseconds. Default 24 hours. */
  retention?: number;
  /** Where keys are kept. Default `localStorage` where there is one; null: in memory only, so a reload forgets. */
  storage?: StorageLike | null;
  /**
   * Prefix of what is stored. Default "oncekey". On a machine that several people use, one for each login keeps their
   * intents apart.
   */
  namespace?: string;
  retry?: RetryOptions;
  /** Where a key's state is asked, and voided under `…/void`. Default null: the server has no such calls. */
  keyUrl?: string | URL | null;
  /**
   * Where the key calls find the credential of a request that is not in memory any more, after a reload for example:
   * the headers that it carried. Of these they send those that the request had, with the same values, and no others;
   * where one is missing or differs, nothing is asked and nothing settles.
   */
  headers?: () => HeadersInit | Promise<HeadersInit>;
  /**
   * `fetch`'s credentials mode for key calls of keys that an earlier version of this package stored. All others carry
   * cookies as their requests did.
   */
  credentials?: RequestCredentials;
  /**
   * Statuses (4xx) by which this server answers for the key itself also without proof, after an attempt whose outcome
   * is unknown: `[402]` for Stripe. Default none: such an answer may be about its attempt alone, and the key stays.
   * Without effect for a server that is known to send proof.
   */
  finalStatuses?: number[];
  /** What sends requests. Default: the global `fetch`. */
  fetch?: typeof fetch;
}

export interface IntentOptions {
  /**
   * JSON pointers into the body (`/nonce`) that do not make it another payload. In a form, one of a single step names
   * a field. Tokens against cross-site requests (`_token`, `csrfmiddlewaretoken` and the like) need not be named there.
   */
  ignore?: string[];
  /**
   * The media types that the API answers with; anything else is taken for a captive portal's page. Default: the
   * request's `Accept`, else "application/json". "*\/*" is anything.
   */
  expects?: string;
  /** Whether this is an answer of the API at all; false counts as none. It gets a copy to read. */
  validate?: (response: Response) => boolean | Promise<boolean>;
}

/** A request of an intent, as for `fetch`, but a POST unless it says otherwise. Its body is read once; a stream too. */
export type IntentInit = RequestInit;

/** What is known of an intent. */
export interface IntentStatus {
  /**
   * - `idle`: nothing is stored
   * - `prepared`: it has a key; surely nothing was executed
   * - `sending`: an attempt is under way, or its page is gone
   * - `unknown`: it may have been executed
   * - `succeeded`, `refused`: it has its answer
   * - `voided`: nothing was executed, and nothing will be
   */
  state: "idle" | "prepared" | "sending" | "unknown" | "succeeded" | "refused" | "voided";
  /** Of the answer, in the states that have one. */
  httpStatus?: number;
  key?: string;
  /** How many attempts were sent with the key. */
  attempts?: number;
  /** When the key was made, in milliseconds since 1970. */
  createdAt?: number;
  /** Why what is stored cannot be read; then the state is unknown. */
  problem?: string;
}

export interface PendingIntent extends IntentStatus {
  intent: string;
}

export interface ResolveOptions {
  signal?: AbortSignal;
  /** Asks the merchant's own API, where the key calls cannot tell. `undefined`: it does not know either. */
  lookup?: () => Lookup | undefined | Promise<Lookup | undefined>;
}

/**
 * What a look-up found out: of this very request, not of an earlier try that was refused. That an order is not there
 * yet proves nothing, so there is no word for it. Any other state is an error.
 */
export interface Lookup {
  state: "succeeded" | "refused";
  /** 200 to 399 for a success, 400 to 499 for a refusal. */
  httpStatus?: number;
}

/** The events of a client, each a `CustomEvent` whose `detail` has the intent's name. None carries a body. */
export interface ClientEvents {
  /** A request is being sent. */
  attempt: AttemptDetail;
  /** It will be sent again, after this many milliseconds. */
  retry: { intent: string; key: string; after: number; attempt: number };
  /** An attempt is under way, here or in another tab; it is asked again after this long. */
  inprogress: { intent: string; key?: string; after?: number; elsewhere: boolean };
  /** The answer had been given before. */
  replayed: { intent: string; key: string; httpStatus: number; requestId: string | null };
  /** The outcome is known. */
  settled: { intent: string; key?: string; state: IntentStatus["state"]; httpStatus?: number };
  /** The outcome is not known. */
  unknown: { intent: string; key?: string; reason: string };
  /** The intent has another key than before. */
  keyrotated: { intent: string; key: string };
  /** What is stored does not survive this page. */
  "storage-degraded": { reason: "denied" | "quota" | "unavailable" };
  /** Wasm may not run here (CSP); its translation to JavaScript does. */
  "wasm-fallback": { reason: string };
  /** A submit was swallowed, because an earlier one is under way or of the same double click. */
  blocked: { intent: string };
  /** The guard of a form could not be loaded. `held`: a submit had waited for it, and was not sent. The next one tries again. */
  "guard-failed": { intent: string | undefined; reason: string; held: boolean };
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
  /** The intent's name, or what makes it of the form at each submit. */
  intent: string | ((form: HTMLFormElement) => string);
  /** `fetch`: the package sends the form. `navigate`: the browser does, with the key in a hidden field. */
  send?: "fetch" | "navigate";
  /**
   * The name of the field for the key, as the gateway's KEY_FIELD. Default "idempotency_key". A key that the server has
   * put into a hidden field of that name becomes the intent's, where one would be made otherwise.
   */
  keyField?: string;
  /** How the buttons are locked. Default "aria": `aria-disabled`. */
  disable?: "aria" | "native";
  /**
   * What the clicked button says while it is busy; a button's `data-oncekey-busy` wins. After a success it says what its
   * `data-oncekey-done` holds, or what it said before.
   */
  busyLabel?: string;
  /** What is told to the buyer in the live region. */
  messages?: Partial<GuardMessages>;
  /** fetch: what to send, where it is not the form as a browser would. */
  request?: (form: HTMLFormElement, data: FormData, submitter: HTMLElement | null) => FormRequest | Promise<FormRequest>;
  /** Options of the intent. Of `navigate` only `ignore` counts. */
  options?: IntentOptions;
  /** fetch: the answer, a refusal included. An error that it throws is reported as one of the page's own. */
  onAnswer?: (response: Response, form: HTMLFormElement) => void | Promise<void>;
  /** What went wrong: OutcomeUnknownError and the like. */
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
  /** It was not sent, or not executed. */
  failed: string;
  /** It has succeeded before, with another payload. */
  changed: string;
  unknown: string;
}

export interface FormGuard {
  /** Whether submits are swallowed now. */
  readonly locked: boolean;
  /** Lets the form be submitted again. */
  release(): void;
  /** The page knows that it is done: the form stays locked, and is not busy. What was not sent yet is not sent. */
  done(): void;
  /** Cancels a submit that was not sent yet, and frees the form. False where there is none, or it was sent already. */
  cancel(): boolean;
  /** Takes the guard off. */
  detach(): void;
}

/** A named operation. */
export interface Intent {
  readonly name: string;
  /** The answer, after as many attempts as it takes. */
  fetch(url: string | URL, init?: IntentInit): Promise<Response>;
  /** Finds out what became of it, and sends nothing that changes it. */
  resolve(options?: ResolveOptions): Promise<IntentStatus>;
  /** Gives it up: `voided` when nothing was executed and nothing will be. */
  abandon(options?: { signal?: AbortSignal }): Promise<IntentStatus>;
  /** What is known without asking. */
  status(): IntentStatus;
  /** Removes what is stored: only where the page knows the outcome, or the buyer starts anew. */
  forget(): void;
}

export interface Client {
  intent(name: string, options?: IntentOptions): Intent;
  fetch(intent: string, url: string | URL, init?: IntentInit, options?: IntentOptions): Promise<Response>;
  /** The intents without a known outcome. */
  pending(): PendingIntent[];
  /**
   * Removes what is stored for settled intents that are older than the retention, and gives their number. Calls of the
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

/** A client with its core. */
export interface LoadedClient extends Client {
  /**
   * Whether the core is there. At once, but where wasm has to be fetched (`oncekey/slim`) or may not run (CSP):
   * await it there before `pending`, `status` and `forget`.
   */
  readonly ready: Promise<void>;
}

/** What an entry point of the package offers. Types of its own: those of the core are not shipped. */
export interface EntryPoint {
  createClient(options?: ClientOptions): LoadedClient;
  /** A new key, a UUIDv7: for requests that the package does not send. */
  mintKey(): Promise<string>;
}
