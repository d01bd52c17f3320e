import { type BearerOptions, createBearerWith } from "../auth/client/bearer.js";
import { createOAuthWith, type OAuth } from "../auth/client/oauth.js";
import type { OAuthOptions } from "../auth/client/options.js";
import { type AuthPlatform, toSettings } from "../auth/client/settings.js";
import { type AuthSteps, createStepsWith } from "../auth/client/steps.js";
import { isOnNode } from "../call/clock.js";
import { lazyModule } from "../call/lazy.js";
import { HANDSHAKE_VERSIONS } from "../era/versions.js";
import type { Fetch } from "../http/client/send.js";

const globalFetch: Fetch = (url, init) => globalThis.fetch(url, init);
const nodeParts = lazyModule(() => import("../node/guarded-fetch.js"));

function onNode(name: "usualFetch" | "usualGuardedFetch"): Fetch {
  return (url, init) => {
    const parts = nodeParts();
    return parts instanceof Promise ? parts.then((loaded) => loaded[name](url, init)) : parts[name](url, init);
  };
}

const platform: AuthPlatform = {
  fetch: isOnNode ? onNode("usualFetch") : globalFetch,
  guardedFetch: isOnNode ? onNode("usualGuardedFetch") : globalFetch,
  // Older authorization servers expect the protocol version.
  discoveryHeaders: { "mcp-protocol-version": HANDSHAKE_VERSIONS[0] },
};

/** Creates the authorization of a client: `connect(url, createOAuth({ ... }))`. */
export function createOAuth(options: OAuthOptions = {}): OAuth {
  return createOAuthWith(options, platform);
}

/** Provides the steps of `createOAuth` individually, for the authorization at one server. */
export function createAuthSteps(server: string | URL, options: OAuthOptions = {}): AuthSteps {
  return createStepsWith(new URL(server), toSettings(options, platform));
}

/** Creates the authorization with tokens from another source: `connect(url, createBearer({ token }))`. */
export function createBearer(options: BearerOptions): { readonly fetch: Fetch } {
  return createBearerWith(options, platform);
}

export type { BearerOptions } from "../auth/client/bearer.js";
export type { Attempt, Callback } from "../auth/client/code-flow.js";
export type { DiscoverOptions, Discovery } from "../auth/client/discover.js";
export type { DpopOptions } from "../auth/client/dpop.js";
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
export { type ClientDocument, createClientDocument } from "../auth/client/metadata-document.js";
export type { OAuth } from "../auth/client/oauth.js";
export type {
  AuthorizeContext,
  CommonOAuthOptions,
  OAuthOptions,
  OpenOAuthOptions,
  PinnedOAuthOptions,
} from "../auth/client/options.js";
export type { ClientMetadata } from "../auth/client/register.js";
export type { AuthSteps, StepOptions } from "../auth/client/steps.js";
export { type AuthStore, createMemoryStore, type TokenRecord } from "../auth/client/store.js";
export type { AssertionSource, Authentication, BoundClient, KnownClient, SigningKey } from "../auth/client-auth.js";
export type { Fetch, FetchInit, Patience } from "../http/client/send.js";
export { AuthError, type AuthStep } from "../protocol/auth-error.js";
export type { McpError } from "../protocol/errors.js";
