import type { IssuerCore } from "./core.js";
import { type OAuthProblem, printable } from "./problem.js";
import type { AuthorizationRequest } from "./store/records.js";

/** Where an answer goes, and what the client told to send along. */
type ResponseTarget = Pick<AuthorizationRequest, "redirectUri" | "state">;

/** The address that gives a code to the client. */
export function codeUri(core: IssuerCore, target: ResponseTarget, code: string): string {
  return toClientUri(core, target, { code });
}

/** The address that tells a client what went wrong. */
export function problemUri(core: IssuerCore, target: ResponseTarget, problem: OAuthProblem): string {
  return toClientUri(core, target, { error: problem.code, error_description: printable(problem.message) });
}

/** Each answer names this issuer, so that a client of several can tell them apart. */
function toClientUri(
  core: IssuerCore,
  { redirectUri, state }: ResponseTarget,
  answer: Readonly<Record<string, string>>,
): string {
  const iss = core.options.issParameter === false ? undefined : core.issuer;
  return withParams(redirectUri, { ...answer, state, iss });
}

/** The address with the answer's parameters appended to the query it has. */
export function withParams(uri: string, params: Readonly<Record<string, string | undefined>>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) added.set(name, value);
  const glue = uri.includes("?") ? (/[?&]$/.test(uri) ? "" : "&") : "?";
  return `${uri}${glue}${added}`;
}
