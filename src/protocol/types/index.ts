/** Types of the protocol. Each type covers every supported protocol version. */
export type * from "./base.js";
export type * from "./content.js";
export type * from "./elicitation.js";
export type * from "./features.js";
export type * from "./input.js";
export type * from "./lifecycle.js";
export type * from "./sampling.js";
