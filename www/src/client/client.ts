// The client of a page: its intents, and what became of them.

import type { Command, Core, CoreClient, EndCommand, Loader } from "../core.js";
import { type Ended, drive } from "./drive.js";
import {
  AbortedError,
  AnswerGoneError,
  KeyReusedError,
  KeyVoidedError,
  OutcomeUnknownError,
  PayloadChangedError,
} from "../errors.js";
import { type KeyCalls, keyCalls } from "./key-calls.js";
import { ABANDON, INTENT, RESOLVE, checkInit, checkOptions } from "./options.js";
import { type Prepared, cookiesOf, expected, prepare } from "./request.js";
import { type Settings, read } from "./settings.js";
import type { Stay } from "../form/stay.js";
import { TooLong, type TurnOptions, takeTurn } from "./turn.js";
import type {
  Client,
  ClientEvents,
  ClientOptions,
  Intent,
  IntentInit,
  IntentOptions,
  IntentStatus,
  PendingIntent,
  ResolveOptions,
} from "../types.js";
import { abortable } from "./wait.js";

/** The platform's own, with the types of this client's events. */
const Events = EventTarget as unknown as {
  new (): Pick<Client, "addEventListener" | "removeEventListener" | "dispatchEvent">;
};

export type Tell = <K extends keyof ClientEvents>(type: K, detail: ClientEvents[K]) => void;

/** What a form that the browser posts may do. */
export interface Navigated {
  /** The key to send. */
  key?: string;
  /** To be called when the page stays after the form was posted. */
  stays?(how: Stay): void;
  error?: unknown;
}

export class OncekeyClient extends Events implements Client {
  readonly #settings: Settings;
  readonly #loader: Loader;
  readonly #keyCalls: KeyCalls | undefined;
  #core: { core: Core; client: CoreClient } | undefined;
  /** The last request of each intent whose outcome is open: it can be sent once more. */
  readonly #inMemory = new Map<string, { key: string; prepared: Prepared }>();

  constructor(options: ClientOptions, loader: Loader) {
    super();
    this.#settings = read(options);
    this.#loader = loader;
    const { keyUrl, headers, credentials, fetch } = this.#settings;
    this.#keyCalls = keyUrl && keyCalls({ url: keyUrl, headers, credentials, fetch });
    // Settings that are wrong are an error here, not at the first payment.
    this.#now();
  }

  /**
   * Whether the core is there. Only where wasm has to be fetched, or is forbidden (CSP), does this take longer
   * than `createClient`; `pending`, `status` and `forget` need it.
   */
  get ready(): Promise<void> {
    return this.#later().then(() => {});
  }

  intent(name: string, options: IntentOptions = {}): Intent {
    checkOptions("intent", options, INTENT);
    return new NamedIntent(this, named(name), options);
  }

  fetch(intent: string, url: string | URL, init?: IntentInit, options?: IntentOptions): Promise<Response> {
    return this.intent(intent, options).fetch(url, init);
  }

  pending(): PendingIntent[] {
    const pending = this.core().pending() as PendingIntent[];
    this.#tellLoss();
    return pending;
  }

  async prune(): Promise<number> {
    const client = await this.#later();
    const over = client.over(true);
    let removed = 0;
    while (over.length > 0) {
      const some = over.splice(0, 50).map((intent) => this.#remove(client, intent));
      removed += (await Promise.all(some)).filter(Boolean).length;
    }
    this.#tellLoss();
    return removed;
  }

  /** After a write: a few of the settled intents that are older than the retention go. */
  #pruneSome(): void {
    const client = this.#core?.client;
    for (const intent of client?.over(false) ?? []) void this.#remove(client!, intent);
  }

