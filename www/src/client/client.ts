// The client of a page: its intents and their requests.

import type { Command, Core, CoreClient, EndCommand, Loader } from "../core.js";
import { type CallResult, drive } from "./drive.js";
import { hintFor } from "./hints.js";
import { NamedIntent, named } from "./intent.js";
import {
  AbortedError,
  KeyReusedError,
  KeyVoidedError,
  OutcomeUnknownError,
  PayloadChangedError,
  ResponseGoneError,
} from "../errors.js";
import { type KeyCalls, keyCalls } from "./key-calls.js";
import { INTENT, checkInit, checkOptions } from "./options.js";
import { prune, pruneSome } from "./prune.js";
import { type Prepared, cookiesOf, prepare, submitOf } from "./request.js";
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

/** The platform's EventTarget, with the types of this client's events. */
const Events = EventTarget as unknown as {
  new (): Pick<Client, "addEventListener" | "removeEventListener" | "dispatchEvent">;
};

export type Emit = <K extends keyof ClientEvents>(type: K, detail: ClientEvents[K]) => void;

/** The result for a form that the browser will post. */
export interface Navigated {
  /** The key to send. Without a key, the form must not be posted yet. */
  key?: string;
  /** Called if the page stays after the form was posted. */
  stays?(how: Stay): void;
  error?: unknown;
}

/** A response, and what it means for the intent. */
export interface Submitted {
  response: Response;
  outcome: "succeeded" | "refused";
}

export class OncekeyClient extends Events implements Client {
  readonly #settings: Settings;
  readonly #loader: Loader;
  readonly #keyCalls: KeyCalls | undefined;
  #core: { core: Core; client: CoreClient } | undefined;
  /** The last request of each intent whose outcome is open. It can be sent again. */
  readonly #inMemory = new Map<string, { key: string; prepared: Prepared }>();

  constructor(options: ClientOptions, loader: Loader) {
    super();
    this.#settings = read(options);
    this.#loader = loader;
    const { keyUrl, headers, credentials, fetch } = this.#settings;
    this.#keyCalls = keyUrl && keyCalls({ url: keyUrl, headers, credentials, fetch });
    // Wrong settings throw here, not at the first payment.
    this.#now();
  }

  /**
   * Resolves when the core is loaded. This takes longer than `createClient` only if wasm has to be fetched or is
   * forbidden (CSP). `pending`, `status` and `forget` need the core.
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
    this.#emitLoss();
    return pending;
  }

  async prune(): Promise<number> {
    const removed = await prune(await this.#later(), this.#settings);
    this.#emitLoss();
    return removed;
  }

  /** @internal */
  core(): CoreClient {
    const client = this.#now();
    if (!client) throw new Error("The core is not loaded yet. Await client.ready first.");
    return client;
  }

  /** @internal Resolves when the core is loaded. */
  async loaded(): Promise<void> {
    await this.#later();
  }

  /** @internal Returns whether the core is loaded. */
  loadedNow(): boolean {
    return this.#now() !== undefined;
  }

  /** @internal Loads the core before it is needed. */
  preload(): void {
    if (this.loadedNow()) return;
    this.#later().catch((error: unknown) => this.emit("load-failed", { reason: String(error) }));
  }

