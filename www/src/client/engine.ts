// The calls of a client. Loaded when the client first needs it, together with the core.

import type { Core, EndCommand } from "../core.js";
import {
  AbortedError,
  KeyReusedError,
  KeyVoidedError,
  OutcomeUnknownError,
  PayloadChangedError,
  ResponseGoneError,
} from "../errors.js";
import type { Stay } from "../form/stay.js";
import type { IntentInit, IntentOptions, IntentStatus, PendingIntent, ResolveOptions } from "../types.js";
import { type CoreCall, CoreClient } from "./core-client.js";
import { type CallResult, type DriveOptions, drive } from "./drive.js";
import type { Emit } from "./events.js";
import { ASYNC } from "./entry-store.js";
import { hintFor } from "./hints.js";
import { checkInit } from "./init.js";
import { type KeyCalls, keyCalls } from "./key-calls.js";
import { prune, pruneSome } from "./prune.js";
import { type Prepared, beforeBody, prepare, submitOf } from "./request.js";
import type { Settings } from "./settings.js";
import { TooLong, type TurnOptions, takeTurn } from "./turn.js";
import { abortable } from "./wait.js";

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

/** What the calls need of their client. */
export interface Caller {
  readonly settings: Settings;
  readonly emit: Emit;
}

export class Engine {
  readonly #settings: Settings;
  readonly #emit: Emit;
  readonly #core: Core;
  readonly #client: CoreClient;
  readonly #keyCalls: KeyCalls | undefined;
  /** The last request of each intent whose outcome is open. It can be sent again. */
  readonly #inMemory = new Map<string, { key: string; prepared: Prepared }>();