  /**
   * Removes an intent that is settled and old, unless a call is under way for it, here or in another tab: that one
   * may be about to write a new key there.
   */
  async #remove(client: CoreClient, intent: string): Promise<boolean> {
    const controller = new AbortController();
    const { signal } = controller;
    const onWait = () => controller.abort();
    const { namespace, totalTime: longest } = this.#settings;
    try {
      return await takeTurn({ client, namespace, intent, signal, longest, onWait }, async () => client.removeOver(intent));
    } catch {
      return false;
    }
  }

  /** @internal */
  core(): CoreClient {
    const client = this.#now();
    if (!client) throw new Error("The core is not loaded yet: await client.ready first.");
    return client;
  }

  /** @internal The guard of a form, once the core is there. */
  async loaded(): Promise<Core> {
    await this.#later();
    return this.#core!.core;
  }

  /** @internal The core, if it is there. */
  loadedNow(): Core | undefined {
    this.#now();
    return this.#core?.core;
  }

  /** @internal */
  tell: Tell = (type, detail) => {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  };

  /** @internal */
  status(intent: string): IntentStatus {
    return this.core().status(intent) as IntentStatus;
  }

  /** @internal */
  forget(intent: string): void {
    this.core().forget(intent);
    this.#inMemory.delete(intent);
  }

  /**
   * @internal The key of a form that the browser itself sends, stored as sent. Else the form may not be sent, or not
   * yet: then an error says why where that is known.
   */
  navigate(intent: string, prepared: Prepared, ignore: string[] | undefined, tell: Tell): Navigated {
    const client = this.core();
    // A form carries cookies as its target has them, and no header of the page's.
    const form = { ...prepared, headers: new Headers(), init: { credentials: "include" as const } };
    const submit = { ...submitOf(prepared, { ignore, expects: "*/*" }, undefined), ...this.#credentialOf(form) };
    const call = client.submit(intent, submit as never, undefined);
    let isSent = false;
    try {
      const command = call.begin() as Command;
      const told = this.#telling(tell);
      this.#tellLoss(tell);
      if (command.do === "send") {
        this.#pruneSome();
        isSent = true;
        const stays = (how: Stay) => {
          const { status } = (how === "not_sent" ? call.notSent() : call.failed("aborted")) as EndCommand;
          if (isOpen(status)) tell("unknown", { intent, key: status.key, reason: how });
          call.free();
        };
        return { key: command.key, stays };
      }
      if (command.do !== "end" || command.end === "not_resolved") return {};
      this.#result(intent, prepared, { end: command, response: undefined, cause: undefined, aborted: false, sent: undefined, differs: undefined }, told);
      return {};
    } catch (error) {
      return { error };
    } finally {
      // What was posted is kept for the page that stays.
      if (!isSent) call.free();
    }
  }

  /** @internal */
  async send(
    intent: string,
    url: string | URL,
    init: IntentInit | undefined,
    options: IntentOptions,
    tell: Tell,
    keyField?: string,
  ): Promise<Response> {
    checkInit(init, this.#settings.isOwnFetch);
    const signal = init?.signal ?? undefined;
    const told = this.#telling(tell);
    let prepared: Prepared;
    let ended: Ended;
    try {
      const ready = await abortable(Promise.all([prepare(url, init, options.expects, keyField), this.#later()]), signal);
      const client = ready[1];
      prepared = ready[0];
      ended = await takeTurn(this.#turn(client, intent, signal, told), async (turn) => {
        // What is not sent is not in doubt.
        signal?.throwIfAborted();
        const earlier = this.#inMemory.get(intent);
        const submit = { ...submitOf(prepared, options, turn.waitedSince), ...this.#credentialOf(prepared) };
        const call = client.submit(intent, submit as never, earlier?.key);
        try {
          return await drive({
            call,
            intent,
            signal,
            request: (key, again) => {
              if (again) return earlier!.prepared;
              const { bodyWith } = prepared;
              const sent = bodyWith ? { ...prepared, body: bodyWith(key) } : prepared;
              if (this.#inMemory.get(intent)?.key !== key) turn.keyed();
              this.#inMemory.set(intent, { key, prepared: sent });
              return sent;
            },
            sent: (key) => this.#sent(intent, key),
            fetch: this.#settings.fetch,
            validate: options.validate,
            keyCalls: this.#keyCalls,
            own: prepared.headers,
            keepTurn: turn.keep,
            totalTime: this.#settings.totalTime,
            tell: told,
          });
        } finally {
          call.free();
        }
      });
    } catch (error) {
      // Only before and in a wait for its turn does it end like this: nothing of this call was sent.
      throw this.#notBegun(intent, signal, told, error);
    }
    this.#pruneSome();
    return this.#result(intent, prepared, ended, told);
  }

  /** @internal */
  async findOut(intent: string, { signal, lookup }: ResolveOptions, giveUp: boolean, tell: Tell): Promise<IntentStatus> {
    const client = await this.#later();
    if (signal?.aborted) throw this.#aborted(intent, signal.reason);
    const told = this.#telling(tell);
    const before = this.status(intent);
    if (lookup) await this.#othersEnded(client, intent, signal, told);
    const call = giveUp ? client.giveUp(intent) : client.findOut(intent, lookup !== undefined);
    try {
      const { end, aborted, cause, differs } = await drive({
        call,
        intent,
        signal,
        fetch: this.#settings.fetch,
        sent: (key) => this.#sent(intent, key),
        keyCalls: this.#keyCalls,
        lookup,
        totalTime: this.#settings.totalTime,
        tell: told,
      });
      if (aborted) throw this.#aborted(intent, cause);
      const { status } = end;
      if (differs && isOpen(status)) {
        const { key, attempts = 0 } = status;
        throw new OutcomeUnknownError({ intent, key, attempts, reason: "credential", hint: differs });
      }
      if (isSettled(status) && status.state !== before.state) this.#settle(intent, status, told);
      return status;
    } finally {
      call.free();
    }
  }

  /** What a caller looks up may be out of date while a request is under way, here or in another tab. */
  async #othersEnded(client: CoreClient, intent: string, signal: AbortSignal | undefined, told: Tell): Promise<void> {
    try {
      await takeTurn(this.#turn(client, intent, signal, told), async () => {});
    } catch (error) {
      throw this.#notBegun(intent, signal, told, error);
    }
  }

  /** For the core: what says who is calling. */
  #credentialOf(prepared: Prepared): object {
    return { headers: [...prepared.headers].flat(), cookies: cookiesOf(prepared, this.#settings.keyUrl) };
  }

  /** The headers of the request with this key, where it is still in memory. */
  #sent(intent: string, key: string): Headers | undefined {
    const last = this.#inMemory.get(intent);
    return last?.key === key ? last.prepared.headers : undefined;
  }

  #turn(client: CoreClient, intent: string, signal: AbortSignal | undefined, told: Tell): TurnOptions {
    const { namespace, totalTime: longest } = this.#settings;
    return { client, namespace, intent, signal, longest, onWait: () => told("inprogress", { intent, elsewhere: true }) };
  }

  /** Why a call ended before or in a wait for its turn. */
  #notBegun(intent: string, signal: AbortSignal | undefined, told: Tell, error: unknown): unknown {
    if (error instanceof TooLong) return this.#tooLong(intent, told);
    return signal?.aborted ? this.#aborted(intent, signal.reason) : error;
  }

  #result(intent: string, prepared: Prepared, { end, response, cause, aborted, sent, differs }: Ended, tell: Tell): Response {
    const { status } = end;
    const detail = { intent, key: status.key, attempts: status.attempts ?? 0 };
    if (aborted) {
      if (isOpen(status)) tell("unknown", { intent, key: status.key, reason: "aborted" });
      throw this.#aborted(intent, cause);
    }
    switch (end.end) {
      case "answered":
        if (end.settled) this.#settle(intent, status, tell);
        return response!;
      case "payload_changed":
        // Known by now, if it was not before.
        this.#settle(intent, status, tell);
        throw new PayloadChangedError({ ...detail, outcome: "succeeded", httpStatus: end.httpStatus });
      case "not_resolved":
        tell("unknown", { intent, key: status.key, reason: "not_resolved" });
        throw new PayloadChangedError({ ...detail, outcome: "unknown", hint: differs });
      case "answer_gone":
        this.#settle(intent, status, tell);
        throw new AnswerGoneError({ ...detail, httpStatus: end.httpStatus! });
      case "key_reused":
        this.#settle(intent, status, tell);
        throw new KeyReusedError({ ...detail, response });
      case "key_voided":
        this.#settle(intent, status, tell);
        throw new KeyVoidedError(detail);
      default: {
        const reason = end.why ?? "outcome";
        // Of what was sent, whatever is stored by now.
        if (sent) Object.assign(detail, { key: sent.key, attempts: sent.attempt });
        tell("unknown", { intent, key: detail.key, reason: end.doubt ?? reason });
        const hint = hintOf(end.doubt, prepared, response);
        throw new OutcomeUnknownError({ ...detail, reason, doubt: end.doubt, hint, response, cause });
      }
    }
  }

  #settle(intent: string, status: IntentStatus, tell: Tell): void {
    this.#inMemory.delete(intent);
    const { key, state, httpStatus } = status;
    tell("settled", { intent, state, ...(key && { key }), ...(httpStatus && { httpStatus }) });
  }

  #aborted(intent: string, cause: unknown): AbortedError {
    // Without the core, nobody knows what is stored.
    const { state, key, attempts = 0 }: IntentStatus = this.#core ? this.status(intent) : { state: "unknown" };
    const outcome = isOpen({ state }) ? "unknown" : state === "succeeded" ? "succeeded" : "not_sent";
    return new AbortedError({ intent, key, attempts, outcome, cause });
  }

  #tooLong(intent: string, tell: Tell): OutcomeUnknownError {
    const { key, attempts = 0 } = this.status(intent);
    const reason = "time_used_up";
    tell("unknown", { intent, key, reason });
    return new OutcomeUnknownError({ intent, key, attempts, reason });
  }

  /** Tells, and with it whether storage failed. */
  #telling(tell: Tell): Tell {
    return (type, detail) => {
      this.#tellLoss(tell);
      tell(type, detail);
    };
  }

  #tellLoss(tell: Tell = this.tell): void {
    const reason = this.#core?.client.takeLoss() as ClientEvents["storage-degraded"]["reason"] | undefined;
    if (reason) tell("storage-degraded", { reason });
  }

  #now(): CoreClient | undefined {
    const core = this.#core ? undefined : this.#loader.now();
    if (core) this.#start(core);
    return this.#core?.client;
  }

  async #later(): Promise<CoreClient> {
    if (!this.#now()) this.#start(await this.#loader.ready());
    return this.#core!.client;
  }

  #start(core: Core): void {
    if (this.#core) return;
    this.#core = { core, client: new core.Client(this.#settings.core as never) };
    const reason = this.#loader.fallback;
    if (reason) this.tell("wasm-fallback", { reason });
  }
}

