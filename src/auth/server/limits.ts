import { PROOF_LIMITS, type ProofLimits } from "../dpop/check.js";
import { KEY_LIMITS, type KeyLimits } from "../issuer-keys.js";

/**
 * Limits of a gate and its verifiers: `protect({ limits })`, `jwtVerifier({ limits })`, `introspectionVerifier({ limits
 * })`.
 */
export interface GateLimits extends KeyLimits, ProofLimits {
  /**
   * Maximum length of an access token. A longer one is answered with 401.
   * @default 16_384
   */
  readonly maxTokenBytes: number;
  /**
   * Milliseconds by which the clock of an issuer may be ahead of this server's, for `jwtVerifier`. It does not extend
   * the life of a token: the gate rejects a token as soon as it has expired.
   * @default 5_000
   */
  readonly clockSkewMs: number;
  /**
   * Maximum number of verified tokens that `jwtVerifier` caches. The oldest is evicted.
   * @default 1_000
   */
  readonly maxVerifiedTokens: number;
  /**
   * Milliseconds during which `jwtVerifier` does not verify a token again.
   * @default 60_000
   */
  readonly verifiedTokenMs: number;
  /**
   * Maximum number of active tokens that `introspectionVerifier` caches. The oldest is evicted.
   * @default 10_000
   */
  readonly maxIntrospectedTokens: number;
  /**
   * Milliseconds during which an introspection response is reused. A revoked token is still accepted during this time.
   * With 0 every request is introspected.
   * @default 10_000
   */
  readonly introspectedTokenMs: number;
  /**
   * Maximum number of inactive tokens that `introspectionVerifier` caches. The oldest is evicted.
   * @default 1_000
   */
  readonly maxRefusedTokens: number;
  /**
   * Milliseconds during which a token is remembered as inactive. Never longer than `introspectedTokenMs`.
   * @default 5_000
   */
  readonly refusedTokenMs: number;
  /**
   * Maximum number of concurrent introspection requests. Further tokens are answered with 503.
   * @default 100
   */
  readonly maxIntrospections: number;
  /**
   * Milliseconds during which the authorization server's metadata is cached for `mirrorMetadata`. A failure is cached
   * for `keysCooldownMs`.
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

/** Earlier names of limits, which were options, and of an option. */
export const MOVED_LIMITS = {
  timeoutMs: "limits.requestMs",
  maxAgeMs: "limits.keysMs",
  maxStaleMs: "limits.staleKeysMs",
  cooldownMs: "limits.keysCooldownMs",
  clockToleranceSeconds: "limits.clockSkewMs",
  cacheMs: "limits.introspectedTokenMs",
  maxCached: "limits.maxIntrospectedTokens",
  windowSeconds: "limits.proofWindowMs",
  ttlSeconds: "ttlMs",
};