  constructor(core: Core, { settings, emit }: Caller) {
    this.#settings = settings;
    this.#emit = emit;
    this.#core = core;
    this.#client = new CoreClient(core, settings.core);
    const { keyUrl, headers, credentials, fetch } = settings;
    this.#keyCalls = keyUrl && keyCalls({ url: keyUrl, headers, credentials, fetch });
    // If this fails, the first submit finds out what is wrong.
    globalThis.requestIdleCallback?.(() => void this.#warm().catch(() => {}));
  }

  /**
   * Does once what the first submit would wait for: a browser compiles code, and connects to storage and locks, when a page
   * first uses them. Sends and stores nothing.
   */
  async #warm(): Promise<void> {
    const prepared = await prepare("https://a.invalid", { body: "{}" }, undefined, undefined, this.#settings.keyHeader);
    this.#client.rehearse(submitOf(prepared, {}, undefined));
    await navigator.locks.query();
  }

  /** Reads all entries from a store outside of the page. */
  async load(): Promise<void> {
    await this.#client.load();
  }

  pending(): PendingIntent[] {
    const pending = this.#client.pending();
    this.#emitLoss();
    return pending;
  }

  async prune(): Promise<number> {
    await this.load();
    const removed = await prune(this.#client, this.#settings);
    this.#emitLoss();
    return removed;
  }

  status(intent: string): IntentStatus {
    return this.#client.status(intent);
  }

  forget(intent: string): void | Promise<void> {
    this.#inMemory.delete(intent);
    return this.#client.forget(intent);
  }

  /** Returns what an aborted call would leave behind. */
  afterAbort(intent: string): AbortedError["outcome"] {
    return this.#client.afterAbort(intent);
  }

  /**
   * Returns the key of a form that the browser posts, and stores it as sent. Without a key the form must not be
   * sent yet; `error` says why, if that is known.
   */
  navigate(intent: string, prepared: Prepared, ignore: string[] | undefined, emit: Emit): Navigated {
    const client = this.#client;
    if (client.store.load) return { error: new TypeError(ASYNC) };
    const submit = submitOf(prepared, { ignore, expects: "*/*" }, this.#settings.keyUrl);
    const call = client.submit(intent, submit, undefined);
    let isSent = false;
    try {
      const command = call.begin();
      const emitAll = this.#withLoss(emit);
      this.#emitLoss(emit);
      if (command.do === "send") {
        pruneSome(this.#client, this.#settings);
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

  /** Sends a request and returns its response, with what it means for the intent. */
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
      prepared = await abortable(prepare(url, init, options.expects, keyField, this.#settings.keyHeader), signal);
      // A large body is hashed while the call waits for its turn. From the digest on, nothing may wait.
      const hashing = this.#client.hash(beforeBody(prepared, options.ignore), prepared.body);
      result = await takeTurn(this.#turn(intent, signal, emitAll), async (turn) => {
        const digest = hashing && (await hashing);
        // An abort before the first byte leaves nothing unknown.
        signal?.throwIfAborted();
        const earlier = this.#inMemory.get(intent);
        const { waitedSince } = turn;
        const submit = submitOf(prepared, options, this.#settings.keyUrl, { digest, waitedSince });
        const call = this.#client.submit(intent, submit, earlier?.key);
        try {
          return await drive({
            ...this.#driven(call, intent, signal, emitAll),
            request: (key, again) => {
              if (again) return earlier!.prepared;
              const { bodyWith } = prepared;
              const sent = bodyWith ? { ...prepared, body: bodyWith(key) } : prepared;
              if (this.#inMemory.get(intent)?.key !== key) turn.keyed();
              this.#inMemory.set(intent, { key, prepared: sent });
              return sent;
            },
            validate: options.validate,
            own: prepared.headers,
            keepTurn: turn.keep,
          });
        } finally {
          call.free();
        }
      });
    } catch (error) {
      // The call ended before its turn, so nothing of it was sent.
      throw await this.#notBegun(intent, signal, emitAll, error);
    }
    pruneSome(this.#client, this.#settings);
    return this.#result(intent, prepared, result, emitAll);
  }

  /** Resolves an intent, or abandons it if nothing was executed. */
  async end(intent: string, { signal, lookup }: ResolveOptions, what: "resolve" | "abandon", emit: Emit): Promise<EndCommand> {
    const client = this.#client;
    await client.load(intent);
    if (signal?.aborted) throw this.#aborted(intent, signal.reason);
    const emitAll = this.#withLoss(emit);
    const before = this.status(intent);
    if (lookup) await this.#othersEnded(intent, signal, emitAll);
    const call = what === "abandon" ? client.abandon(intent) : client.resolve(intent, lookup !== undefined);
    try {
      const { end, aborted, cause, differs } = await drive({ ...this.#driven(call, intent, signal, emitAll), lookup });
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
  async #othersEnded(intent: string, signal: AbortSignal | undefined, emit: Emit): Promise<void> {
    try {
      await takeTurn(this.#turn(intent, signal, emit), async () => {});
    } catch (error) {
      throw await this.#notBegun(intent, signal, emit, error);
    }
  }

  /** Returns what every call is driven with. */
  #driven(call: CoreCall, intent: string, signal: AbortSignal | undefined, emit: Emit): DriveOptions {
    const { fetch, totalTime } = this.#settings;
    const sent = (key: string) => {
      const last = this.#inMemory.get(intent);
      return last?.key === key ? last.prepared.headers : undefined;
    };
    const isJson = (contentType: string) => this.#core.isJson(contentType);
    return { call, intent, signal, fetch, sent, keyCalls: this.#keyCalls, totalTime, emit, isJson };
  }

  #turn(intent: string, signal: AbortSignal | undefined, emit: Emit): TurnOptions {
    const { namespace, totalTime: longest } = this.#settings;
    return { client: this.#client, namespace, intent, signal, longest, onWait: () => emit("inprogress", { intent, elsewhere: true }) };
  }

  /** Returns the error of a call that ended while it waited for its turn. */
  async #notBegun(intent: string, signal: AbortSignal | undefined, emit: Emit, error: unknown): Promise<unknown> {
    const isLate = error instanceof TooLong;
    if (!isLate && !signal?.aborted) return error;
    await this.#client.load(intent);
    return isLate ? this.#tooLong(intent, emit) : this.#aborted(intent, signal!.reason);
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
    return this.#core.isSuccess(status);
  }

  #settle(intent: string, status: IntentStatus, emit: Emit): void {
    this.#inMemory.delete(intent);
    const { key, state, httpStatus } = status;
    emit("settled", { intent, state, ...(key && { key }), ...(httpStatus && { httpStatus }) });
  }

  #aborted(intent: string, cause: unknown): AbortedError {
    const { key, attempts = 0 } = this.status(intent);
    return new AbortedError({ intent, key, attempts, outcome: this.afterAbort(intent), cause });
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

  #emitLoss(emit: Emit = this.#emit): void {
    const reason = this.#client.store.takeLoss();
    if (reason) emit("storage-degraded", { reason });
  }
}
