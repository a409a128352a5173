// The module that workerd runs: it makes wasm instances and passes requests to them.
//
// Rust is built with `panic = "abort"`, so a panic, like a stack overflow, is a WebAssembly trap. The trap returns to
// the JavaScript that called into wasm and drops no Rust values. Without the guards in this file, the call would never
// end, and the cells that it had borrowed would stay borrowed. Therefore:
//
// - Every call that polls tasks (platform/src/task.rs) is inside a guard. Rust knows which task it polls, so each trap
//   belongs to exactly one task, and only that task fails. Its request gets a 500.
// - A call of a shard is one call into wasm, inside a guard, so a trap in it fails only this call.
// - After a trap the instance is retired: calls in flight continue in it, and new calls get a fresh instance. So the
//   damage of the trap (a borrowed cell, lost memory) ends with the calls that were in flight.
// - A trap outside of every task belongs to no known call, so all calls in flight in that instance are rejected.
//
// The build copies this file next to the files that it imports: bridge.mjs, sql.mjs, oncekey.wasm, and glue.mjs. The
// latter is wasm-bindgen's output, wrapped in a function so that each instance has its own glue.

import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import { Bridge, HEAD } from "./bridge.mjs";
import makeGlue from "./glue.mjs";
import module from "./oncekey.wasm";
import { run } from "./sql.mjs";

const microtask = globalThis.queueMicrotask.bind(globalThis);

/** The instance that takes new calls. */
let current;
/** Instances with calls in flight. An error that names no instance is reported to all of them. */
const busy = new Set();

class Instance {
  /** The functions that reject the calls in flight. */
  #calls = new Set();
  /** Timers of operations, by number. */
  #timers = new Map();
  #exports;
  #stackTop;