  /** @internal */
  emit: Emit = (type, detail) => {
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
   * @internal Returns the key of a form that the browser posts, and stores it as sent. Without a key the form must not be
   * sent yet; `error` says why, if that is known.
   */
  navigate(intent: string, prepared: Prepared, ignore: string[] | undefined, emit: Emit): Navigated {
    const client = this.core();
    // A form sends the cookies of its target, and no headers of the page.
    const form = { ...prepared, headers: new Headers(), init: { credentials: "include" as const } };
    const submit = { ...submitOf(prepared, { ignore, expects: "*/*" }, undefined), ...this.#credentialOf(form) };
    const call = client.submit(intent, submit as never, undefined);
    let isSent = false;
    try {
      const command = call.begin() as Command;
      const emitAll = this.#withLoss(emit);
      this.#emitLoss(emit);
      if (command.do === "send") {
        pruneSome(this.#core!.client, this.#settings);
        isSent = true;
        const stays = (how: Stay) => {
          const { status, open } = (how === "not_sent" ? call.notSent() : call.failed("aborted")) as EndCommand;
          if (open) emit("unknown", { intent, key: status.key, reason: how });
          call.free();
        };
        return { key: command.key, stays };
      }
      if (command.do !== "end" || command.end === "not_resolved") return {};
      const nothing = { response: undefined, cause: undefined, aborted: false, sent: undefined, differs: undefined };
      this.#result(intent, prepared, { end: command, ...nothing }, emitAll);
      return {};
    } catch (error) {
      return { error };
    } finally {
      // A posted form keeps its call, for a page that stays.
      if (!isSent) call.free();
    }
  }

  /** @internal */
  async send(intent: string, url: string | URL, init: IntentInit | undefined, options: IntentOptions): Promise<Response> {
    return (await this.submit(intent, url, init, options, this.emit)).response;
  }

  /** @internal Sends a request and returns its response, with what it means for the intent. */
  async submit(
    intent: string,
    url: string | URL,
    init: IntentInit | undefined,
    options: IntentOptions,
    emit: Emit,
    keyField?: string,
  ): Promise<Submitted> {
    checkInit(init, this.#settings.isOwnFetch);
    const signal = init?.signal ?? undefined;
    const emitAll = this.#withLoss(emit);
    let prepared: Prepared;
    let result: CallResult;
    try {
      const ready = await abortable(Promise.all([prepare(url, init, options.expects, keyField), this.#later()]), signal);
      const client = ready[1];
      prepared = ready[0];
      result = await takeTurn(this.#turn(client, intent, signal, emitAll), async (turn) => {
        // An abort before the first byte leaves nothing unknown.
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
            emit: emitAll,
            isJson: this.#core!.core.isJson,
          });
        } finally {
          call.free();
        }
      });
    } catch (error) {
      // The call ended before its turn, so nothing of it was sent.
      throw this.#notBegun(intent, signal, emitAll, error);
    }
    pruneSome(this.#core!.client, this.#settings);
    return this.#result(intent, prepared, result, emitAll);
  }

  /** @internal */
  async resolve(intent: string, options: ResolveOptions): Promise<IntentStatus> {
    return (await this.end(intent, options, "resolve", this.emit)).status;
  }

  /** @internal */
  async abandon(intent: string, options: ResolveOptions): Promise<IntentStatus> {
    return (await this.end(intent, options, "abandon", this.emit)).status;
  }

  /** @internal Resolves an intent, or abandons it if nothing was executed. */
  async end(intent: string, { signal, lookup }: ResolveOptions, what: "resolve" | "abandon", emit: Emit): Promise<EndCommand> {
    const client = await this.#later();
    if (signal?.aborted) throw this.#aborted(intent, signal.reason);
    const emitAll = this.#withLoss(emit);
    const before = this.status(intent);
    if (lookup) await this.#othersEnded(client, intent, signal, emitAll);
    const call = what === "abandon" ? client.abandon(intent) : client.resolve(intent, lookup !== undefined);
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
        emit: emitAll,
        isJson: this.#core!.core.isJson,
      });
      if (aborted) throw this.#aborted(intent, cause);
      const { status } = end;
      if (differs && end.open) {
        const { key, attempts = 0 } = status;
        throw new OutcomeUnknownError({ intent, key, attempts, reason: "credential", hint: differs });
      }
      if (end.settled && status.state !== before.state) this.#settle(intent, status, emitAll);
      return end;
    } finally {
      call.free();
    }
  }

  /** Waits for requests in progress, here and in other tabs, because a look-up during a request may return an old state. */
  async #othersEnded(client: CoreClient, intent: string, signal: AbortSignal | undefined, emit: Emit): Promise<void> {
    try {
      await takeTurn(this.#turn(client, intent, signal, emit), async () => {});
    } catch (error) {
      throw this.#notBegun(intent, signal, emit, error);
    }
  }

  /** Returns the credential of a request, for the core. */
  #credentialOf(prepared: Prepared): object {
    return { headers: [...prepared.headers].flat(), cookies: cookiesOf(prepared, this.#settings.keyUrl) };
  }

  /** Returns the headers of the request with this key, if it is still in memory. */
  #sent(intent: string, key: string): Headers | undefined {
    const last = this.#inMemory.get(intent);
    return last?.key === key ? last.prepared.headers : undefined;
  }

  #turn(client: CoreClient, intent: string, signal: AbortSignal | undefined, emit: Emit): TurnOptions {
    const { namespace, totalTime: longest } = this.#settings;
    return { client, namespace, intent, signal, longest, onWait: () => emit("inprogress", { intent, elsewhere: true }) };
  }

