// Checks the arguments of `make start` before anything is installed or built: PORT, and the names in VARS.
import { readFileSync } from "node:fs";

function fail(message) {
  console.error(`oncekey: ${message}`);
  process.exit(1);
}

const { PORT = "", ONCEKEY_VARS = "" } = process.env;
if (PORT !== "" && (!/^[0-9]{1,5}$/.test(PORT) || Number(PORT) < 1 || Number(PORT) > 65535)) {
  fail(`PORT=${PORT} is not a port number; choose one from 1 to 65535, such as PORT=8787`);
}

const source = readFileSync(new URL("../worker/src/config/names.rs", import.meta.url), "utf8");
const [, list] = source.match(/const NAMES: [^=]*= \[(.*?)\];/s);
const names = [...list.matchAll(/"([A-Z_]+)"/g)].map(([, name]) => name);

/** Returns how many letters must be added, removed or replaced to turn one name into the other. */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (let place = 1; place <= other.length; place++) {
      next.push(Math.min(row[place - 1] + (other[place - 1] !== letter), row[place] + 1, next[place - 1] + 1));
    }
    row = next;
  }
  return row[other.length];
}

const seen = new Set();
for (const setting of ONCEKEY_VARS.split(/\s+/).filter(Boolean)) {
  const at = setting.indexOf("=");
  // The value may be a secret, so the message contains only names.
  if (at < 1) fail(`VARS: a setting has a wrong form; write NAME=value, separated by spaces, without spaces in the values`);
  const name = setting.slice(0, at);
  if (!names.includes(name)) {
    const near = names.toSorted((one, other) => distance(one, name.toUpperCase()) - distance(other, name.toUpperCase()));
    fail(`VARS: ${name} is not the name of a setting; did you mean ${near[0]}? docs/guide/settings.md lists them all`);
  }
  if (seen.has(name)) fail(`VARS: ${name} is set twice; set it once`);
  seen.add(name);
}
