/** Scope token of RFC 6749, section 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export function isScope(value: unknown): value is string {
  return typeof value === "string" && SCOPE.test(value);
}

/** Returns the distinct scopes of a scope string. */
export function scopesOf(scope: string | undefined): readonly string[] {
  return [...new Set((scope ?? "").split(" ").filter((item) => item !== ""))];
}

export function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = scopesOf(scopes.join(" "));
  return all.length === 0 ? undefined : all.join(" ");
}

/** True if every scope of `wanted` is in `held`. No scope implies another. */
export function includesScopes(held: string | undefined, wanted: string | undefined): boolean {
  const has = new Set(scopesOf(held));
  return scopesOf(wanted).every((scope) => has.has(scope));
}

/** Scopes from which the one to request is selected. */
export interface ScopeSources {
  /** Scope that the challenge demands. */
  readonly challenged: string | undefined;
  /** Scope that was requested or granted before. */
  readonly held: string | undefined;
  /** `scopes_supported` of the resource's metadata. */
  readonly offered: readonly string[] | undefined;
  /** Scope from the options, for servers that name none. */
  readonly configured: string | undefined;
}

/**
 * Returns the scope to request: the held scope and that of the challenge, or else that of the resource, or else the
 * configured one.
 */
export function selectScope({ challenged, held, offered, configured }: ScopeSources): string | undefined {
  const kept = joinScopes(held, challenged);
  return kept ?? joinScopes(offered?.join(" ")) ?? joinScopes(configured);
}

/**
 * Returns the granted scope, or the requested one if the response names none. Some servers separate scopes by commas.
 * Commas are replaced by spaces if the result includes the requested scopes only then.
 */
export function grantedScope(granted: string | undefined, asked: string | undefined): string | undefined {
  const spaced = granted?.replaceAll(",", " ");
  return granted !== spaced && includesScopes(spaced, asked) && !includesScopes(granted, asked)
    ? spaced
    : (granted ?? asked);
}

/**
 * Adds `offline_access`, which yields a refresh token, to a scope if the authorization server lists it. An undefined
 * scope stays undefined.
 */
export function withOfflineAccess(scope: string | undefined, listed: unknown): string | undefined {
  const can = Array.isArray(listed) && listed.includes("offline_access");
  return scope !== undefined && can ? joinScopes(scope, "offline_access") : scope;
}
