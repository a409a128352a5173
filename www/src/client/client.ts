// The client of a page. Its calls (engine.ts) and the core are loaded when they are first needed, or when the page is idle.

import { AbortedError } from "../errors.js";
import type { Loaded, Loader } from "../loader.js";
import type {
  Client,
  ClientOptions,
  Intent,
  IntentInit,
  IntentOptions,
  IntentStatus,
  LoadedClient,
  PendingIntent,
  ResolveOptions,
} from "../types.js";
import type { FormSender, SentForm } from "../form/send.js";
import type { Engine } from "./engine.js";
import type { Emit } from "./events.js";
import { NamedIntent, named } from "./intent.js";
import { INTENT, checkOptions } from "./options.js";
import { type Settings, read } from "./settings.js";
import { abortable } from "./wait.js";

/** The platform's EventTarget, with the types of this client's events. */
const Events = EventTarget as unknown as {
  new (): Pick<Client, "addEventListener" | "removeEventListener" | "dispatchEvent">;
};

/** How long a browser without `requestIdleCallback` waits before it loads the core, in milliseconds. */
const IDLE_AFTER = 200;

export class OncekeyClient extends Events implements LoadedClient {
  /** @internal */
  readonly settings: Settings;
  readonly #loader: Loader;
  #engine: Engine | undefined;

  constructor(options: ClientOptions, loader: Loader) {
    super();
    this.settings = read(options);
    this.#loader = loader;
    if (typeof document === "undefined") return;
    const idle = globalThis.requestIdleCallback ?? ((run: () => void) => setTimeout(run, IDLE_AFTER));
    idle(() => this.preload());
  }

  get ready(): Promise<void> {
    return this.#loaded().then((engine) => engine.load());
  }

  intent(name: string, options: IntentOptions = {}): Intent {
    checkOptions("intent", options, INTENT);
    return new NamedIntent(this, named(name), options);
  }

  fetch(intent: string, url: string | URL, init?: IntentInit, options?: IntentOptions): Promise<Response> {
    return this.intent(intent, options).fetch(url, init);
  }

  pending(): PendingIntent[] {
    return this.#now().pending();
  }

  async prune(): Promise<number> {
    return (await this.#loaded()).prune();
  }

  /** @internal */
  async send(intent: string, url: string | URL, init: IntentInit | undefined, options: IntentOptions): Promise<Response> {
    const signal = init?.signal ?? undefined;
    const engine = this.engine();
    // The page may change the body while the core is being loaded.
    const request = engine ? init : copyOf(init);
    const { response } = await (engine ?? (await this.#before(intent, signal))).submit(intent, url, request, options, this.emit);
    return response;
  }

  /** @internal */
  async resolve(intent: string, options: ResolveOptions): Promise<IntentStatus> {
    return (await (await this.#before(intent, options.signal)).end(intent, options, "resolve", this.emit)).status;
  }

  /** @internal */
  async abandon(intent: string, options: ResolveOptions): Promise<IntentStatus> {
    return (await (await this.#before(intent, options.signal)).end(intent, options, "abandon", this.emit)).status;
  }

  /** @internal */
  status(intent: string): IntentStatus {
    return this.#now().status(intent);
  }

  /** @internal */
  forget(intent: string): void | Promise<void> {
    return this.#now().forget(intent);
  }

  /** @internal */
  emit: Emit = (type, detail) => {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  };

  /** @internal Returns the calls if they are loaded. */
  engine(): Engine | undefined {
    const loaded = this.#engine ? undefined : this.#loader.now();
    if (loaded) this.#start(loaded);
    return this.#engine;
  }

  /** @internal Returns what sends a form, if it is loaded. */
  sender(form: SentForm): FormSender | undefined {
    const engine = this.engine();
    return engine && new (this.#loader.now()!.FormSender)(form, engine);
  }

  /** @internal Loads the calls and the core. */
  async load(): Promise<void> {
    this.#start(await this.#loader.ready());
  }

  /** @internal Loads the core before it is needed. */
  preload(): void {
    if (this.engine()) return;
    this.load().catch((error: unknown) => this.emit("load-failed", { reason: String(error) }));
  }

  async #loaded(): Promise<Engine> {
    await this.load();
    return this.#engine!;
  }

  /** Returns the calls when they are loaded. Rejects if the signal aborts before. */
  async #before(intent: string, signal: AbortSignal | undefined): Promise<Engine> {
    try {
      return await abortable(this.#loaded(), signal);
    } catch (error) {
      // Without the core, it is unknown what is stored.
      throw signal?.aborted ? new AbortedError({ intent, attempts: 0, outcome: "unknown", cause: signal.reason }) : error;
    }
  }

  #now(): Engine {
    const engine = this.engine();
    if (!engine) throw new Error("The core is not loaded yet. Await client.ready first.");
    return engine;
  }

  #start({ Engine, core, fallback }: Loaded): void {
    if (this.#engine) return;
    this.#engine = new Engine(core, this);
    if (fallback) this.emit("wasm-fallback", { reason: fallback });
  }
}

/** Returns a request whose headers and body do not change with those of the page. */
function copyOf(init: IntentInit | undefined): IntentInit | undefined {
  if (typeof init !== "object" || init === null) return init;
  const { headers, body } = init;
  const copy = { ...init };
  if (headers instanceof Headers) copy.headers = new Headers(headers);
  if (body instanceof URLSearchParams) copy.body = new URLSearchParams(body);
  else if (body instanceof ArrayBuffer) copy.body = body.slice(0);
  else if (ArrayBuffer.isView(body)) copy.body = new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice();
  else if (body instanceof FormData) {
    const data = new FormData();
    for (const [name, value] of body) data.append(name, value);
    copy.body = data;
  }
  return copy;
}
