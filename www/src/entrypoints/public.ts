// The exports of every entry point, except createClient and mintKey.

export * from "../errors.js";
export { guardForm } from "../form/form.js";
export type * from "../types.js";
