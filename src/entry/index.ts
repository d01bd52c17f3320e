// What servers and clients share: errors, and the types of the protocol. It loads neither of them.
export type { Optional } from "../protocol/known-options.js";
export { BUILT_IN_EXTENSIONS, isMetaKey, isReservedMetaKey } from "../protocol/meta.js";
export * from "./protocol.js";
