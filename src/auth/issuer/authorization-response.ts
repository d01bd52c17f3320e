import type { IssuerCore } from "./core.js";
import { type OAuthProblem, printable } from "./problem.js";
import type { AuthorizationRequest } from "./store/records.js";

/** Redirect URI and state of the authorization request. */
type ResponseTarget = Pick<AuthorizationRequest, "redirectUri" | "state">;

/** Returns the redirect URI with a code. */
export function codeUri(core: IssuerCore, target: ResponseTarget, code: string): string {
  return toClientUri(core, target, { code });
}

/** Returns the redirect URI with an error. */
export function problemUri(core: IssuerCore, target: ResponseTarget, problem: OAuthProblem): string {
  return toClientUri(core, target, { error: problem.code, error_description: printable(problem.message) });
}

/**
 * Returns the redirect URI with the parameters of the response, `state` and `iss`. A client of several issuers tells
 * them apart by `iss` (RFC 9207).
 */
function toClientUri(
  core: IssuerCore,
  { redirectUri, state }: ResponseTarget,
  answer: Readonly<Record<string, string>>,
): string {
  const iss = core.options.issParameter === false ? undefined : core.issuer;
  return withParams(redirectUri, { ...answer, state, iss });
}

/** Appends parameters to the query of a URI. */
export function withParams(uri: string, params: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) added.set(name, value);
  const glue = uri.includes("?") ? (/[?&]$/.test(uri) ? "" : "&") : "?";
  return `${uri}${glue}${added}`;
}
