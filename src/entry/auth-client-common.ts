export type { BearerOptions } from "../auth/client/bearer.js";
export type { Attempt, Callback } from "../auth/client/code-flow.js";
export type { DiscoverOptions, Discovery } from "../auth/client/discover.js";
export type { ClientDpopOptions } from "../auth/client/dpop.js";
export {
  type Assert,
  clientCredentials,
  exchangeAtProvider,
  type Grant,
  type GrantTarget,
  type IdentityAssertionOptions,
  type IdentityProvider,
  identityAssertion,
  workloadIdentity,
} from "../auth/client/grants.js";
export type { Identity } from "../auth/client/identify.js";
export { type ClientDocument, clientDocument } from "../auth/client/metadata-document.js";
export type { OAuth } from "../auth/client/oauth.js";
export type {
  AuthorizeContext,
  CommonOAuthOptions,
  OAuthOptions,
  OpenOAuthOptions,
  PinnedOAuthOptions,
} from "../auth/client/options.js";
export type { ClientMetadata } from "../auth/client/register.js";
export type { AuthorizationServerMetadata } from "../auth/client/server-metadata.js";
export type { AuthSteps, StepOptions } from "../auth/client/steps.js";
export { type AuthStore, memoryStore, type TokenRecord } from "../auth/client/store.js";
export type { AssertionSource, Authentication, BoundClient, KnownClient, SigningKey } from "../auth/client-auth.js";
export type { Fetch, FetchInit, Patience } from "../http/client/send.js";
export { AuthError, type AuthStep } from "../protocol/auth-error.js";
export type { McpError } from "../protocol/errors.js";
