// Carries out the commands of the core, one after the other, until a call ends. No rules here.

import { type AttemptResult, attempt } from "./attempt.js";
import type { Command, EndCommand } from "../core.js";
import type { CoreCall } from "./core-client.js";
import type { KeyCalls } from "./key-calls.js";
import type { Prepared } from "./request.js";
import type { ClientEvents, Lookup, ResolveOptions } from "../types.js";
import { abortable, online, sleep } from "./wait.js";

export interface DriveOptions {
  call: CoreCall;
  intent: string;
  signal: AbortSignal | undefined;
  /** Returns the request with this key. */
  request?(key: string, earlier: boolean): Prepared;
  fetch: typeof fetch;
  validate?: ((response: Response) => boolean | Promise<boolean>) | undefined;
  keyCalls: KeyCalls | undefined;
  /** The headers of the call's own request. */
  own?: Headers;
  /** Returns the headers of the request with this key, if it is still in memory. */
  sent?(key: string): Headers | undefined;
  lookup?: ResolveOptions["lookup"];
  /** Waits until it is this call's turn again. Called before each attempt except the first. */
  keepTurn?(): Promise<void>;
  /** The longest time that a call may take, in milliseconds. */
  totalTime: number;
  emit<K extends keyof ClientEvents>(type: K, detail: ClientEvents[K]): void;
  isJson(contentType: string): boolean;
}

export interface CallResult {
  end: EndCommand;
  /** The response of the last attempt. */
  response: Response | undefined;
  /** Why the last attempt had no response, or the caller's reason to abort. */
  cause: unknown;
  aborted: boolean;
  /** The last attempt. */
  sent: { key: string; attempt: number } | undefined;
  /** Why a key call was not made. */
  differs: string | undefined;
}

/**
 * How long to wait for the network while the browser says that it is offline, in milliseconds. The browser may be
 * wrong: with a VPN, or with one network interface of several.
 */
const OFFLINE = 5000;

export async function drive(drive: DriveOptions): Promise<CallResult> {
  const { call, intent, signal, emit } = drive;
  const begun = performance.now();
  let response: Response | undefined;
  let cause: unknown;
  let sent: { key: string; attempt: number } | undefined;
  let aborted = false;
  let differs: string | undefined;
  /** Whether the last attempt seems to have failed because there was no network. */
  let lost = false;
  /** Ends a call that its caller aborts between two commands. The stored entry shows what is known. */
  const stopped = ({ reason }: AbortSignal): CallResult => ({
    end: call.stop(),
    response,
    cause: reason,
    aborted: true,
    sent,
    differs,
  });
  let command: Command = call.begin();
  for (;;) {
    await call.save(command.do === "end");
    switch (command.do) {
      case "send": {
        const { key, attempt: number, timeout, earlier, rotated } = command;
        sent = { key, attempt: number };
        if (rotated) emit("keyrotated", { intent, key });
        emit("attempt", { intent, key, attempt: number });
        const result: AttemptResult = await attempt(drive.request!(key, earlier), { ...drive, key, timeout });
        lost = "failed" in result && result.failed === "network";
        if ("failed" in result) {
          [response, cause] = [undefined, result.cause];
          aborted = result.failed === "aborted";
          command = call.failed(result.failed);
        } else {
          [response, cause] = [result.response, undefined];
          if (response.headers.get("idempotent-replayed") === "true" && !earlier) {
            const requestId = response.headers.get("x-request-id");
            emit("replayed", { intent, key, httpStatus: response.status, requestId });
          }
          command = call.responded(result.summary);
        }
        break;
      }
      case "wait": {
        const { after, why } = command;
        if (why === "inprogress") emit("inprogress", { intent, key: sent?.key, after, elsewhere: false });
        else if (sent) emit("retry", { intent, ...sent, after });
        try {
          await sleep(after, signal);
          if (lost) await online(Math.min(OFFLINE, begun + drive.totalTime - performance.now()), signal);
          await drive.keepTurn?.();
        } catch (reason) {
          if (!signal?.aborted) throw reason;
          return stopped(signal);
        }
        command = call.waited();
        break;
      }
      case "ask":
      case "void": {
        const { key, do: what } = command;
        const credentialFrom = (headers: Headers) => call.keyCallCredential([...headers].flat());
        const report = await drive.keyCalls?.({ key, what, signal, credentialFrom, own: drive.own, sent: drive.sent?.(key) });
        lost = false;
        differs = report?.differs;
        if (signal?.aborted) return stopped(signal);
        command = call.reported(report?.status ?? 0, report?.state, report?.httpStatus);
        break;
      }
      case "lookup": {
        let found: Lookup | undefined;
        try {
          found = await abortable(Promise.resolve(drive.lookup?.()), signal);
        } catch (error) {
          if (!signal?.aborted) throw error;
          return stopped(signal);
        }
        // The core checks what a look-up may return.
        command = (found ? call.lookedUp(String(found.state), found.httpStatus) : call.reported(0));
        break;
      }
      case "end":
        return { end: command, response, cause, aborted, sent, differs };
    }
  }
}
