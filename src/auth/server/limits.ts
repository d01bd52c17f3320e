import { PROOF_LIMITS, type ProofLimits } from "../dpop/check.js";
import { KEY_LIMITS, type KeyLimits } from "../issuer-keys.js";

/** The bounds of a gate and its verifiers: `protect({ limits })`, `jwtVerifier({ limits })`, `introspectionVerifier({ limits })`. */
export interface GateLimits extends KeyLimits, ProofLimits {
  /**
   * The length of an access token.
   * @default 16_384
   */
  readonly maxTokenBytes: number;
  /**
   * How far the clock of an issuer may be ahead of this one. The gate judges to the second whether a token has expired.
   * @default 5_000
   */
  readonly clockSkewMs: number;
  /**
   * Verified tokens that `jwtVerifier` keeps. The oldest makes room.
   * @default 1_000
   */
  readonly maxVerifiedTokens: number;
  /**
   * How long a token that `jwtVerifier` has verified is not verified again.
   * @default 60_000
   */
  readonly verifiedTokenMs: number;
  /**
   * Answers that `introspectionVerifier` keeps. The oldest makes room.
   * @default 10_000
   */
  readonly maxIntrospectedTokens: number;
  /**
   * How long an answer of the authorization server is good: for so long a revoked token still works. 0 asks every time.
   * @default 10_000
   */
  readonly introspectedTokenMs: number;
  /**
   * Answers that a token is not good that `introspectionVerifier` keeps. The oldest makes room.
   * @default 1_000
   */
  readonly maxRefusedTokens: number;
  /**
   * How long it is remembered that a token is not good, and never longer than `introspectedTokenMs`.
   * @default 5_000
   */
  readonly refusedTokenMs: number;
  /**
   * Questions to the authorization server that are under way. Further tokens are answered by 503.
   * @default 100
   */
  readonly maxIntrospections: number;
  /**
   * How long the metadata of the authorization server is kept for `mirrorMetadata`; a failure for `keysCooldownMs`.
   * @default 300_000
   */
  readonly mirrorMs: number;
}

export const GATE_LIMITS: GateLimits = {
  ...KEY_LIMITS,
  ...PROOF_LIMITS,
  maxTokenBytes: 16_384,
  clockSkewMs: 5_000,
  maxVerifiedTokens: 1_000,
  verifiedTokenMs: 60_000,
  maxIntrospectedTokens: 10_000,
  introspectedTokenMs: 10_000,
  maxRefusedTokens: 1_000,
  refusedTokenMs: 5_000,
  maxIntrospections: 100,
  mirrorMs: 300_000,
};
