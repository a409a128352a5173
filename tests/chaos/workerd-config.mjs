// The config with which plain workerd runs a built Worker for tests and benchmarks: the state is in the server's folder.
import { join } from "node:path";
import { compatibilityDate } from "../../scripts/worker-facts.mjs";
import { workerdConfig as configOf } from "../../worker/npm/lib/workerd-config.mjs";

/** Returns the config as Cap'n Proto text. `replica`: whether the Worker has a KV namespace for copies. */
export const workerdConfig = ({ folder, ...options }) =>
  configOf({ ...options, folder, state: join(folder, "state"), compatibilityDate: compatibilityDate() });
