/** The protocol's vocabulary: one set of names, wide enough for what every protocol version sends. */
export type * from "./types/base.js";
export type * from "./types/content.js";
export type * from "./types/elicitation.js";
export type * from "./types/features.js";
export type * from "./types/input.js";
export type * from "./types/lifecycle.js";
export type * from "./types/sampling.js";
