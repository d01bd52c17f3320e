import { digestOf, randomToken } from "../../crypto.js";
import { includesAll } from "../rules.js";
import type { Seal } from "../seal.js";
import type { AuthorizationRequest } from "../store/records.js";

const PREFIX = "consent-";
/**
 * Maximum total length of the approvals of a browser. Browsers send all cookies with each request, and many servers
 * reject headers above 8 KiB.
 */
const MAX_CONSENT_CHARS = 4_000;

interface Approval {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  /** Undefined if consent comes before the login. */
  readonly user?: string | undefined;
}

/** Content of the consent form, encrypted in a hidden field. */
export interface ConsentForm {
  readonly asked: AuthorizationRequest;
  readonly user?: string | undefined;
  readonly browser: string;
  /** Id of the form, which can be submitted once. */
  readonly nonce: string;
}

/** Lifetimes of an approval, of a consent form, and of the browser id, in milliseconds. */
export interface ConsentTimes {
  readonly consentMs: number;
  readonly loginMs: number;
  readonly browserMs: number;
}

/**
 * Approvals of a browser, and its open consent forms. Approvals are stored in encrypted cookies, one per client, which
 * cannot be altered. Each contains client, redirect URI, scopes, resources and user, and counts for these only.
 */
export class Consents {
  readonly #issuer: string;
  readonly #seal: Seal;
  readonly #site: CookieSite;
  readonly #now: () => number;
  readonly #times: ConsentTimes;

  constructor(issuer: string, seal: Seal, now: () => number, times: ConsentTimes) {
    this.#issuer = issuer;
    this.#seal = seal;
    this.#site = siteOf(issuer);
    this.#now = now;
    this.#times = times;
  }

  /**
   * True if this user has approved the client in this browser, with the same redirect URI and at least these scopes and
   * resources.
   */
  async covers(request: Request, asked: AuthorizationRequest, user: string | undefined): Promise<boolean> {
    const approval = await this.#approval(request, asked.clientId);
    if (approval === undefined || approval.user !== user || approval.redirectUri !== asked.redirectUri) return false;
    return includesAll(approval.scopes, asked.scopes) && includesAll(approval.audience, asked.audience);
  }

