import type { AuthInfo } from "./auth-info.js";
import { isFor, statesAudience } from "./resource-id.js";

export interface TokenRules {
  /** The canonical identifier that tokens must be for; undefined takes tokens for anything. */
  readonly resource: string | undefined;
  /** The verifier answers for the audience of tokens that state none. */
  readonly verifierChecksAudience: boolean;
  readonly requireExpiry: boolean;
  /** The time, in milliseconds since 1970. */
  now(): number;
}

/** Why a verified token is not good here, in words for the client; undefined if it is. */
export function findTokenProblem(info: AuthInfo, rules: TokenRules): string | undefined {
  return findExpiryProblem(info.expiresAt, rules) ?? findAudienceProblem(info.audience, rules);
}

function findExpiryProblem(expiresAt: unknown, { requireExpiry, now }: TokenRules): string | undefined {
  if (expiresAt === undefined) return requireExpiry ? "The access token does not say when it expires" : undefined;
  if (typeof expiresAt !== "number" || !Number.isFinite(expiresAt))
    return "The expiry of the access token is not a time";
  return expiresAt * 1000 <= now() ? "The access token has expired" : undefined;
}

function findAudienceProblem(audience: unknown, rules: TokenRules): string | undefined {
  const { resource, verifierChecksAudience } = rules;
  if (resource === undefined) return undefined;
  if (!statesAudience(audience)) {
    return verifierChecksAudience
      ? undefined
      : "The access token has no audience, so it may be meant for another resource";
  }
  return isFor(audience, resource) ? undefined : "The audience of the access token is another resource";
}
