// Carries out what the core says, step by step, until a call ends. No rules here.

import { type Heard, attempt } from "./attempt.js";
import type { Command, CoreCall, EndCommand, KeyCallAs } from "../core.js";
import type { KeyCalls } from "./key-calls.js";
import type { Prepared } from "./request.js";
import type { ClientEvents, Lookup, ResolveOptions } from "../types.js";
import { abortable, online, sleep } from "./wait.js";

export interface Drive {
  call: CoreCall;
  intent: string;
  signal: AbortSignal | undefined;
  /** The request with this key, or undefined where it is not in memory. */
  request?(key: string, earlier: boolean): Prepared;
  fetch: typeof fetch;
  validate?: ((response: Response) => boolean | Promise<boolean>) | undefined;
  keyCalls: KeyCalls | undefined;
  /** The headers of the call's own request, and those of the request with this key, where it is still in memory. */
  own?: Headers;
  sent?(key: string): Headers | undefined;
  lookup?: ResolveOptions["lookup"];
  /** Before each attempt but the first: whether it is still this call's turn. */
  keepTurn?(): Promise<void>;
  /** The longest that a call may take. */
  totalTime: number;
  tell<K extends keyof ClientEvents>(type: K, detail: ClientEvents[K]): void;
}

export interface Ended {
  end: EndCommand;
  /** The last answer of the last attempt. */
  response: Response | undefined;
  /** Why the last attempt had none, or the caller's reason to abort. */
  cause: unknown;
  aborted: boolean;
  /** The last attempt. */
  sent: { key: string; attempt: number } | undefined;
  /** Why a key call was not made. */
  differs: string | undefined;
}

/**
 * How long a browser that says that it has no network is believed, in milliseconds. It may be wrong: with a VPN, or
 * one interface of several.
 */
const OFFLINE = 5000;

export async function drive(drive: Drive): Promise<Ended> {
  const { call, intent, signal, tell } = drive;
  const begun = performance.now();
  let response: Response | undefined;
  let cause: unknown;
  let sent: { key: string; attempt: number } | undefined;
  let aborted = false;
  let differs: string | undefined;
  /** Whether the last attempt ended without a network, as far as anybody can tell. An answer proves that there is one. */
  let lost = false;
  /** The end of a call that is given up between two steps: what is stored says what is known. */
  const givenUp = ({ reason }: AbortSignal): Ended => ({
    end: call.stop() as EndCommand,
    response,
    cause: reason,
    aborted: true,
    sent,
    differs,
  });
  let command = call.begin() as Command;
  for (;;) {
    switch (command.do) {
      case "send": {
        const { key, attempt: number, timeout, earlier, rotated } = command;
        sent = { key, attempt: number };
        if (rotated) tell("keyrotated", { intent, key });
        tell("attempt", { intent, key, attempt: number });
        const { fetch, validate } = drive;
        const heard: Heard = await attempt(drive.request!(key, earlier), { fetch, key, timeout, signal, validate });
        lost = "failed" in heard && heard.failed === "network";
        if ("failed" in heard) {
          [response, cause] = [undefined, heard.cause];
          aborted = heard.failed === "aborted";
          command = call.failed(heard.failed) as Command;
        } else {
          [response, cause] = [heard.response, undefined];
          if (response.headers.get("idempotent-replayed") === "true" && !earlier) {
            const requestId = response.headers.get("x-request-id");
            tell("replayed", { intent, key, httpStatus: response.status, requestId });
          }
          command = call.answered(heard.answer) as Command;
        }
        break;
      }
      case "wait": {
        const { after, why } = command;
        if (why === "inprogress") tell("inprogress", { intent, key: sent?.key, after, elsewhere: false });
        else if (sent) tell("retry", { intent, ...sent, after });
        try {
          await sleep(after, signal);
          if (lost) await online(Math.min(OFFLINE, begun + drive.totalTime - performance.now()), signal);
          await drive.keepTurn?.();
        } catch (reason) {
          if (!signal?.aborted) throw reason;
          return givenUp(signal);
        }
        command = call.waited() as Command;
        break;
      }
      case "ask":
      case "void": {
        const { key, do: what } = command;
        const as = (headers: Headers) => call.keyCallAs([...headers].flat()) as KeyCallAs;
        const report = await drive.keyCalls?.({ key, what, signal, as, own: drive.own, sent: drive.sent?.(key) });
        lost = false;
        differs = report?.differs;
        if (signal?.aborted) return givenUp(signal);
        command = call.reported(report?.status ?? 0, report?.state, report?.httpStatus) as Command;
        break;
      }
      case "lookup": {
        let found: Lookup | undefined;
        try {
          found = await abortable(Promise.resolve(drive.lookup?.()), signal);
        } catch (error) {
          if (!signal?.aborted) throw error;
          return givenUp(signal);
        }
        // What it may say is the core's affair.
        command = (found ? call.lookedUp(String(found.state), found.httpStatus) : call.reported(0)) as Command;
        break;
      }
      case "end":
        return { end: command, response, cause, aborted, sent, differs };
    }
  }
}
