export { BUILT_IN_EXTENSIONS } from "../protocol/meta.js";
export { isMetaKey, isReservedMetaKey } from "../protocol/meta-key.js";
export type * from "../protocol/types/index.js";
export * from "./errors.js";
