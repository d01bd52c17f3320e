export type * from "../schema/types.js";
export * from "./errors.js";
