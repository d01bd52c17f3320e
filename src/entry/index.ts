export { BUILT_IN_EXTENSIONS, isMetaKey, isReservedMetaKey } from "../protocol/meta.js";
export type * from "../protocol/types/index.js";
export * from "./errors.js";