  /** True if any user has approved the client in this browser, with the same redirect URI. */
  async knows(request: Request, clientId: string, redirectUri: string): Promise<boolean> {
    return (await this.#approval(request, clientId))?.redirectUri === redirectUri;
  }

  /** Returns the cookies that store an approval. The oldest approvals of the browser are dropped to make room. */
  async remember(request: Request, asked: AuthorizationRequest, user: string | undefined): Promise<readonly string[]> {
    const { clientId, redirectUri, scopes, audience } = asked;
    const approval: Approval = { clientId, redirectUri, scopes, audience, user };
    const { consentMs } = this.#times;
    const value = await this.#seal.close(this.#purpose("consent"), approval, this.#now() + consentMs);
    const name = await this.#consentCookie(clientId);
    const room = makeRoom(this.#site, request, PREFIX, [name, value], { chars: MAX_CONSENT_CHARS });
    return [...room, setCookie(this.#site, name, value, consentMs)];
  }

  /** Returns the random id of this browser, and the cookie to set if the browser has none yet. */
  async browser(request: Request): Promise<{ readonly id: string; readonly cookie?: string }> {
    const id = await this.browserOf(request);
    if (id !== undefined) return { id };
    const made = randomToken();
    const value = await this.#seal.close(this.#purpose("browser"), made, this.#now() + this.#times.browserMs);
    return { id: made, cookie: setCookie(this.#site, await this.#browserCookie(), value) };
  }

  async browserOf(request: Request): Promise<string | undefined> {
    return await this.#seal.open<string>(this.#purpose("browser"), cookieOf(request, await this.#browserCookie()));
  }

  async sealForm(asked: AuthorizationRequest, user: string | undefined, browser: string): Promise<string> {
    const form: ConsentForm = { asked, user, browser, nonce: randomToken() };
    return await this.#seal.close(this.#purpose("ask"), form, this.#now() + this.#times.loginMs);
  }

  /** Returns the content of a consent form; undefined if it was not issued here, to this browser, within `loginMs`. */
  async openForm(
    request: Request,
    text: string | undefined,
  ): Promise<(ConsentForm & { expiresAt: number }) | undefined> {
    const form = await this.#seal.open<ConsentForm>(this.#purpose("ask"), text);
    if (form === undefined || form.browser !== (await this.browserOf(request))) return undefined;
    return { ...form, expiresAt: this.#now() + this.#times.loginMs };
  }

  async #approval(request: Request, clientId: string): Promise<Approval | undefined> {
    const cookie = cookieOf(request, await this.#consentCookie(clientId));
    const approval = await this.#seal.open<Approval>(this.#purpose("consent"), cookie);
    return approval?.clientId === clientId ? approval : undefined;
  }

  /** Returns a purpose that includes the issuer, because several issuers may share a host and secrets. */
  #purpose(what: string): string {
    return `${what} ${this.#issuer}`;
  }

  async #consentCookie(clientId: string): Promise<string> {
    return cookieName(this.#site, `${PREFIX}${(await digestOf(`${this.#issuer} ${clientId}`)).slice(0, 16)}`);
  }

  async #browserCookie(): Promise<string> {
    return cookieName(this.#site, `browser-${(await digestOf(this.#issuer)).slice(0, 8)}`);
  }
}

/** Returns the value of a cookie. */
export function cookieOf(request: Request, name: string): string | undefined {
  return cookiesOf(request).find(([known]) => known === name)?.[1];
}

/** Returns names and values of all cookies. Browsers send the oldest first. */
export function cookiesOf(request: Request): [string, string][] {
  return (request.headers.get("cookie") ?? "").split(";").flatMap((part) => {
    const at = part.indexOf("=");
    return at > 0 ? [[part.slice(0, at).trim(), part.slice(at + 1).trim()]] : [];
  });
}

/** Returns the cookies that delete the oldest ones of a kind, so that the new one fits the limits. */
export function makeRoom(
  site: CookieSite,
  request: Request,
  prefix: string,
  [name, value]: readonly [string, string],
  { cookies = Number.POSITIVE_INFINITY, chars }: { readonly cookies?: number; readonly chars: number },
): readonly string[] {
  const others = cookiesOf(request).filter(([other]) => other !== name && other.startsWith(cookieName(site, prefix)));
  const ended: string[] = [];
  let sum = others.reduce((all, [, other]) => all + other.length, value.length);
  while (others.length > 0 && (others.length >= cookies || sum > chars)) {
    const [first, other] = others.shift() as [string, string];
    sum -= other.length;
    ended.push(setCookie(site, first, "", 0));
  }
  return ended;
}

/** Properties of the issuer that determine the form of its cookies. */
export interface CookieSite {
  /** True if the issuer is served over https. Over http, allowed only on this machine, cookie names have no prefix. */
  readonly secure: boolean;
}

export function siteOf(issuer: string): CookieSite {
  return { secure: new URL(issuer).protocol === "https:" };
}

/** Returns the name of a cookie. The prefix `__Host-` prevents other hosts and plain connections from setting it. */
export function cookieName({ secure }: CookieSite, name: string): string {
  return secure ? `__Host-${name}` : name;
}

/** Formats a `Set-Cookie` header. Without `maxAgeMs` the cookie ends with the browser session. */
export function setCookie({ secure }: CookieSite, name: string, value: string, maxAgeMs?: number): string {
  const age = maxAgeMs === undefined ? "" : `; Max-Age=${Math.floor(maxAgeMs / 1000)}`;
  return `${name}=${value}; Path=/${secure ? "; Secure" : ""}; HttpOnly; SameSite=Lax${age}`;
}
