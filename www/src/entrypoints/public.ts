// What every entry point exports besides createClient and mintKey.

export * from "../errors.js";
export { guardForm } from "../form/form.js";
export type * from "../types.js";
