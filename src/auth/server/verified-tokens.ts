import { dropOldest } from "../../protocol/oldest.js";
import type { TokenInfo } from "./auth-info.js";

/** Cache of verified tokens, each with an expiry. When it is full, the oldest entry is evicted. */
export class TokenCache {
  readonly #kept = new Map<string, { readonly info: TokenInfo; readonly untilMs: number }>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  find(token: string): TokenInfo | undefined {
    const kept = this.#kept.get(token);
    if (kept === undefined || kept.untilMs > this.#now()) return kept?.info;
    this.#kept.delete(token);
    return undefined;
  }

  /** Caches a token for `ms`, but not beyond its expiry. */
  keep(info: TokenInfo, ms: number): void {
    const now = this.#now();
    const { token, expiresAt } = info;
    const end = typeof expiresAt === "number" ? expiresAt * 1000 : Number.POSITIVE_INFINITY;
    const untilMs = Math.min(now + ms, end);
    if (!(untilMs > now && this.#max > 0)) return;
    this.#kept.delete(token);
    this.#kept.set(token, { info, untilMs });
    dropOldest(this.#kept, this.#max);
  }
}

type Claims = { readonly [name: string]: unknown };

/** Returns the `TokenInfo` for the claims of a JWT or the members of an introspection response. */
export function toAuthInfo(token: string, claims: Claims): TokenInfo {
  const { client_id, azp, scope, scp, exp, aud, sub, iss, cnf } = claims;
  return {
    token,
    clientId: text(client_id) ?? text(azp),
    scopes: toScopeList(scope ?? scp),
    // An `exp` that is not a number is passed on, so that the gate rejects it instead of assuming no expiry.
    expiresAt: exp as number | undefined,
    audience: aud as string | readonly string[] | undefined,
    // Some servers use numbers as user ids.
    subject: text(typeof sub === "number" ? String(sub) : sub),
    issuer: text(iss),
    confirmation: cnf as TokenInfo["confirmation"],
    claims,
  };
}

/** Returns the scopes of a claim. Most servers send a string, some a list. */
function toScopeList(scope: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(scope) ? scope : typeof scope === "string" ? scope.split(" ") : [];
  return list.filter((one): one is string => typeof one === "string" && one !== "");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
