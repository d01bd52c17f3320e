import type { AuthInfo } from "./auth-info.js";

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
