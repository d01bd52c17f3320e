/** A scope token of RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export function isScope(value: unknown): value is string {
  return typeof value === "string" && SCOPE.test(value);
}

/** The scopes in a scope string, each once. */
export function scopesOf(scope: string | undefined): readonly string[] {
  return [...new Set((scope ?? "").split(" ").filter((item) => item !== ""))];
}

export function joinScopes(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = scopesOf(scopes.join(" "));
  return all.length === 0 ? undefined : all.join(" ");
}

/** Whether every scope of `wanted` is in `held`. No scope is taken to contain another. */
export function includesScopes(held: string | undefined, wanted: string | undefined): boolean {
  const has = new Set(scopesOf(held));
  return scopesOf(wanted).every((scope) => has.has(scope));
}

export interface ScopeSources {
  /** What the challenge asks for. */
  readonly challenged: string | undefined;
  /** What was asked for or granted before. */
  readonly held: string | undefined;
  /** `scopes_supported` of the resource's metadata. */
  readonly offered: readonly string[] | undefined;
  /** What the author configured, for servers that name none. */
  readonly configured: string | undefined;
}

/** What to ask for: the challenge counts before the resource's list, and what is held is kept. */
export function selectScope({ challenged, held, offered, configured }: ScopeSources): string | undefined {
  const kept = joinScopes(held, challenged);
  return kept ?? joinScopes(offered?.join(" ")) ?? joinScopes(configured);
}

/** What was granted; some servers put commas between the scopes, which is told by what was asked for. */
export function grantedScope(granted: string | undefined, asked: string | undefined): string | undefined {
  const spaced = granted?.replaceAll(",", " ");
  return granted !== spaced && includesScopes(spaced, asked) && !includesScopes(granted, asked)
    ? spaced
    : (granted ?? asked);
}

/** Adds what a refresh token takes, where the authorization server lists it. */
export function withOfflineAccess(scope: string | undefined, listed: unknown): string | undefined {
  const can = Array.isArray(listed) && listed.includes("offline_access");
  return scope !== undefined && can ? joinScopes(scope, "offline_access") : scope;
}
