// Checks the arguments of `make start` and `make serve` before anything is installed or built: PORT, and the names in VARS.
import { readPairs } from "../worker/npm/lib/settings.mjs";
import { settingNames } from "./worker-facts.mjs";

function fail(message) {
  console.error(`oncekey: ${message}`);
  process.exit(1);
}

const { PORT = "", ONCEKEY_VARS = "" } = process.env;
if (PORT !== "" && (!/^[0-9]{1,5}$/.test(PORT) || Number(PORT) < 1 || Number(PORT) > 65535)) {
  fail(`PORT=${PORT} is not a port number; choose one from 1 to 65535, such as PORT=8787`);
}
try {
  readPairs(ONCEKEY_VARS.split(/\s+/).filter(Boolean), settingNames(), "VARS");
} catch (error) {
  fail(error.message);
}