  constructor() {
    listen();
    // The glue's names `host` and `queueMicrotask` are these arguments: see scripts/worker-build.
    this.glue = makeGlue(this, (callback) => this.#batch(callback));
    const instance = new WebAssembly.Instance(module, { "./oncekey_bg.js": this.glue });
    this.#exports = instance.exports;
    this.#stackTop = this.#exports.__stack_pointer.value;
    this.glue.__wbg_set_wasm(this.#exports);
    this.#exports.__wbindgen_start();
    this.glue.oncekeyInstallPanicHook();
  }

  /** Polls a task in a microtask. Called by Rust. */
  schedule(task) {
    microtask(() => this.#guard(() => this.glue.oncekeyPoll(task, Date.now())));
  }

  /** Starts the timer of an operation. Called by Rust. */
  sleep(operation, millis) {
    this.#timers.set(operation, setTimeout(() => this.#done(operation, 2), millis));
  }

  /** Cancels the timer of an operation. Called by Rust. */
  cancel(operation) {
    clearTimeout(this.#timers.get(operation));
    this.#timers.delete(operation);
  }

  /** Tells Rust the result of an operation. */
  #done(operation, status, text, bytes, object) {
    this.#timers.delete(operation);
    this.#guard(() => this.glue.oncekeyDone(operation, Date.now(), status, text, bytes, object));
  }

  /** Carries out an operation, and tells Rust its result. */
  #run = (operation, work) => {
    work().then(
      (result) => this.#done(operation, ...result),
      (error) => this.#done(operation, 1, String(error)),
    );
  };

  /** Lets wasm handle a request. Gives the response. `own`: what a Worker with oncekey inside brings. */
  respond(request, env, ctx, own) {
    return new Promise((respond, reject) => {
      const sandbox = (...values) => this.glue.oncekeySandbox(...values);
      const bridge = new Bridge({ run: this.#run, sandbox, request, env, ctx, own, respond });
      try {
        this.glue.oncekeyFetch(bridge, Date.now(), bridge.head(), own?.texts);
      } catch (error) {
        this.#retire(error);
        // If the trap belonged to a task, its response has been sent.
        reject(error);
        bridge.end();
      }
    });
  }

  /** Calls into wasm, and ends the task whose poll trapped. */
  #guard(work) {
    try {
      work();
    } catch (error) {
      this.#retire(error);
    }
  }

  /** Runs a statement in the database of an object. Called by Rust. */
  sql(database, statement, values) {
    return run(database, statement, values);
  }

  /** Runs wasm-bindgen's own queue: the futures of exported functions, which only await a task. */
  #batch(callback) {
    microtask(() => {
      try {
        callback();
      } catch (error) {
        this.condemn(error);
        // The future that trapped has left the queue. The futures behind it still have to run in this request.
        this.#batch(callback);
      }
    });
  }

  /** Calls into wasm. The returned promise settles even if the promise of wasm never does. */
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

  /** Makes a call into wasm that returns at once. A trap in it belongs to this call alone. */
  enter(call) {
    try {
      return call();
    } catch (error) {
      this.#retire(error);
      throw new Error("the call was lost to an internal error");
    }
  }

  /** Rejects all calls in flight after a trap that belongs to no task, so that no caller waits forever. */
  condemn(error, isAgain = false) {
    const calls = [...this.#calls];
    this.#calls.clear();
    busy.delete(this);
    for (const reject of calls) reject(new Error("the request was lost to an internal error"));
    this.#retire(error, isAgain);
  }

  /** Takes the instance out of service for new calls, and repairs it for the calls in flight. */
  #retire(error, isAgain = false) {
    if (current === this) current = undefined;
    // A trap does not reset Rust's own stack pointer. Microtasks and handlers begin with no wasm frame below
    // them, so the initial value is right.
    this.#exports.__stack_pointer.value = this.#stackTop;
    try {
      // The panic hook has already logged a panic. For other errors only the kind is logged, because a message may
      // contain data.
      if (!this.glue.oncekeyTrapped()) console.error(`oncekey: ${kind(error)} in wasm`);
    } catch (again) {
      console.error(`oncekey: ${kind(again)} after a trap`);
      if (!isAgain) this.condemn(again, true);
    }
  }
}

/** Returns the kind of an error. Runtime errors have fixed messages; other messages may contain a caller's data. */
function kind(error) {
  const fixed = error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
  return fixed ? `${error.name} (${error.message})` : (error?.name ?? typeof error);
}

let isListening = false;

/**
 * Errors outside of every guard come from a promise callback of the glue. They name no instance, so the calls of all
 * instances are rejected. The first instance listens, because importing this module must have no effect.
 */
function listen() {
  if (isListening) return;
  isListening = true;
  for (const event of ["error", "unhandledrejection"]) {
    addEventListener(event, (found) => {
      const error = found.error ?? found.reason;
      if (error instanceof WebAssembly.RuntimeError) for (const instance of [...busy]) instance.condemn(error);
    });
  }
}

function call(start) {
  current ??= new Instance();
  return current.call(start);
}

export default class Gateway extends WorkerEntrypoint {
  fetch(request) {
    return Gateway.respond(request, this.env, this.ctx);
  }

  /** Responds to a request. index.mjs calls it with the handler of a Worker and its options. */
  static async respond(request, env, ctx, own) {
    try {
      return await call((instance) => instance.respond(request, env, ctx, own));
    } catch {
      const request_id = `req_${crypto.randomUUID().replaceAll("-", "")}`;
      const error = { type: "api_error", code: "api_error", message: "internal error", request_id };
      const isRead = ["GET", "HEAD", "OPTIONS"].includes(request.method);
      const isKeyed = !isRead && request.headers.has("Idempotency-Key");
      // The origin may have been called, so only a read or a keyed write may be repeated.
      const again = String(isRead || isKeyed);
      const headers = { "X-Request-Id": request_id, "Stripe-Should-Retry": again, "X-Should-Retry": again };
      headers.Link = '</_oncekey/errors#api_error>; rel="help"';
      if (isKeyed) headers["Idempotency-State"] = "unknown";
      return Response.json({ ...error, error }, { status: 500, headers });
    }
  }
}

/** What a reply of a shard asks for besides its body: see worker/src/shard/mod.rs. */
const WITH_HEADERS = 1;
const IS_LARGE = 2;
const NO_HEADERS = new Headers();

/**
 * The Durable Object of a shard. Each call of it is one synchronous call into wasm: message and reply are one buffer
 * each, and time and alarm come with the call. Its data is in storage; what is in memory may be lost at any time.
 */
export class Shard extends DurableObject {
  #instance;
  #half;
  /** The time of the alarm, or 0 if there is none; undefined if it is not known. */
  #alarm;

  #call(start) {
    current ??= new Instance();
    const instance = current;
    return instance.enter(() => {
      if (this.#instance !== instance) {
        this.#half = new instance.glue.Shard(this.ctx.storage, this.env, Date.now());
        this.#instance = instance;
      }
      return start(this.#half);
    });
  }

  async #setAlarm(time) {
    this.#alarm = time;
    try {
      await this.ctx.storage.setAlarm(time);
    } catch (error) {
      this.#alarm = undefined;
      throw error;
    }
  }

  /**
   * Carries out a message. The gateway calls this method through JavaScript RPC. The reply is the bytes that wasm
   * returned. If it has headers or is large, it is a response, so that the gateway can refuse the body.
   */
  async serve(message, headers = NO_HEADERS) {
    this.#alarm ??= (await this.ctx.storage.getAlarm()) ?? 0;
    const [reply, added] = this.#call((half) => {
      const reply = half.serve(message, headers, Date.now(), this.#alarm);
      return [reply, reply[0] & WITH_HEADERS ? half.takeHeaders() : undefined];
    });
    const view = new DataView(reply.buffer, reply.byteOffset);
    const alarm = view.getFloat64(3, true);
    if (alarm > 0) await this.#setAlarm(alarm);
    if (!(reply[0] & (IS_LARGE | WITH_HEADERS))) return reply;
    const body = reply.subarray(HEAD);
    const response = new Response(body, { headers: added, status: view.getUint16(1, true) });
    response.headers.set("oncekey-length", body.length);
    return response;
  }

  /** The same for a message with headers whose values are no text: RPC would change them. */
  async fetch(request) {
    const reply = await this.serve(new Uint8Array(await request.arrayBuffer()), request.headers);
    if (reply instanceof Response) return reply;
    return new Response(reply.subarray(HEAD), { status: new DataView(reply.buffer).getUint16(1, true) });
  }

  async alarm() {
    this.#alarm = 0;
    const next = this.#call((half) => half.alarm(Date.now()));
    // The platform repeats an alarm that fails.
    if (Number.isNaN(next)) throw new Error("the alarm failed");
    if (next > 0) await this.#setAlarm(next);
  }
}

/** Returns a Durable Object class. Its Rust object is in the instance that takes new calls; its data is in storage. */
function durable(name) {
  return class extends DurableObject {
    #instance;
    #half;

    #call(method, ...values) {
      return call((instance) => {
        // In a build without the sandbox, the `Merchant` objects of an earlier build keep their data and do nothing.
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

// A build without the sandbox exports this class too, because the platform refuses an upload that lacks a class with
// existing objects.
export const Merchant = durable("Merchant");
