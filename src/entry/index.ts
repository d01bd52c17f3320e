export type { Optional } from "../protocol/known-options.js";
export { BUILT_IN_EXTENSIONS, isMetaKey, isReservedMetaKey } from "../protocol/meta.js";
export * from "./protocol.js";
