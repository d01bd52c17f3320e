import { digestOf, randomToken } from "../../crypto.js";
import { includesAll } from "../rules.js";
import type { Seal } from "../seal.js";
import type { AuthorizationRequest } from "../store/records.js";

const PREFIX = "consent-";
/** All go along with each request, and servers of the field refuse headers above 8 KiB. */
const MAX_CONSENT_CHARS = 4_000;

interface Approval {
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  /** Nobody where consent comes before the login. */
  readonly user?: string | undefined;
}

/** The question that the form of the consent page carries, sealed. */
export interface ConsentForm {
  readonly asked: AuthorizationRequest;
  readonly user?: string | undefined;
  readonly browser: string;
  /** Good for one answer. */
  readonly nonce: string;
}

/** How long a browser remembers an approval, has to answer, and is known. */
export interface ConsentTimes {
  readonly consentMs: number;
  readonly loginMs: number;
  readonly browserMs: number;
}

/**
 * What a browser has approved, and the questions that it is being asked. Approvals are in sealed cookies, one per client,
 * each naming client, redirect URI, scopes and user: an altered one, or one for another client, is worth nothing.
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

  /** Whether this user, in this browser, has approved as much for the same client at the same place. */
  async covers(request: Request, asked: AuthorizationRequest, user: string | undefined): Promise<boolean> {
    const approval = await this.#approval(request, asked.clientId);
    if (approval === undefined || approval.user !== user || approval.redirectUri !== asked.redirectUri) return false;
    return includesAll(approval.scopes, asked.scopes) && includesAll(approval.audience, asked.audience);
  }

  /** Whether somebody at this browser has approved the client at this place before. */
  async knows(request: Request, clientId: string, redirectUri: string): Promise<boolean> {
    return (await this.#approval(request, clientId))?.redirectUri === redirectUri;
  }

  /** The cookies that remember an approval. The earliest approvals of the browser make room for it. */
  async remember(request: Request, asked: AuthorizationRequest, user: string | undefined): Promise<readonly string[]> {
    const { clientId, redirectUri, scopes, audience } = asked;
    const approval: Approval = { clientId, redirectUri, scopes, audience, user };
    const { consentMs } = this.#times;
    const value = await this.#seal.close(this.#purpose("consent"), approval, this.#now() + consentMs);
    const name = await this.#consentCookie(clientId);
    const room = makeRoom(this.#site, request, PREFIX, [name, value], { chars: MAX_CONSENT_CHARS });
    return [...room, setCookie(this.#site, name, value, consentMs)];
  }

  /** Something that only this browser has, and the cookie that gives it to a browser without. */
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

  /** The question that a form carries; undefined if it was not asked here, of this browser, within the last minutes. */
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

  /** Several issuers may share a host and secrets: nothing of one is good at another. */
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

/** The value of a cookie of the request. */
export function cookieOf(request: Request, name: string): string | undefined {
  return cookiesOf(request).find(([known]) => known === name)?.[1];
}

/** Names and values of the cookies of the request, in their order: browsers send the earliest first. */
export function cookiesOf(request: Request): [string, string][] {
  return (request.headers.get("cookie") ?? "").split(";").flatMap((part) => {
    const at = part.indexOf("=");
    return at > 0 ? [[part.slice(0, at).trim(), part.slice(at + 1).trim()]] : [];
  });
}

/** The cookies that end the earliest of a kind, so that the browser keeps no more than these with one more. */
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

export interface CookieSite {
  /** Whether browsers reach the issuer over https. On http, which only this machine has, there is no prefix. */
  readonly secure: boolean;
}

export function siteOf(issuer: string): CookieSite {
  return { secure: new URL(issuer).protocol === "https:" };
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
