export type { DpopOptions, GatedRequest } from "../auth/dpop/check.js";
export {
  type AuthInfo,
  authOf,
  InvalidTokenError,
  type TokenVerifier,
} from "../auth/server/auth-info.js";
export { type IntrospectionVerifierOptions, introspectionVerifier } from "../auth/server/introspection-verifier.js";
export { type JwtVerifierOptions, jwtVerifier } from "../auth/server/jwt-verifier.js";
export type { GateLimits } from "../auth/server/limits.js";
export { type Protection, type ProtectOptions, protect } from "../auth/server/protect.js";
export type { GateAdmission, GateRefusal, Operation } from "../http/exchange.js";
export { AuthError } from "../protocol/auth-error.js";
export { DefinitionError } from "../protocol/errors.js";