class NamedIntent implements Intent {
  readonly name: string;
  readonly #client: OncekeyClient;
  readonly #options: IntentOptions;

  constructor(client: OncekeyClient, name: string, options: IntentOptions) {
    this.name = name;
    this.#client = client;
    this.#options = options;
  }

  fetch(url: string | URL, init?: IntentInit): Promise<Response> {
    return this.#client.send(this.name, url, init, this.#options, this.#client.tell);
  }

  async resolve(options: ResolveOptions = {}): Promise<IntentStatus> {
    checkOptions("resolve", options, RESOLVE);
    return this.#client.findOut(this.name, options, false, this.#client.tell);
  }

  async abandon(options: { signal?: AbortSignal } = {}): Promise<IntentStatus> {
    checkOptions("abandon", options, ABANDON);
    return this.#client.findOut(this.name, options, true, this.#client.tell);
  }

  status(): IntentStatus {
    return this.#client.status(this.name);
  }

  forget(): void {
    this.#client.forget(this.name);
  }
}

/** An intent's name, if it is one. */
export function named(name: unknown): string {
  if (typeof name !== "string" || name === "") throw new TypeError("An intent needs a name, such as order:1042.");
  return name;
}

function submitOf(prepared: Prepared, options: IntentOptions, waitedSince: number | undefined): object {
  const { url, method, body, headers, ownKey, offeredKey } = prepared;
  return {
    method,
    origin: url.origin,
    path: url.pathname,
    query: url.search.slice(1) || undefined,
    contentType: headers.get("content-type") ?? undefined,
    body: body ?? new Uint8Array(),
    ignore: options.ignore,
    expects: options.expects ?? expected(prepared),
    ownKey,
    offeredKey,
    waitedSince,
  };
}

