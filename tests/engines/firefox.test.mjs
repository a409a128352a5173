// The cases in Firefox.
import * as driver from "./drivers/firefox.mjs";
import { run } from "./run.mjs";

run(driver);
