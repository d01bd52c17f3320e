/** What few tools have: limits, and handlers that are generators. */
export { drain } from "./drain.js";
export { createLimit } from "./tool-limits.js";
