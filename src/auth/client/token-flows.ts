import { AuthError, type AuthStep } from "../../protocol/auth-error.js";
import { McpError } from "../../protocol/errors.js";
import { messageOf, quoted } from "../../protocol/text.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import { grantedScope, withOfflineAccess } from "../scopes.js";
import { type Attempt, AttemptStore, type Callback, parseCallback, readCallback, startAttempt } from "./code-flow.js";
import { type Discovery, endpointOf } from "./discover.js";
import { wantsDpop } from "./dpop.js";
import type { Grant } from "./grants.js";
import { type Identity, identify, recall } from "./identify.js";
import type { Settings } from "./settings.js";
import type { TokenRecord } from "./store.js";
import { requestTokens, revokeTokens, type TokenTarget } from "./token-request.js";

const UNKNOWN_CLIENT = ["invalid_client", "unauthorized_client"];

/**
 * True if the error may mean that the authorization server no longer knows the client (`invalid_client`,
 * `unauthorized_client`).
 */
export function isUnknownClient({ error }: AuthError): boolean {
  return error !== undefined && UNKNOWN_CLIENT.includes(error);
}

/** Obtains tokens for one MCP server. Storing them is up to the caller. */
export class TokenFlows {
  readonly #server: string;
  readonly #settings: Settings;
  readonly #http: OAuthHttp;
  readonly #attempts: AttemptStore;

  constructor(server: string, settings: Settings, http: OAuthHttp) {
    this.#server = server;
    this.#settings = settings;
    this.#http = http;
    this.#attempts = new AttemptStore(settings.records, settings.now);
  }

