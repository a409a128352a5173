// The cases in Chromium.
import * as driver from "./drivers/chromium.mjs";
import { run } from "./run.mjs";

run(driver);
