import { digestOf } from "../../crypto.js";
import type { IssuerCore } from "../core.js";
import { invalidRequest } from "../problem.js";
import type { AuthorizationRequest } from "../store/records.js";
import { type CookieSite, cookieName, cookieOf, makeRoom, setCookie, siteOf } from "./consents.js";

/** Upstream login that is under way. */
export interface PendingLogin {
  readonly asked: AuthorizationRequest;
  readonly state: string;
  readonly verifier: string;
}

/** Maximum length of a login cookie. Browsers accept cookies of about 4 KiB. */
const MAX_COOKIE_CHARS = 4_000;
/** Maximum total length of the login cookies of a browser, since many servers reject headers above 8 KiB. */
const MAX_ALL_CHARS = 6_000;
const PREFIX = "login-";

/**
 * Returns the cookies that store a login, encrypted, in the browser that starts it. Nothing is stored on the server, so
 * logins that attackers start take no room from others. The oldest logins of the browser are dropped to make room.
 */
export async function keepLogin(core: IssuerCore, request: Request, login: PendingLogin): Promise<readonly string[]> {
  const { loginMs, maxLoginsPerBrowser } = core.limits;
  const value = await core.seal.close(purposeOf(core), login, core.now() + loginMs);
  if (value.length > MAX_COOKIE_CHARS)
    throw invalidRequest("the request is too long for a cookie: shorten state or redirect_uri");
  const site = siteOf(core.issuer);
  const name = await nameOf(site, login.state);
  const most = { cookies: maxLoginsPerBrowser, chars: MAX_ALL_CHARS };
  return [...makeRoom(site, request, PREFIX, [name, value], most), setCookie(site, name, value, loginMs)];
}

/** Returns the login that was started in this browser with this state; undefined if there is none. */
export async function findLogin(core: IssuerCore, request: Request, state: string): Promise<PendingLogin | undefined> {
  const cookie = cookieOf(request, await nameOf(siteOf(core.issuer), state));
  const login = await core.seal.open<PendingLogin>(purposeOf(core), cookie);
  return login?.state === state ? login : undefined;
}

/** Returns the cookie that deletes a login. */
export async function forgetLogin(core: IssuerCore, { state }: PendingLogin): Promise<string> {
  const site = siteOf(core.issuer);
  return setCookie(site, await nameOf(site, state), "", 0);
}

async function nameOf(site: CookieSite, state: string): Promise<string> {
  return cookieName(site, `${PREFIX}${(await digestOf(state)).slice(0, 16)}`);
}

function purposeOf({ issuer }: IssuerCore): string {
  return `login ${issuer}`;
}