  /**
   * Obtains tokens by the option `grant`, or else by an authorization of the user. If the authorization server no
   * longer knows a client that registered itself, the client registers again, once.
   */
  async obtain(discovery: Discovery, scope: string | undefined, run: AuthRun): Promise<TokenRecord> {
    const { records, identity: options, grant } = this.#settings;
    for (let again = false; ; again = true) {
      const identity = await identify(this.#http, records, discovery, options, run);
      try {
        return await (grant === undefined
          ? this.#askUser(discovery, identity, scope, run)
          : this.#useGrant(grant, discovery, identity, scope, run));
      } catch (error) {
        const forgotten = error instanceof AuthError && error.step === "token" && isUnknownClient(error);
        if (again || !forgotten || !identity.registered) throw error;
        await records.dropClient(discovery.issuer);
      }
    }
  }

  /** Completes an attempt that was started earlier. */
  async finish(attempt: Attempt, params: URLSearchParams, run: AuthRun): Promise<TokenRecord> {
    const identity = await this.recall(attempt.discovery, run);
    try {
      return await this.#redeem(attempt, identity, params, run);
    } catch (error) {
      // The authorization server has rejected the request, so no other response follows.
      if (error instanceof AuthError && error.step === "authorize") await this.#attempts.drop(attempt);
      throw error;
    }
  }

  async refresh(discovery: Discovery, stored: TokenRecord, identity: Identity, run: AuthRun): Promise<TokenRecord> {
    assertOwnTokens(discovery, stored);
    const target = await this.#target(discovery, identity, run);
    const parameters = { refresh_token: stored.refreshToken };
    const tokens = await requestTokens(target, "refresh_token", parameters, "refresh");
    const { refreshToken = stored.refreshToken, scope = stored.scope } = tokens;
    return { ...tokens, refreshToken, scope };
  }

  async revoke(discovery: Discovery, held: TokenRecord, run: AuthRun): Promise<void> {
    assertOwnTokens(discovery, held);
    const identity = await this.recall(discovery, run);
    if (identity !== undefined) await revokeTokens(this.#http, discovery, identity, held, run);
  }

  /** Returns the client's identity without registering. */
  recall(discovery: Discovery, run: AuthRun): Promise<Identity | undefined> {
    return recall(this.#settings.records, discovery, this.#settings.identity, run, false);
  }

  async #useGrant(
    grant: Grant,
    discovery: Discovery,
    identity: Identity,
    scope: string | undefined,
    run: AuthRun,
  ): Promise<TokenRecord> {
    if (grant.bound === true && this.#settings.discoverOptions.issuer !== undefined) assertOwnEndpoint(discovery, run);
    const { issuer, metadata, resource } = discovery;
    const post = (url: URL, form: URLSearchParams, headers: Readonly<Record<string, string>>) =>
      this.#http.post(url, { body: form, headers }, run, "token");
    const target = { issuer, metadata, resource, scope, signal: run.signal, post };
    const { type, parameters } = await withStepError(() => grant.request(target), run, "token", "The grant failed");
    return await requestTokens(await this.#target(discovery, identity, run), type, { ...parameters, scope });
  }

  async #askUser(
    discovery: Discovery,
    identity: Identity,
    asked: string | undefined,
    run: AuthRun,
  ): Promise<TokenRecord> {
    const { authorize, redirectUrl, refreshes, parameters } = this.#settings;
    if (authorize === undefined || redirectUrl === undefined) {
      throw new AuthError(
        "configuration",
        "The user must authorize the client: set the options authorize and redirectUrl",
      );
    }
    const scope = refreshes ? withOfflineAccess(asked, discovery.metadata.scopes_supported) : asked;
    const { attempt, url } = await startAttempt(
      this.#server,
      discovery,
      identity,
      redirectUrl,
      scope,
      run.now(),
      parameters,
    );
    await this.#attempts.save(attempt);
    let callback: Callback | undefined;
    try {
      const ask = async () => await authorize(url, { signal: run.signal });
      callback = await withStepError(ask, run, "authorize", "authorize() failed");
      if (callback !== undefined) {
        return await this.#redeem(attempt, identity, parseCallback(callback, redirectUrl), run);
      }
    } catch (error) {
      await this.#attempts.drop(attempt);
      throw error;
    }
    throw new AuthError(
      "redirected",
      "The user was redirected to the authorization server; pass the response to finish()",
      {
        tried: run.tried,
      },
    );
  }

  async #redeem(
    attempt: Attempt,
    identity: Identity | undefined,
    params: URLSearchParams,
    run: AuthRun,
  ): Promise<TokenRecord> {
    const { discovery, redirectUrl, verifier, scope } = attempt;
    const code = readCallback(params, attempt);
    if (identity === undefined || identity.clientId !== attempt.clientId) {
      throw new AuthError(
        "callback",
        `The authorization was started with the client id ${quoted(attempt.clientId)}, which is no longer in use; authorize again`,
      );
    }
    // The code counts as used from here on, even if the token request fails.
    await this.#attempts.drop(attempt);
    const target = await this.#target(discovery, identity, run);
    const parameters = { code, redirect_uri: redirectUrl, code_verifier: verifier };
    const tokens = await requestTokens(target, "authorization_code", parameters);
    return { ...tokens, scope: grantedScope(tokens.scope, scope) };
  }

  async #target(discovery: Discovery, identity: Identity, run: AuthRun): Promise<TokenTarget> {
    const { keys, dpop: options, parameters: more } = this.#settings;
    const dpop = wantsDpop(discovery, options) ? await keys.findOrCreate(discovery.issuer, run.signal) : undefined;
    return { http: this.#http, discovery, identity, dpop, requiresDpop: options?.required === true, more, run };
  }
}

/**
 * Calls a function from the options. Wraps its error in an `AuthError` of the step. Errors of the SDK, and any error
 * after an abort, are rethrown unchanged.
 */
async function withStepError<T>(work: () => Promise<T>, run: AuthRun, step: AuthStep, what: string): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (run.signal.aborted || cause instanceof McpError) throw cause;
    throw new AuthError(step, `${what}: ${messageOf(cause)}`, { tried: run.tried, cause });
  }
}

/** Throws unless the tokens come from this authorization server. They must not be sent to another one. */
function assertOwnTokens({ issuer }: Discovery, tokens: TokenRecord): void {
  if (tokens.issuer === issuer) return;
  throw new AuthError("issuer", `The tokens were issued by ${tokens.issuer}, not by ${issuer}`);
}

/** Throws unless the token endpoint is at the issuer's origin, so that an assertion is sent nowhere else. */
function assertOwnEndpoint(discovery: Discovery, run: AuthRun): void {
  const { issuer } = discovery;
  const { href, origin } = endpointOf(discovery, "token_endpoint", run);
  if (origin === new URL(issuer).origin) return;
  throw new AuthError("configuration", `The token endpoint of ${issuer} must be at the issuer's origin, got ${href}`);
}
