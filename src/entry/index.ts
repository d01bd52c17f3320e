export { BUILT_IN_EXTENSIONS } from "../schema/extension-id.js";
export { isMetaKey, isReservedMetaKey } from "../schema/meta-key.js";
export type * from "../schema/types.js";
export * from "./errors.js";
