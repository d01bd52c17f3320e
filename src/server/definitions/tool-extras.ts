/** What few tools have: limits, handlers that are generators, and defects. */
export { drain } from "./drain.js";
export { nonconforming, schemaThrew, unwritable } from "./tool-failures.js";
export { createLimit } from "./tool-lazy.js";
