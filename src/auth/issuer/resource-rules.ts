import { canonicalResource } from "../server/resource-id.js";
import { OAuthProblem } from "./problem.js";

/**
 * The resources that a request names, as this server spells them. Case of scheme and host, a default port and a slash at
 * the end do not count. Throws `invalid_target` for what is no resource of this server.
 */
export function requestedResources(
  named: readonly string[],
  served: readonly string[],
  fallback: string | undefined,
): readonly string[] {
  if (named.length > 0) return [...new Set(named.map((resource) => find(resource, served)))];
  if (fallback !== undefined) return [fallback];
  throw new OAuthProblem("invalid_target", "resource is missing, and this server has several");
}

/** The part of a grant's audience that a token request asks for: all of it unless it names some. */
export function narrowedAudience(named: readonly string[], granted: readonly string[]): readonly string[] {
  return named.length === 0 ? granted : [...new Set(named.map((resource) => find(resource, granted)))];
}

function find(resource: string, among: readonly string[]): string {
  const key = canonicalResource(resource);
  const found = key === undefined ? undefined : among.find((candidate) => canonicalResource(candidate) === key);
  if (found !== undefined) return found;
  throw new OAuthProblem("invalid_target", "resource is none that this grant can be for");
}
