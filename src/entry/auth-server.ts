export type { AuthorizationServerOptions, RequestLimits } from "../auth/authorization-server.js";
export type { DpopOptions, GatedRequest, NonceKey, ProofLimits } from "../auth/dpop/check.js";
export type { IssuerKeyOptions, KeyLimits } from "../auth/issuer-keys.js";
export {
  authOf,
  InvalidTokenError,
  type TokenInfo,
  type TokenVerifier,
} from "../auth/server/auth-info.js";
export { type IntrospectionVerifierOptions, introspectionVerifier } from "../auth/server/introspection-verifier.js";
export { type JwtVerifierOptions, jwtVerifier } from "../auth/server/jwt-verifier.js";
export type { GateLimits } from "../auth/server/limits.js";
export { type Protection, type ProtectOptions, protect } from "../auth/server/protect.js";
export type { Satisfies, ScopeOptions } from "../auth/server/scopes.js";
export type { AuthInfo } from "../http/auth-info.js";
export type { GateAdmission, GateRefusal, Operation } from "../http/exchange.js";
export { AuthError, type AuthStep } from "../protocol/auth-error.js";
export { DefinitionError, type McpError } from "../protocol/errors.js";
