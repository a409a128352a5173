// The core as a client uses it: its entries in storage, and its calls.
//
// Each step reads the entry, lets the core decide, and writes the entry. Nothing runs in between.

import { type Command, type Core, type EndCommand, type KeyCallCredential, random } from "../core.js";
import type { Field } from "../packed.js";
import type { IntentStatus, PendingIntent, SharedStore, StorageLike } from "../types.js";
import type { ResponseSummary } from "./attempt.js";
import { LARGE_BODY } from "./large-body.js";
import { joined } from "./multipart.js";
import type { CoreSettings } from "./settings.js";
import { ENTRY, type Entries, EntryStore, LEASE, type LeaseCommand } from "./entry-store.js";

/** How many names of the storage are checked, and how many entries are removed at most, after a call of the page. */
const LOOKED_AT = 32;
const REMOVED_AT_ONCE = 8;

/** What may be done with an entry: see www/wasm/src/entries.rs. */
interface Facts {
  isPending: boolean;
  isSpent: boolean;
  isOver: boolean;
  afterAbort: "unknown" | "succeeded" | "not_sent";
}

export class CoreClient {
  readonly #core: Core;
  readonly #settings: CoreSettings;
  readonly store: Entries;
  /** The settings as the core reads them. */
  readonly #fields: Field[];
  /** Texts of entries whose outcome is known, by the names of their intents. */
  readonly #settled = new Map<string, string>();
  /** The token of this page. It is made when it is needed, because a Worker has no random numbers before its first request. */
  #tab: Uint8Array | undefined;

  constructor(core: Core, settings: CoreSettings) {
    this.#core = core;
    this.#settings = settings;
    const { storage, namespace } = settings;
    const isSpent = (text: string) => this.#facts(text).isSpent;
    const shared = (storage as SharedStore | null | undefined)?.openEntries?.(namespace) as Entries | undefined;
    this.store = shared ?? new EntryStore({ storage: storage as StorageLike | null | undefined, namespace, isSpent });
    const { retention, keyCalls, finalStatuses, limit, delays, fullJitter, attemptTimeout, totalTime, maxRetryAfter } = settings;
    this.#fields = [retention, keyCalls, finalStatuses, limit, delays.map(Math.trunc), fullJitter, attemptTimeout, totalTime, maxRetryAfter];
  }

  /** Reads the entry of an intent, or all entries, from a store outside of the page. */
  load(intent?: string): Promise<void> | undefined {
    return this.store.load?.(intent && ENTRY + intent);
  }

  /**
   * Lets the platform hash a large body, with the parts of its request before it. Resolves with the digest, for `submit`.
   * Without a digest, the core hashes the request in `submit`: a small one, and any in an insecure context, where the
   * platform has no hash function.
   */
  hash(parts: readonly Field[], body: Uint8Array | undefined): Promise<Uint8Array | undefined> | undefined {
    return body && body.length >= LARGE_BODY && globalThis.crypto?.subtle ? this.#hash(parts, body) : undefined;
  }

