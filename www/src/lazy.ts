// What the entry points load when it is first needed.

export { Engine } from "./client/engine.js";
export { loadCore, startCore } from "./core.js";
export { FormSender } from "./form/send.js";
