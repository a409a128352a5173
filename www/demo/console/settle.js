// The two decisions about an unknown outcome, each in a dialog that explains its effect and asks for confirmation.

import { NoResponse } from "./api.js";
import { byId, say } from "./dom.js";
import { nameOf } from "./words.js";

/** The key has changed since the operator looked at it. */
class Changed extends Error {}

/**
 * `current`: returns the key that is shown; `settle(key, settlement)`: sends a decision about it; `done(key, words,
 * isGood)`: called with the result; `failed(error)`: called first with a failure, returns true if it handled it.
 */
export function letSettle({ current, settle, done, failed }) {
  prepare("not-executed", () => ({ outcome: "not_executed" }));
  prepare("executed", executionOf);

  function prepare(name, settlementOf) {
    const dialog = byId(`dialog-${name}`);
    const form = dialog.querySelector("form");
    const problem = dialog.querySelector(".problem");
    const confirm = form.querySelector("[type=submit]");
    let key;
    let isSending = false;
    byId(`act-${name}`).addEventListener("click", () => {
      key = current();
      if (!key) return;
      form.reset();
      say(problem, "");
      say(dialog.querySelector(".of"), nameOf(key));
      dialog.showModal();
    });
    // A decision that was sent cannot be cancelled, so the dialog stays open.
    dialog.querySelector(".cancel").addEventListener("click", () => isSending || dialog.close());
    dialog.addEventListener("cancel", (event) => isSending && event.preventDefault());
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isSending) return;
      isSending = true;
      say(problem, "");
      confirm.setAttribute("aria-disabled", "true");
      try {
        const settlement = settlementOf(form);
        await settle(key, settlement);
        dialog.close();
        done(key, RESULTS[name](settlement), true);
      } catch (error) {
        report(error);
      } finally {
        isSending = false;
        confirm.removeAttribute("aria-disabled");
      }
    });

    function report(error) {
      if (failed(error)) return dialog.close();
      const words = endOf(error);
      if (!words) return say(problem, error.message);
      dialog.close();
      done(key, words, false);
    }
  }
}

/**
 * Settles a key unless it has changed since it was seen: a decision about one attempt must not apply to the next, which
 * may have begun and become unknown meanwhile.
 */
export async function settleAsSeen(api, seen, settlement) {
  const now = (await api.key(seen.key))?.key;
  if (now?.attempts !== seen.attempts || now.state !== seen.state) throw new Changed();
  await api.settle(seen.key, settlement);
}

/** The words for a failure that ends the decision, or undefined if the operator can correct the form. */
function endOf(error) {
  if (error instanceof Changed || error.code === "idempotency_not_unknown" || error.status === 404) {
    return "was not settled: it has changed meanwhile. You see its current state.";
  }
  if (error instanceof NoResponse || error.status >= 500) {
    return "may be settled or not: there was no response. Check its state before you decide again.";
  }
  return undefined;
}

const RESULTS = {
  "not-executed": () => "is settled: it was never executed. It is free, and the next request with it is executed.",
  executed: ({ status }) => `is settled: it was executed. A caller that sends the same request gets the response ${status} as a replay.`,
};

/** The settlement that the form describes. */
function executionOf(form) {
  const [status, headers, body] = ["status", "headers", "body"].map((name) => form.querySelector(`[data-field=${name}]`).value);
  return { outcome: "executed", status: Number(status), headers: headersOf(headers), body };
}

/** Reads one header a line. A repeated name gets a list of values. */
function headersOf(text) {
  const headers = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = line.match(/^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/) ?? [];
    if (!name) throw new Error(`This is no header: “${line}”. Write one a line, such as Content-Type: application/json.`);
    headers[name] = Object.hasOwn(headers, name) ? [headers[name], value].flat() : value;
  }
  return headers;
}