/** Whether something may have been executed, and nobody knows yet. */
export function isOpen({ state }: IntentStatus): boolean {
  return state === "sending" || state === "unknown";
}

function isSettled({ state }: IntentStatus): boolean {
  return state === "succeeded" || state === "refused" || state === "voided";
}

/** What is likely wrong. */
function hintOf(doubt: string | undefined, prepared: Prepared, response: Response | undefined): string | undefined {
  if (doubt === "network") return corsHint(prepared);
  if (doubt === "no_proof") return proofHint(response);
  if (doubt === "redirected") return "The answer is that of a page that a redirect led to (a log-in page?), and does not show that it is the request's own.";
  if (doubt !== "not_the_api") return undefined;
  const type = response?.headers.get("content-type") ?? "of no media type";
  return `The answer was ${type}: if that is the API's, name it in the intent's option "expects".`;
}

/** An answer may be somebody else's, or the server's own whose headers cannot be read. */
function proofHint(response: Response | undefined): string | undefined {
  if (!response) return undefined;
  return response.status < 400
    ? 'The answer had no "Idempotency-State", as those of this server have: a service worker or somebody on the way may have given it. If it is the server\'s, name the header in Access-Control-Expose-Headers.'
    : `The ${response.status} may be about its attempt alone, while an earlier one was executed. If this server answers so only for the key itself, name the status in the client's "finalStatuses".`;
}

/** A header that CORS does not allow looks exactly like a dead server. */
function corsHint({ url }: Prepared): string | undefined {
  const here = globalThis.location?.origin;
  if (!here || here === url.origin) return undefined;
  return `If ${url.origin} is up, its CORS answers may lack "Idempotency-Key" in Access-Control-Allow-Headers, or ${here} in Access-Control-Allow-Origin.`;
}
