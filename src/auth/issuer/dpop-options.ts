import type { DpopOptions } from "../dpop/check.js";

/** How proofs are judged that tokens are bound by. */
export type IssuerDpopOptions = Omit<DpopOptions, "required" | "acceptProof" | "maxProofs" | "url">;
