/** The value of a cookie of the request. */
export function cookieOf(request: Request, name: string): string | undefined {
  for (const part of (request.headers.get("cookie") ?? "").split(";")) {
    const at = part.indexOf("=");
    if (at > 0 && part.slice(0, at).trim() === name) return part.slice(at + 1).trim();
  }
  return undefined;
}

export interface CookieSite {
  /** Whether browsers reach the issuer over https. On http, which only this machine has, there is no prefix. */
  readonly secure: boolean;
}

/** With the prefix, no other host and no plain connection can set the cookie. */
export function cookieName({ secure }: CookieSite, name: string): string {
  return secure ? `__Host-${name}` : name;
}

/** Without `maxAgeMs` it lasts as long as the browser's session. */
export function setCookie({ secure }: CookieSite, name: string, value: string, maxAgeMs?: number): string {
  const age = maxAgeMs === undefined ? "" : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
  return `${name}=${value}; Path=/${secure ? "; Secure" : ""}; HttpOnly; SameSite=Lax${age}`;
}
