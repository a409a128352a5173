// The module that workerd runs: it makes wasm instances and hands requests to them.
//
// Rust is built with `panic = "abort"`: a panic, like a stack overflow, is a WebAssembly trap. It unwinds to
// whoever called into wasm and drops nothing on its way, so by itself it would leave the call it belongs to
// waiting for ever, and whatever that call had borrowed, borrowed for ever. Therefore:
//
// - Every poll of a task (platform/src/panic.rs) is a microtask of its own, and is guarded here. A trap is thus known
//   to belong to exactly one task, and only that task fails; the caller that awaits it answers 500.
// - After a trap the instance is retired: calls in flight in it go on to their end, new ones get a fresh
//   instance. So nothing the trap left behind (a borrowed cell, lost memory) outlives the calls of that moment.
// - A trap outside every task can't be told apart: all calls in flight in that instance are rejected at once.
//
// The build copies this file beside what it imports: oncekey.wasm, and glue.mjs, which is wasm-bindgen's output
// wrapped in a function so that each instance has a glue of its own.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import makeGlue from "./glue.mjs";
import module from "./oncekey.wasm";

const microtask = globalThis.queueMicrotask.bind(globalThis);

/** The instance that takes new calls. */
let current;
/** Instances with calls in flight, to find them when an error names none. */
const busy = new Set();

class Instance {
  /** What rejects each call in flight. */
  #calls = new Set();
  #exports;
  #stackTop;

  constructor() {
    // The glue's names `host` and `queueMicrotask` are these arguments: see scripts/worker-build.
    this.glue = makeGlue(this, (callback) => this.#batch(callback));
    const instance = new WebAssembly.Instance(module, { "./oncekey_bg.js": this.glue });
    this.#exports = instance.exports;
    this.#stackTop = this.#exports.__stack_pointer.value;
    this.glue.__wbg_set_wasm(this.#exports);
    this.#exports.__wbindgen_start();
    this.glue.oncekeyInstallPanicHook();
  }

  /** Called by Rust: poll this task soon. */
  schedule(task) {
    microtask(() => {
      try {
        this.glue.oncekeyPoll(task);
      } catch (error) {
        this.#retire(error, () => this.glue.oncekeyTrapped(task));
      }
    });
  }

  /** wasm-bindgen's own queue: the futures of exported functions, which only await a task. */
  #batch(callback) {
    microtask(() => {
      try {
        callback();
      } catch (error) {
        this.condemn(error);
        // The future that trapped has left the queue; those behind it still want their turn, in this request.
        this.#batch(callback);
      }
    });
  }

  /** Calls into wasm; the promise is settled even if wasm never settles the one it gave. */
  call(start) {
    return new Promise((resolve, reject) => {
      this.#calls.add(reject);
      busy.add(this);
      const leave = (settle) => (value) => {
        this.#calls.delete(reject);
        if (this.#calls.size === 0) busy.delete(this);
        settle(value);
      };
      try {
        start(this).then(leave(resolve), leave(reject));
      } catch (error) {
        leave(reject)(error);
        this.#retire(error);
      }
    });
  }

  /** A trap that belongs to no task: nobody who waits for this instance may hang. */
  condemn(error) {
    const calls = [...this.#calls];
    this.#calls.clear();
    busy.delete(this);
    for (const reject of calls) reject(new Error("the request was lost to an internal error"));
    this.#retire(error);
  }

  /** Takes the instance out of service for new calls and makes it fit for those it still has. */
  #retire(error, tell) {
    if (current === this) current = undefined;
    // A trap leaves the stack pointer of Rust's own stack wherever it was. Microtasks and handlers begin with
    // no wasm frame below them, so its first value is right again.
    this.#exports.__stack_pointer.value = this.#stackTop;
    try {
      const panicked = this.glue.oncekeyTookPanic();
      // The panic hook has logged its panic. Of other errors only the kind is shown: a message may quote data.
      if (!panicked) console.error(`oncekey: ${kind(error)} in wasm`);
      tell?.();
    } catch (again) {
      console.error(`oncekey: ${kind(again)} after a trap`);
      if (tell) this.condemn(again);
    }
  }
}

/** Runtime errors have fixed messages; those of anything else may hold a caller's data. */
function kind(error) {
  const fixed = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  return fixed ? `${error.name} (${error.message})` : (error?.name ?? typeof error);
}

// What no guard saw: a promise callback of the glue. It names no instance, so all of them are condemned.
for (const event of ["error", "unhandledrejection"]) {
  addEventListener(event, (found) => {
    const error = found.error ?? found.reason;
    if (error instanceof WebAssembly.RuntimeError) for (const instance of [...busy]) instance.condemn(error);
  });
}

function call(start) {
  current ??= new Instance();
  return current.call(start);
}

export default class extends WorkerEntrypoint {
  async fetch(request) {
    try {
      return await call((instance) => instance.glue.fetch(request, this.env, this.ctx));
    } catch {
      const request_id = `req_${crypto.randomUUID().replaceAll("-", "")}`;
      const error = { type: "api_error", code: "api_error", message: "internal error", request_id };
      const isRead = ["GET", "HEAD", "OPTIONS"].includes(request.method);
      const isKeyed = !isRead && request.headers.has("Idempotency-Key");
      // The origin may have been called: only what is safe to repeat is to be repeated.
      const again = String(isRead || isKeyed);
      const headers = { "X-Request-Id": request_id, "Stripe-Should-Retry": again, "X-Should-Retry": again };
      if (isKeyed) headers["Idempotency-State"] = "unknown";
      return Response.json({ ...error, error }, { status: 500, headers });
    }
  }
}

/** A Durable Object whose Rust half lives in the instance that takes new calls. Its data is in storage. */
function durable(name) {
  return class extends DurableObject {
    #instance;
    #half;

    #call(method, ...values) {
      return call((instance) => {
        // Without the sandbox, what an earlier build left of `Merchant` keeps its data and does nothing.
        if (!(name in instance.glue)) return Promise.resolve();
        if (this.#instance !== instance) {
          this.#half = new instance.glue[name](this.ctx, this.env);
          this.#instance = instance;
        }
        return this.#half[method](...values);
      });
    }

    fetch(request) {
      return this.#call("fetch", request);
    }

    async alarm() {
      await this.#call("alarm");
    }
  };
}

export const Shard = durable("Shard");
// Also exported by a build without the sandbox: the platform refuses an upload in which a class is missing that has
// objects.
export const Merchant = durable("Merchant");
