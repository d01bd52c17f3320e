import { readText } from "../../../http/client/read.js";
import { timeoutSignal } from "../../abortable.js";
import { basicCredentials } from "../../client-auth.js";
import type { IssuerCore } from "../core.js";
import type { UpstreamOptions, UpstreamTokens } from "../options.js";

/** Remaining lifetime in milliseconds below which tokens are renewed. */
const MARGIN_MS = 30_000;

/**
 * Sends a request to the provider's token endpoint. Errors contain nothing of the request or of the response's body,
 * because both contain secrets.
 */
export async function requestUpstream(
  core: IssuerCore,
  options: UpstreamOptions,
  fields: Readonly<Record<string, string>>,
): Promise<UpstreamTokens> {
  const { tokenEndpoint, clientId, clientSecret, method = "client_secret_basic", fetch = globalThis.fetch } = options;
  const body = new URLSearchParams(fields);
  const headers: Record<string, string> = { accept: "application/json" };
  const basic = clientSecret !== undefined && method === "client_secret_basic";
  if (basic) headers.authorization = basicCredentials(clientId, clientSecret);
  else body.set("client_id", clientId);
  if (clientSecret !== undefined && !basic) body.set("client_secret", clientSecret);
  const signal = timeoutSignal(core.limits.upstreamMs);
  const response = await fetch(new URL(tokenEndpoint), { method: "POST", body, headers, redirect: "manual", signal });
  const text = await readText(response, core.limits.maxUpstreamBytes, { signal });
  if (response.status !== 200)
    throw new Error(`The upstream token endpoint ${tokenEndpoint} answered with status ${response.status}`);
  return toTokens(text, core.now());
}

/** Stores upstream tokens, encrypted and bound to their grant. */
export async function saveUpstreamTokens(
  core: IssuerCore,
  grantId: string,
  tokens: UpstreamTokens,
  owner: string,
  expiresAt: number,
): Promise<void> {
  const stored: StoredTokens = { tokens, owner, expiresAt };
  const sealed = await core.seal.close(purpose(core, grantId), stored, expiresAt);
  await core.store.put(`upstream-tokens:${grantId}`, sealed, expiresAt, { owner });
}

interface StoredTokens {
  readonly tokens: UpstreamTokens;
  /** User of the tokens. */
  readonly owner: string;
  readonly expiresAt: number;
}

/** Reads the stored upstream tokens of grants, and renews those that are about to expire. */
export class UpstreamAccess {
  readonly #core: IssuerCore;
  readonly #options: UpstreamOptions;
  /**
   * Renewals under way by grant. Only one runs at a time, because the provider's refresh token may be valid for one
   * use.
   */
  readonly #renewals = new Map<string, Promise<UpstreamTokens | undefined>>();

  constructor(core: IssuerCore, options: UpstreamOptions) {
    this.#core = core;
    this.#options = options;
  }

  /** Returns the tokens of a grant; undefined once the grant has ended. */
  async tokensOf(grantId: string): Promise<UpstreamTokens | undefined> {
    const kept = await this.#read(grantId);
    if (kept === undefined || this.#isFresh(kept.tokens)) return kept?.tokens;
    const renewal = this.#renewals.get(grantId) ?? this.#renew(grantId);
    this.#renewals.set(grantId, renewal);
    return await renewal;
  }

  /** Renews the tokens. Reads them again first, because another renewal may have completed in between. */
  async #renew(grantId: string): Promise<UpstreamTokens | undefined> {
    try {
      const kept = await this.#read(grantId);
      const refreshToken = kept?.tokens.refreshToken;
      if (kept === undefined || refreshToken === undefined || this.#isFresh(kept.tokens)) return kept?.tokens;
      const fields = { grant_type: "refresh_token", refresh_token: refreshToken };
      const renewed = await requestUpstream(this.#core, this.#options, fields);
      const tokens = { ...kept.tokens, ...defined(renewed) };
      await saveUpstreamTokens(this.#core, grantId, tokens, kept.owner, kept.expiresAt);
      // The grant may have been revoked during the renewal.
      if (!(await this.#core.tokens.isRevoked(grantId))) return tokens;
      await this.#core.store.delete(`upstream-tokens:${grantId}`);
      return undefined;
    } finally {
      this.#renewals.delete(grantId);
    }
  }

  async #read(grantId: string): Promise<StoredTokens | undefined> {
    const core = this.#core;
    if (await core.tokens.isRevoked(grantId)) return undefined;
    const sealed = (await core.store.get(`upstream-tokens:${grantId}`)) as string | undefined;
    return await core.seal.open<StoredTokens>(purpose(core, grantId), sealed);
  }

  #isFresh({ expiresAt, refreshToken }: UpstreamTokens): boolean {
    const lasts = expiresAt === undefined || this.#core.now() < expiresAt - MARGIN_MS;
    return lasts || refreshToken === undefined;
  }
}

/** Returns the renewed members only, so that the others keep their values. The expiry is always replaced. */
function defined({ accessToken, refreshToken, idToken, scope, expiresAt }: UpstreamTokens): UpstreamTokens {
  return {
    accessToken,
    expiresAt,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
    ...(scope === undefined ? {} : { scope }),
  };
}

function toTokens(text: string, now: number): UpstreamTokens {
  const json = parsed(text);
  const string = (name: string) => (typeof json[name] === "string" && json[name] !== "" ? json[name] : undefined);
  const accessToken = string("access_token");
  if (accessToken === undefined) throw new Error("The upstream token endpoint sent no access_token");
  const seconds = Number(json.expires_in);
  const expiresAt = Number.isFinite(seconds) && seconds > 0 ? now + seconds * 1000 : undefined;
  const refreshToken = string("refresh_token");
  return { accessToken, refreshToken, idToken: string("id_token"), scope: string("scope"), expiresAt };
}

function parsed(text: string): { readonly [member: string]: unknown } {
  try {
    return Object(JSON.parse(text)) as { [member: string]: unknown };
  } catch {
    throw new Error("The upstream token endpoint did not answer with JSON");
  }
}

function purpose({ issuer }: IssuerCore, grantId: string): string {
  return `upstream-tokens ${issuer} ${grantId}`;
}
