import type { AuthorizationServer, TokenEndpointRequestOptions } from "oauth4webapi";
import { AuthError, type AuthStep } from "../../protocol/auth-error.js";
import { oneLine, quoted } from "../../protocol/text.js";
import { toClientAuth } from "../client-auth.js";
import { formatOAuthError, readOAuthResponse, secretsOf } from "../errors.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import { loadOauth4webapi } from "../oauth4webapi.js";
import { isHeaderSafe } from "./bearer.js";
import { type Discovery, endpointOf } from "./discover.js";
import type { DpopHandle } from "./dpop.js";
import type { Identity } from "./identify.js";
import type { TokenRecord } from "./store.js";

/** Parties and settings of a token request. */
export interface TokenTarget {
  readonly http: OAuthHttp;
  readonly discovery: Discovery;
  readonly identity: Identity;
  readonly dpop: DpopHandle | undefined;
  /** True if a token that is not bound to the DPoP key is rejected. */
  readonly requiresDpop: boolean;
  /** Additional parameters from the options. */
  readonly more: Readonly<Record<string, string>>;
  readonly run: AuthRun;
}

/** Sends a token request. Parameters with the value undefined are left out. The resource, if any, is always added. */
export async function requestTokens(
  target: TokenTarget,
  grantType: string,
  parameters: Readonly<Record<string, string | undefined>>,
  step: AuthStep = "token",
): Promise<TokenRecord> {
  const { discovery, identity, run } = target;
  endpointOf(discovery, "token_endpoint", run);
  const body = new URLSearchParams(target.more);
  for (const [name, value] of Object.entries({ ...parameters, resource: discovery.resource })) {
    if (value !== undefined) body.set(name, value);
  }
  const { response, secrets } = await send(target, grantType, body, step);
  const { json, error } = await readOAuthResponse(response, secrets);
  if (error !== undefined) {
    throw new AuthError(step, `${discovery.issuer} rejected the token request: ${formatOAuthError(error)}`, {
      ...error,
      tried: run.tried,
      status: response.status,
    });
  }
  const type = oneLine(response.headers.get("content-type") ?? "none");
  if (json === undefined) throw unusable(discovery, `it is not a JSON object (content type: ${type})`, run);
  const tokens = readTokens(json, discovery, identity, parameters.scope, run);
  if (tokens.type === "bearer" && target.requiresDpop) {
    throw unusable(discovery, "its token is not bound to the DPoP key (option dpop.required)", run);
  }
  if (tokens.type === "bearer" || target.dpop !== undefined) return tokens;
  throw unusable(discovery, "its token_type is DPoP, but the client has no DPoP key (option dpop)", run);
}

/** Sends the request. If the server demands a nonce in the DPoP proof, sends it once more with the nonce. */
async function send(
  { http, discovery, identity, dpop, run }: TokenTarget,
  grantType: string,
  body: URLSearchParams,
  step: AuthStep,
): Promise<{ response: Response; secrets: readonly string[] }> {
  const oauth = await loadOauth4webapi();
  const secrets = identity.secret === undefined ? [] : [identity.secret];
  const metadata = discovery.metadata as AuthorizationServer;
  const authentication = await toClientAuth(identity, discovery.metadata, run.signal);
  const client = { client_id: identity.clientId ?? "none" };
  const options: TokenEndpointRequestOptions = {
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: RequestInit) => {
      secrets.push(...secretsOf(init.body, init.headers));
      return http.post(new URL(url), init, run, step);
    },
    ...(dpop === undefined ? {} : { DPoP: dpop }),
  };
  const request = () => oauth.genericTokenEndpointRequest(metadata, client, authentication, grantType, body, options);
  const response = await request();
  if (dpop === undefined || response.ok || !response.headers.has("dpop-nonce")) return { response, secrets };
  const { error } = await readOAuthResponse(response.clone());
  return { response: error?.error === "use_dpop_nonce" ? await request() : response, secrets };
}

function unusable({ issuer }: Discovery, why: string, { tried }: AuthRun): AuthError {
  return new AuthError("token", `The token response of ${issuer} is not valid: ${why}`, { tried });
}

function readTokens(
  json: { readonly [member: string]: unknown },
  discovery: Discovery,
  identity: Identity,
  requested: string | undefined,
  run: AuthRun,
): TokenRecord {
  const fail = (why: string) => unusable(discovery, why, run);
  const { access_token: accessToken, refresh_token: refreshToken, scope } = json;
  if (typeof accessToken !== "string" || accessToken === "") throw fail("it has no access_token");
  if (!isHeaderSafe(accessToken)) throw fail("its access_token contains characters that a header cannot carry");
  const type = String(json.token_type ?? "").toLowerCase();
  if (type !== "bearer" && type !== "dpop") throw fail(`its token_type must be Bearer or DPoP, got ${quoted(type)}`);
  const seconds = Number.parseFloat(String(json.expires_in ?? ""));
  const obtainedAt = run.now();
  return {
    issuer: discovery.issuer,
    clientId: identity.clientId,
    accessToken,
    type,
    refreshToken: typeof refreshToken === "string" && refreshToken !== "" ? refreshToken : undefined,
    scope: typeof scope === "string" && scope !== "" ? scope : requested,
    obtainedAt,
    expiresAt: Number.isFinite(seconds) ? obtainedAt + seconds * 1000 : undefined,
  };
}

/**
 * Revokes the refresh token or, without one, the access token. With a refresh token, authorization servers should
 * revoke its access tokens too (RFC 7009).
 */
export async function revokeTokens(
  http: OAuthHttp,
  discovery: Discovery,
  identity: Identity,
  held: TokenRecord,
  run: AuthRun,
): Promise<void> {
  endpointOf(discovery, "revocation_endpoint", run);
  const oauth = await loadOauth4webapi();
  const authentication = await toClientAuth(identity, discovery.metadata, run.signal);
  const hint = held.refreshToken === undefined ? "access_token" : "refresh_token";
  const response = await oauth.revocationRequest(
    discovery.metadata as AuthorizationServer,
    { client_id: identity.clientId ?? "none" },
    authentication,
    held.refreshToken ?? held.accessToken,
    {
      [oauth.allowInsecureRequests]: true,
      [oauth.customFetch]: (url: string, init: RequestInit) => http.post(new URL(url), init, run, "revocation"),
      additionalParameters: { token_type_hint: hint },
    },
  );
  if (response.ok) return;
  throw new AuthError("revocation", `${discovery.issuer} did not revoke the tokens: status ${response.status}`, {
    status: response.status,
    tried: run.tried,
  });
}
