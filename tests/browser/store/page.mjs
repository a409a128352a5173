// Runs in the pages of the store's tests: clients as a page has them, and what they left in `localStorage`.
import wasm from "oncekey:wasm";
import { CoreClient } from "../../../www/src/client/core-client.ts";
import { submitOf } from "../../../www/src/client/request.ts";
import { startCore } from "../../../www/src/core.ts";
import { differs, equal, ok, run } from "../asserts.mjs";

const core = startCore(new WebAssembly.Module(wasm));
/** A key of no call. */
const KEY = "0195f2f1-7a3c-7000-8000-0123456789ab";
let pages = 0;

/** A part of the browser's storage that no other page has, and what may be asked there. */
class Page {
  namespace = `test-${pages++}`;

  /** `storage`: what clients are given; undefined means `localStorage`. */
  constructor(storage) {
    this.storage = storage;
  }
  /** Returns a page with a storage that a script creates. */
  static withStorage(script) {
    return new Page(run({}, script));
  }

  /** Returns the client of another page of the same browser: a tab, or a reload. */
  client(settings) {
    const { storage, namespace } = this;
    return new CoreClient(core, {
      storage,
      namespace,
      retention: 86_400_000,
      keyCalls: false,
      finalStatuses: [],
      limit: 4,
      delays: [1000, 2000],
      fullJitter: true,
      attemptTimeout: 30_000,
      totalTime: 180_000,
      maxRetryAfter: 60_000,
      ...settings,
    });
  }

  /** Returns what the browser has stored for an intent. */
  stored(intent) {
    return localStorage.getItem(`${this.namespace}:i:${intent}`) ?? undefined;
  }
  store(intent, text) {
    localStorage.setItem(`${this.namespace}:i:${intent}`, text);
  }
  /** Returns everything that the browser has stored under the names of this page, with the names. */
  all() {
    const names = Object.keys(localStorage).filter((name) => name.startsWith(this.namespace));
    return names.map((name) => `${name}=${localStorage.getItem(name)}\n`).join("");
  }
}

/** Begins a call. Returns it with its first command. */
function begin(client, intent, body) {
  const prepared = {
    method: "POST",
    url: new URL("https://shop.example/v1/orders"),
    headers: new Headers({ "content-type": "application/json" }),
    body: new TextEncoder().encode(body),
    init: { credentials: "omit" },
  };
  const call = client.submit(intent, submitOf(prepared, {}, undefined));
  return { call, ...call.begin() };
}

/** Begins a call, which must send. */
function send(client, intent, body) {
  const begun = begin(client, intent, body);
  equal(begun.do, "send");
  const { call, key, attempt } = begun;
  const headers = new Headers({ "content-type": "application/json" });
  return {
    call,
    key,
    attempt,
    /** Delivers the response. Returns the next command. */
    gets: (status) => call.responded({ status, headers, body: "whole", redirected: false }),
    /** Reports that no response arrived. */
    failed: () => call.failed("network"),
  };
}

/** Begins a call, which must end without sending. Returns the name of the end and its reason. */
function refused(client, intent, body) {
  const begun = begin(client, intent, body);
  equal(begun.do, "end");
  return [begun.end, begun.why];
}

/** Returns the state of an intent. */
function state(client, intent) {
  return client.status(intent).state;
}

Object.assign(window, { Page, KEY, send, refused, state, run, ok, equal, differs });
