import type { AuthInfo } from "./auth-info.js";

/** What was found out about tokens, each until its time is over. Bounded: when it is full, the oldest make room. */
export class TokenCache {
  readonly #kept = new Map<string, { readonly info: AuthInfo; readonly untilMs: number }>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  find(token: string): AuthInfo | undefined {
    const kept = this.#kept.get(token);
    if (kept === undefined || kept.untilMs > this.#now()) return kept?.info;
    this.#kept.delete(token);
    return undefined;
  }

  /** Keeps it for so long, but not beyond the token's end. */
  keep(info: AuthInfo, ms: number): void {
    const now = this.#now();
    const { token, expiresAt } = info;
    const end = typeof expiresAt === "number" ? expiresAt * 1000 : Number.POSITIVE_INFINITY;
    const untilMs = Math.min(now + ms, end);
    if (!(untilMs > now && this.#max > 0)) return;
    this.#kept.delete(token);
    if (this.#kept.size >= this.#max) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(token, { info, untilMs });
  }
}

type Claims = { readonly [name: string]: unknown };

/** What the claims of a token, or the members of an introspection response, say of it. */
export function toAuthInfo(token: string, claims: Claims): AuthInfo {
  const { client_id, azp, scope, scp, exp, aud, sub, iss, cnf } = claims;
  return {
    token,
    clientId: text(client_id) ?? text(azp),
    scopes: toScopeList(scope ?? scp),
    // What is no number is refused by the gate, and not read as no expiry.
    expiresAt: exp as number | undefined,
    audience: aud as string | readonly string[] | undefined,
    // Some servers count their users.
    subject: text(typeof sub === "number" ? String(sub) : sub),
    issuer: text(iss),
    confirmation: cnf as AuthInfo["confirmation"],
    claims,
  };
}

/** Scopes come as one text, and from some servers as a list. */
function toScopeList(scope: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(scope) ? scope : typeof scope === "string" ? scope.split(" ") : [];
  return list.filter((one): one is string => typeof one === "string" && one !== "");
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
