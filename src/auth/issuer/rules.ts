import { DefinitionError } from "../../protocol/errors.js";
import { quoted } from "../../protocol/text.js";
import { normalizeResource } from "../resource.js";
import { isScope, scopesOf } from "../scopes.js";
import { OAuthProblem } from "./problem.js";

/** Scopes that bound a request. */
export interface ScopeLimits {
  /** Scopes that the server supports. */
  readonly supported: readonly string[];
  /** Scopes of a request that names none. */
  readonly defaults: readonly string[];
  /** Scopes for which the client is registered; undefined for all supported ones. */
  readonly registered: readonly string[] | undefined;
}

/**
 * Returns the requested scopes. Throws `invalid_scope` for a scope that the server does not support or for which the
 * client is not registered.
 */
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
  throw new OAuthProblem("invalid_scope", names === "" ? "scope is not valid" : `scope is not available: ${names}`);
}

/** Throws if two ids are equal. */
export function assertUnique(option: string, ids: readonly string[]): void {
  const twice = ids.find((id, index) => ids.indexOf(id) < index);
  if (twice !== undefined) throw new DefinitionError(`${option} must not name ${JSON.stringify(twice)} twice`);
}

export function includesAll(held: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((item) => held.includes(item));
}

/**
 * Returns the requested resources in this server's spelling. Ignores letter case of scheme and host, a default port and
 * a trailing slash. Returns `fallback` if none is named. Throws `invalid_target` for an unknown resource, and if none
 * is named and there is no fallback.
 */
export function requestedResources(
  named: readonly string[],
  served: readonly string[],
  fallback: string | undefined,
): readonly string[] {
  if (named.length > 0) return [...new Set(named.map((resource) => find(resource, served)))];
  if (fallback !== undefined) return [fallback];
  throw new OAuthProblem("invalid_target", "resource is missing; this server has several");
}

/** Returns the part of a grant's audience that a token request names, or all of it if it names none. */
export function narrowedAudience(named: readonly string[], granted: readonly string[]): readonly string[] {
  return named.length === 0 ? granted : [...new Set(named.map((resource) => find(resource, granted)))];
}

function find(resource: string, among: readonly string[]): string {
  const key = normalizeResource(resource);
  const found = key === undefined ? undefined : among.find((candidate) => normalizeResource(candidate) === key);
  if (found !== undefined) return found;
  throw new OAuthProblem("invalid_target", `resource ${quoted(resource)} is unknown, or not part of the grant`);
}