  /** Returns the error of a call that ended while it waited for its turn. */
  #notBegun(intent: string, signal: AbortSignal | undefined, emit: Emit, error: unknown): unknown {
    if (error instanceof TooLong) return this.#tooLong(intent, emit);
    return signal?.aborted ? this.#aborted(intent, signal.reason) : error;
  }

  #result(intent: string, prepared: Prepared, { end, response, cause, aborted, sent, differs }: CallResult, emit: Emit): Submitted {
    const { status } = end;
    const detail = { intent, key: status.key, attempts: status.attempts ?? 0 };
    if (aborted) {
      if (end.open) emit("unknown", { intent, key: status.key, reason: "aborted" });
      throw this.#aborted(intent, cause);
    }
    switch (end.end) {
      case "response":
        if (end.settled) this.#settle(intent, status, emit);
        return { response: response!, outcome: this.#isSuccess(response!.status) ? "succeeded" : "refused" };
      case "payload_changed":
        this.#settle(intent, status, emit);
        throw new PayloadChangedError({ ...detail, outcome: "succeeded", httpStatus: end.httpStatus });
      case "not_resolved":
        emit("unknown", { intent, key: status.key, reason: "not_resolved" });
        throw new PayloadChangedError({ ...detail, outcome: "unknown", hint: differs });
      case "response_gone":
        this.#settle(intent, status, emit);
        throw new ResponseGoneError({ ...detail, httpStatus: end.httpStatus! });
      case "key_reused":
        this.#settle(intent, status, emit);
        throw new KeyReusedError({ ...detail, response });
      case "key_voided":
        this.#settle(intent, status, emit);
        throw new KeyVoidedError(detail);
      default: {
        const reason = end.why ?? "outcome";
        // The error is about the attempt that was sent, whatever is stored now.
        if (sent) Object.assign(detail, { key: sent.key, attempts: sent.attempt });
        emit("unknown", { intent, key: detail.key, reason: end.unknownReason ?? reason });
        const { unknownReason } = end;
        const hint = hintFor(unknownReason, prepared, response, (status) => this.#isSuccess(status));
        throw new OutcomeUnknownError({ ...detail, reason, unknownReason, hint, response, cause });
      }
    }
  }

  #isSuccess(status: number): boolean {
    return this.#core!.core.isSuccess(status);
  }

  #settle(intent: string, status: IntentStatus, emit: Emit): void {
    this.#inMemory.delete(intent);
    const { key, state, httpStatus } = status;
    emit("settled", { intent, state, ...(key && { key }), ...(httpStatus && { httpStatus }) });
  }

  #aborted(intent: string, cause: unknown): AbortedError {
    // Without the core, it is unknown what is stored.
    const { key, attempts = 0 }: Partial<IntentStatus> = this.#core ? this.status(intent) : {};
    const outcome = (this.#core?.client.afterAbort(intent) ?? "unknown") as AbortedError["outcome"];
    return new AbortedError({ intent, key, attempts, outcome, cause });
  }

  #tooLong(intent: string, emit: Emit): OutcomeUnknownError {
    const { key, attempts = 0 } = this.status(intent);
    const reason = "time_used_up";
    emit("unknown", { intent, key, reason });
    return new OutcomeUnknownError({ intent, key, attempts, reason });
  }

  /** Returns an `emit` that also reports when storage fails. */
  #withLoss(emit: Emit): Emit {
    return (type, detail) => {
      this.#emitLoss(emit);
      emit(type, detail);
    };
  }

  #emitLoss(emit: Emit = this.emit): void {
    const reason = this.#core?.client.takeLoss() as ClientEvents["storage-degraded"]["reason"] | undefined;
    if (reason) emit("storage-degraded", { reason });
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
    if (reason) this.emit("wasm-fallback", { reason });
  }
}
