// The two decisions about an unknown outcome, each in a dialog that says what it leads to and asks once more.

import { NoAnswer } from "./api.js";
import { byId, say } from "./dom.js";
import { nameOf } from "./words.js";

/** The key is not what the operator was looking at. */
class Changed extends Error {}

/**
 * `current`: gives the key that is shown; `settle(key, settlement)`: sends a decision about it; `done(key, words,
 * isGood)`: called with what became of it; `failed(error)`: asked first about a failure, true if it has dealt with it.
 */
export function letSettle({ current, settle, done, failed }) {
  prepare("not-executed", () => ({ outcome: "not_executed" }));
  prepare("executed", answerOf);

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
    // What was sent cannot be called back, so nobody is led to think so.
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
        tell(error);
      } finally {
        isSending = false;
        confirm.removeAttribute("aria-disabled");
      }
    });

    function tell(error) {
      if (failed(error)) return dialog.close();
      const words = endOf(error);
      if (!words) return say(problem, error.message);
      dialog.close();
      done(key, words, false);
    }
  }
}

/**
 * Settles a key if it still stands as it was seen: a decision about one attempt is none about the next, which may have
 * begun and become unknown meanwhile.
 */
export async function settleAsSeen(api, seen, settlement) {
  const now = (await api.key(seen.key))?.key;
  if (now?.attempts !== seen.attempts || now.state !== seen.state) throw new Changed();
  await api.settle(seen.key, settlement);
}

/** What a failure means that ends the decision; undefined for one that can be mended in the form. */
function endOf(error) {
  if (error instanceof Changed || error.code === "idempotency_not_unknown" || error.status === 404) {
    return "was not settled: it has changed meanwhile. This is how it stands now.";
  }
  if (error instanceof NoAnswer || error.status >= 500) {
    return "may be settled or not: the gateway did not say. Look at how it stands before you decide again.";
  }
  return undefined;
}

const RESULTS = {
  "not-executed": () => "is settled: it was never executed. It is free, and the next request with it is executed.",
  executed: ({ status }) => `is settled: it was executed. Whoever sends the same gets the answer ${status} as a replay.`,
};

/** What the form says, as the gateway wants it. */
function answerOf(form) {
  const [status, headers, body] = ["status", "headers", "body"].map((name) => form.querySelector(`[data-field=${name}]`).value);
  return { outcome: "executed", status: Number(status), headers: headersOf(headers), body };
}

/** One header a line; a name that comes twice has a list of values. */
function headersOf(text) {
  const headers = {};
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const [, name, value] = line.match(/^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*)$/) ?? [];
    if (!name) throw new Error(`This is no header: “${line}”. Write one a line, such as Content-Type: application/json.`);
    headers[name] = Object.hasOwn(headers, name) ? [headers[name], value].flat() : value;
  }
  return headers;
}
