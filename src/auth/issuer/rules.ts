import { normalizeResource } from "../resource.js";
import { isScope, scopesOf } from "../scopes.js";
import { OAuthProblem } from "./problem.js";

export interface ScopeLimits {
  /** What this server has. */
  readonly supported: readonly string[];
  /** What a request without scopes asks for. */
  readonly defaults: readonly string[];
  /** What the client is registered for; undefined for all that is supported. */
  readonly registered: readonly string[] | undefined;
}

/** The scopes that a request asks for. Throws `invalid_scope` for one that server or client do not allow. */
export function requestedScopes(scope: string | undefined, limits: ScopeLimits): readonly string[] {
  const { supported, defaults, registered } = limits;
  const allowed = registered === undefined ? supported : supported.filter((item) => registered.includes(item));
  const asked = scopesOf(scope);
  if (asked.length === 0) return defaults.filter((item) => allowed.includes(item));
  assertScopes(asked, allowed);
  return asked;
}

export function assertScopes(asked: readonly string[], allowed: readonly string[]): void {
  const refused = asked.filter((item) => !allowed.includes(item));
  if (refused.length === 0) return;
  const names = refused.filter((item) => isScope(item) && item.length < 100).join(" ");
  throw new OAuthProblem("invalid_scope", `not available: ${names === "" ? "a scope that is none" : names}`);
}

export function includesAll(held: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((item) => held.includes(item));
}

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
  const key = normalizeResource(resource);
  const found = key === undefined ? undefined : among.find((candidate) => normalizeResource(candidate) === key);
  if (found !== undefined) return found;
  throw new OAuthProblem("invalid_target", "resource is none that this grant can be for");
}
