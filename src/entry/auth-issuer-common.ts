export type { ClientMethod, ConfiguredClient, IssuerClient } from "../auth/issuer/clients/client.js";
export type { IssuerClientMetadata } from "../auth/issuer/clients/metadata.js";
export type { VerifiedToken } from "../auth/issuer/grants/tokens.js";
export type { Issuer } from "../auth/issuer/issuer.js";
export type { IssuerLimits } from "../auth/issuer/limits.js";
export type {
  ClientDocumentOptions,
  ConsentQuestion,
  IssuerDpopOptions,
  IssuerIdentityAssertionOptions,
  IssuerOptions,
  IssuerUser,
  Lifetimes,
  LimitedEndpoint,
  LoginContext,
  RateLimit,
  RegistrationOptions,
  TrustedIssuer,
  UpstreamOptions,
  UpstreamTokens,
  WorkloadGrant,
  WorkloadIdentityOptions,
  WorkloadIssuer,
} from "../auth/issuer/options.js";
export { OAuthProblem, type ProblemOptions } from "../auth/issuer/problem.js";
export { type Allowance, type RateLimiterOptions, rateLimiter } from "../auth/issuer/rate-limiter.js";
export { type MemoryIssuerStoreOptions, memoryIssuerStore } from "../auth/issuer/store/memory.js";
export type { IssuerStore, Keeping } from "../auth/issuer/store/store.js";
