// Helpers for tests that run in a page.

/** Runs a script with named values. */
export function run(scope, script) {
  return new Function(...Object.keys(scope), script)(...Object.values(scope));
}

/** Waits until everything that was due has happened. */
export function wait(millis) {
  return new Promise((done) => setTimeout(done, millis));
}

/** Waits for the tasks that an event has queued. */
export function settle() {
  return wait(10);
}

/** Returns the name and message of a thrown error. */
export function thrown(call) {
  try {
    call();
  } catch (error) {
    return String(error);
  }
  return "nothing";
}

export function ok(value, message = "") {
  if (!value) throw new Error(`not so: ${message}`);
}
export function equal(found, expected, message = "") {
  const [one, other] = [found, expected].map((value) => JSON.stringify(value));
  if (one !== other) throw new Error(`${message}\nfound    ${one}\nexpected ${other}`);
}
export function differs(found, other, message = "") {
  if (found === other) throw new Error(`${message}\nfound ${JSON.stringify(found)}`);
}
