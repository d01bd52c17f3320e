import { createOAuthWith, type OAuth } from "../auth/client/oauth.js";
import type { OAuthOptions } from "../auth/client/options.js";
import { HANDSHAKE_VERSIONS } from "../era/versions.js";

/** Authorization for `connect`: `connect(url, createOAuth({ ... }))`. */
export function createOAuth(options: OAuthOptions): OAuth {
  return createOAuthWith(options, { "mcp-protocol-version": HANDSHAKE_VERSIONS[0] ?? "" });
}

export { type BearerOptions, createBearer } from "../auth/client/bearer.js";
export type { AssertionSource, KnownClient, SigningKey } from "../auth/client/client-auth.js";
export type { Callback } from "../auth/client/code-flow.js";
export type { DpopOptions } from "../auth/client/dpop.js";
export {
  type Assert,
  clientCredentials,
  exchangeAtProvider,
  type Grant,
  type GrantTarget,
  type IdentityProvider,
  identityAssertion,
  workloadIdentity,
} from "../auth/client/grants.js";
export { type ClientDocument, createClientDocument } from "../auth/client/metadata-document.js";
export type { OAuth } from "../auth/client/oauth.js";
export type { AuthorizeContext, OAuthOptions } from "../auth/client/options.js";
export type { ClientMetadata } from "../auth/client/registration.js";
export { type AuthStore, createMemoryStore } from "../auth/client/store.js";
export { AuthError, type AuthStep } from "../schema/errors.js";