  async #hash(parts: readonly Field[], body: Uint8Array): Promise<Uint8Array | undefined> {
    try {
      const before = this.#core.preimage(...parts, undefined);
      const preimage = before.length > 0 ? joined([before, body]) : this.#core.preimage(...parts, body);
      return new Uint8Array(await crypto.subtle.digest("SHA-256", preimage));
    } catch {
      return undefined;
    }
  }

  /** Returns a call that sends a request. `inMemory` is the key whose request the page can send again. */
  submit(intent: string, request: readonly Field[], inMemory: string | undefined): CoreCall {
    return this.#call(intent, "submit", request, inMemory);
  }

  /** Does what a submit does before it sends, and forgets it. Reads the storage, and stores nothing. */
  rehearse(request: readonly Field[]): void {
    const nowhere = { read() {}, write() {} } as unknown as Entries;
    const call = this.#call("", "submit", request, undefined, nowhere);
    call.begin();
    call.free();
    this.afterAbort("");
  }

  /** Returns a call that resolves an intent. */
  resolve(intent: string, hasLookup: boolean): CoreCall {
    return this.#call(intent, "resolve", [hasLookup]);
  }

  /** Returns a call that abandons an intent if nothing was executed. */
  abandon(intent: string): CoreCall {
    return this.#call(intent, "abandon", []);
  }

  /** Returns what is known about an intent. */
  status(intent: string): IntentStatus {
    return this.#status(this.store.read(ENTRY + intent));
  }

  /** Returns the intents whose outcome is unknown, each with its name and what is known. */
  pending(): PendingIntent[] {
    const pending: PendingIntent[] = [];
    for (const intent of this.store.names(ENTRY)) {
      const text = this.store.read(ENTRY + intent);
      // Most entries of a busy till are settled. Their texts are checked once.
      if (text === undefined || this.#settled.get(intent) === text) continue;
      if (this.#facts(text).isPending) pending.push({ intent, ...this.#status(text) });
      else this.#settled.set(intent, text);
    }
    return pending;
  }

  /**
   * Returns settled intents that are older than the retention: all of them, or those among the next few names of the
   * storage. `removeOver` removes them, each in its own turn.
   */
  over(all: boolean): string[] {
    const names = all ? this.store.names(ENTRY) : this.store.some(ENTRY, LOOKED_AT);
    const over = names.filter((intent) => this.#factsOf(intent).isOver);
    return all ? over : over.slice(0, REMOVED_AT_ONCE);
  }

  /** Removes the entry of an intent if it is still settled and older than the retention. Returns whether it was. */
  async removeOver(intent: string): Promise<boolean> {
    const { isOver } = this.#factsOf(intent);
    if (isOver) await this.forget(intent);
    return isOver;
  }

  /** Returns what an aborted call leaves behind. */
  afterAbort(intent: string): Facts["afterAbort"] {
    return this.#factsOf(intent).afterAbort;
  }

  /** Removes the entry of an intent. */
  forget(intent: string): void | Promise<void> {
    this.#settled.delete(intent);
    return this.store.remove(ENTRY + intent);
  }

  /** Tries to become the only sender of an intent, without Web Locks. */
  acquireLease(intent: string): LeaseCommand {
    this.#tab ??= random();
    const { write, ...command } = this.#lease<LeaseCommand & { write?: string }>("acquire", intent);
    if (write !== undefined) this.store.write(LEASE + intent, write);
    return command;
  }

  /** Returns whether this page is the sender. */
  holdsLease(intent: string): boolean {
    return this.#tab !== undefined && this.#lease<{ is: boolean }>("holds", intent).is;
  }

  /** Renews the lease. Returns false if the lease is lost. */
  renewLease(intent: string): boolean {
    if (!this.#tab) return false;
    const { write } = this.#lease<{ write?: string }>("renew", intent);
    if (write !== undefined) this.store.write(LEASE + intent, write);
    return write !== undefined;
  }

  /** Lets other tabs send. */
  releaseLease(intent: string): void {
    if (this.#tab && this.#lease<{ is: boolean }>("owns", intent).is) void this.store.remove(LEASE + intent);
  }

  #call(intent: string, what: "submit" | "resolve" | "abandon", fields: readonly Field[], inMemory?: string, store = this.store): CoreCall {
    const { call } = this.#core.ask<{ call: number }>(what, ...this.#fields, ...fields);
    return new CoreCall(this.#core, store, ENTRY + intent, call, inMemory);
  }

  #status(text: string | undefined): IntentStatus {
    return this.#core.ask<IntentStatus>("status", text);
  }

  #factsOf(intent: string): Facts {
    return this.#facts(this.store.read(ENTRY + intent));
  }

  #facts(text: string | undefined): Facts {
    return this.#core.ask<Facts>("facts", text, this.#settings.retention, Date.now());
  }

  #lease<Reply extends object>(what: "acquire" | "holds" | "renew" | "owns", intent: string): Reply {
    return this.#core.ask<Reply>(what, this.store.read(LEASE + intent), this.#tab, Date.now());
  }
}

/** A call in progress. Each method returns the next command. */
export class CoreCall {
  readonly #core: Core;
  readonly #store: Entries;
  readonly #name: string;
  readonly #number: number;
  readonly #inMemory: string | undefined;

  constructor(core: Core, store: Entries, name: string, number: number, inMemory: string | undefined) {
    this.#core = core;
    this.#store = store;
    this.#name = name;
    this.#number = number;
    this.#inMemory = inMemory;
  }

  begin(): Command {
    return this.#step("begin");
  }

  /** Waits until a store outside of the page has the entry. If that fails before the end, the call fails. */
  save(isEnd: boolean): Promise<void> | undefined {
    return this.#store.save?.(this.#name, isEnd);
  }

  /** Continues after the request got this response. */
  responded({ status, headers, body, redirected, errorType, errorCode }: ResponseSummary): Command {
    const header = (name: string) => headers.get(name) ?? undefined;
    return this.#step(
      ...(["responded", status, body, redirected, errorType, errorCode, header("content-type"), header("content-length")] as const),
      ...["idempotency-state", "idempotent-replayed", "idempotency-stored", "idempotency-expires", "retry-after", "date"].map(header),
    );
  }

  /** Continues after the request got no response. */
  failed(how: "timeout" | "aborted" | "network"): Command {
    return this.#step("failed", how);
  }

  /** Ends a call whose request was not sent, as the browser proved. */
  notSent(): Command {
    return this.#step("notSent");
  }

  /** Continues after the wait. */
  waited(): Command {
    return this.#step("waited");
  }

  /** Continues after the caller's look-up. Throws a RangeError if the result of the look-up is wrong. */
  lookedUp(state: string, httpStatus: number | undefined): Command {
    return this.#step("lookedUp", state, httpStatus);
  }

  /** Continues after a key call. The status is 0 if there was no response, or if a look-up found nothing. */
  reported(status: number, state?: string, httpStatus?: number): Command {
    return this.#step("reported", status, state, httpStatus);
  }

  /** Returns the credential for the current key call, from the available headers: name, value, name, value … */
  keyCallCredential(headers: readonly string[]): KeyCallCredential {
    return this.#core.ask<KeyCallCredential>("credential", this.#number, this.#store.read(this.#name), headers);
  }

  /** Ends a call that its caller aborts between two commands. Returns what is known. */
  stop(): EndCommand {
    return this.#core.ask<EndCommand>("stop", this.#number, this.#store.read(this.#name));
  }

  /** Forgets the call. */
  free(): void {
    this.#core.ask("free", this.#number);
  }

  #step(...event: Field[]): Command {
    const stored = this.#store.read(this.#name);
    const { write, ...command } = this.#core.ask<Command & { write?: string }>(
      "step",
      this.#number,
      stored,
      Date.now(),
      performance.now(),
      random(),
      this.#inMemory,
      ...event,
    );
    if (write !== undefined) this.#store.write(this.#name, write);
    return command as Command;
  }
}
