import { AuthError } from "../../protocol/auth-error.js";
import type { BoundClient } from "../client-auth.js";
import { digestOf } from "../crypto.js";
import type { DiscoverOptions, Discovery } from "./discover.js";

/** Query parameter that makes a redirect URI specific to one issuer. */
const PARAMETER = "issuer";

/**
 * True if an authorization response needs no redirect URI of its own to show its issuer: the authorization server
 * announces that its responses name it (RFC 9207), or it is the only one that the options name, or `allowMissingIss` is
 * set. Otherwise a malicious authorization server can redirect the user to an honest one. The client then sends the code
 * of the honest server, with its verifier, to the malicious server (mix-up attack, section 4.4 of RFC 9700).
 */
export function namesSender(
  { issuer, metadata }: Discovery,
  options: DiscoverOptions,
  clients: readonly BoundClient[],
): boolean {
  if (metadata.authorization_response_iss_parameter_supported === true || options.allowMissingIss === true) return true;
  const named = namedIssuers(options, clients);
  return named.size === 1 && named.has(issuer);
}

/**
 * Returns the issuers that the options name. With `issuer` or clients that are registered in advance, no others are used.
 * Otherwise all others have redirect URIs of their own.
 */
function namedIssuers(
  { issuer, serverMetadata = [] }: DiscoverOptions,
  clients: readonly BoundClient[],
): ReadonlySet<unknown> {
  if (issuer !== undefined) return new Set([issuer]);
  return new Set((clients.length > 0 ? clients : [serverMetadata].flat()).map((named) => named.issuer));
}

/**
 * Returns the redirect URI for one issuer. Each issuer gets a different one, so that a response shows which issuer sent
 * it.
 */
export async function redirectFor(redirectUrl: string, { issuer }: Discovery): Promise<string> {
  const url = new URL(redirectUrl);
  url.searchParams.set(PARAMETER, (await digestOf(issuer)).slice(0, 16));
  return url.href;
}

/** Throws if a response arrived at the redirect URI of another issuer. */
export function assertOwnRedirect(params: URLSearchParams, redirectUrl: string, issuer: string): void {
  const own = new URL(redirectUrl).searchParams.get(PARAMETER);
  if (own === null || params.get(PARAMETER) === own) return;
  throw new AuthError(
    "issuer",
    `The authorization response did not arrive at the redirect URI of ${issuer}: its parameter ${PARAMETER} differs or is missing`,
  );
}
