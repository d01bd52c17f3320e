import { AuthError } from "../../protocol/auth-error.js";
import { digestOf } from "../crypto.js";
import type { DiscoverOptions, Discovery } from "./discover.js";

/** Query parameter that makes a redirect URI specific to one issuer. */
const PARAMETER = "issuer";

/**
 * True if an authorization response needs no redirect URI of its own to show its issuer: the authorization server
 * announces that its responses name it (RFC 9207), or the options `issuer` or `serverMetadata` name it, or
 * `allowMissingIss` is set. Otherwise a malicious authorization server can redirect the user to an honest one. The
 * client then sends the code of the honest server, with its verifier, to the malicious server (mix-up attack).
 */
export function namesSender({ issuer, metadata }: Discovery, options: DiscoverOptions): boolean {
  return (
    metadata.authorization_response_iss_parameter_supported === true ||
    options.issuer === issuer ||
    options.allowMissingIss === true ||
    [options.serverMetadata ?? []].flat().some((described) => described.issuer === issuer)
  );
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
