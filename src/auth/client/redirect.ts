import { AuthError } from "../../protocol/auth-error.js";
import { digestOf } from "../crypto.js";
import type { DiscoverOptions, Discovery } from "./discover.js";

/** The parameter that makes a redirect address one of a single issuer. */
const PARAMETER = "issuer";

/**
 * Whether an answer can be told from that of another authorization server: its issuer announces that answers name it (RFC
 * 9207), or the author has named the issuer. Otherwise an authorization server that passes the user on to another one gets the
 * code of the other one, and the verifier that belongs to it (mix-up).
 */
export function namesSender({ issuer, metadata }: Discovery, options: DiscoverOptions): boolean {
  return (
    metadata.authorization_response_iss_parameter_supported === true ||
    options.issuer === issuer ||
    options.allowMissingIss === true ||
    [options.serverMetadata ?? []].flat().some((described) => described.issuer === issuer)
  );
}

/** The redirect address that no other issuer is told: the answers of each come to an address of its own. */
export async function redirectFor(redirectUrl: string, { issuer }: Discovery): Promise<string> {
  const url = new URL(redirectUrl);
  url.searchParams.set(PARAMETER, (await digestOf(issuer)).slice(0, 16));
  return url.href;
}

/** Throws for an answer that came to the redirect address of another issuer. */
export function assertOwnRedirect(params: URLSearchParams, redirectUrl: string, issuer: string): void {
  const own = new URL(redirectUrl).searchParams.get(PARAMETER);
  if (own === null || params.get(PARAMETER) === own) return;
  throw new AuthError(
    "issuer",
    `The answer did not come to the redirect address of ${issuer}: its parameter ${PARAMETER} is another one, or was left out`,
  );
}
