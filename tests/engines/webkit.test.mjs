// The cases in WebKit.
import * as driver from "./drivers/webkit.mjs";
import { run } from "./run.mjs";

run({ ...driver, lacks: { "repeated keys": "the driver cannot repeat a key that is held" } });
