// Helpers for tests of the guard alone.
import { pagesWith } from "../in-page.mjs";

export const guardPages = () => pagesWith("guard/page.mjs");
