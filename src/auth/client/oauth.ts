import { discard, type FetchInit } from "../../http/client/send.js";
import { AuthError } from "../../protocol/auth-error.js";
import { oneLine, quoted } from "../../protocol/text.js";
import { withoutSecrets } from "../errors.js";
import { loadOauth4webapi } from "../oauth4webapi.js";
import { NO_CHALLENGE, type TokenChallenge, tokenChallengeOf } from "./challenge.js";
import { AttemptStore, type Callback, parseCallback } from "./code-flow.js";
import type { OAuthOptions } from "./options.js";
import { ServerAuth } from "./server-auth.js";
import { type AuthPlatform, type Settings, toSettings } from "./settings.js";
import type { TokenRecord } from "./store.js";

/** Maximum number of rejected operations that are remembered for one server. */
const MAX_FUTILE = 1000;

/**
 * Authorization of a client. Pass it to `connect` as it is, or spread it among other options. `fetch` adds tokens to
 * requests, obtains them when a server demands them, and renews them.
 */
export interface OAuth {
  readonly fetch: (url: URL | string, init?: RequestInit) => Promise<Response>;
  /** Client capabilities that announce the MCP extension of the grant. */
  readonly capabilities: { readonly extensions?: { readonly [extension: string]: Record<string, never> } };
  /** Completes an authorization whose `authorize` returned undefined, with the response that arrived later. */
  readonly finish: (callback: Callback, options?: { readonly signal?: AbortSignal | undefined }) => Promise<void>;
  /** Deletes the tokens for an MCP server. Revokes them if its authorization server has a revocation endpoint. */
  readonly logout: (server: string | URL, options?: { readonly signal?: AbortSignal | undefined }) => Promise<void>;
}

export function createOAuthWith(options: OAuthOptions, platform: AuthPlatform): OAuth {
  const settings = toSettings("oauth", options, platform);
  const servers = new Map<string, ServerAuth>();
  const authFor = (at: string | URL): ServerAuth => {
    const key = new URL(at);
    key.hash = "";
    const known = servers.get(key.href) ?? new ServerAuth(key, settings);
    servers.set(key.href, known);
    return known;
  };
  const fetchAt = async (auth: ServerAuth, url: URL, init: FetchInit) => {
    auth.users++;
    try {
      return await fetchWith(settings, auth, url, init);
    } finally {
      // Forgets a server that needed no token.
      if (--auth.users === 0 && auth.isBlank) servers.delete(auth.key);
    }
  };
  const extension = options.grant?.extension;
  return {
    fetch: (url, init: FetchInit = {}) => fetchAt(authFor(init.server ?? url), new URL(url), init),
    capabilities: extension === undefined ? {} : { extensions: { [extension]: {} } },
    async finish(callback, { signal } = {}) {
      const params = parseCallback(callback, settings.redirectUrl);
      const attempt = await new AttemptStore(settings.records, settings.now).find(params);
      await authFor(attempt.server).finish(attempt, params, signal);
    },
    logout: (server, { signal } = {}) => authFor(server).logout(signal),
  };
}

/** Retries of one message so far. */
interface Retries {
  refreshed: boolean;
  authorized: boolean;
  stepUps: number;
  nonces: number;
  /** Position in the sequence of authorization runs when the message was last sent. */
  mark: number;
}

async function fetchWith(settings: Settings, auth: ServerAuth, url: URL, init: FetchInit): Promise<Response> {
  const signal = init.signal ?? undefined;
  const retries: Retries = { refreshed: false, authorized: false, stepUps: 0, nonces: 0, mark: 0 };
  let tokens = await waiting(init, () => auth.current(signal));
  for (;;) {
    retries.mark = auth.mark;
    const response = await send(settings, url, init, tokens);
    if (response.status !== 401 && response.status !== 403) return response;
    const challenge = tokenChallengeOf(response);
    if (!isReplayable(init.body)) return response;
    if (response.status === 401) {
      if (wantsNonce(challenge, response) && retries.nonces++ === 0) {
        discard(response);
        continue;
      }
      tokens = await afterUnauthorized(auth, init, tokens, challenge ?? NO_CHALLENGE, response, retries);
    } else {
      if (challenge?.error !== "insufficient_scope") return response;
      tokens = await afterForbidden(settings, auth, init, tokens, challenge, response, retries);
    }
  }
}

/**
 * Returns new tokens after a 401: first by a refresh, if there is a refresh token, then by an authorization. Throws if
 * the MCP server has rejected the tokens of that authorization too.
 */
async function afterUnauthorized(
  auth: ServerAuth,
  init: FetchInit,
  used: TokenRecord | undefined,
  challenge: TokenChallenge,
  response: Response,
  retries: Retries,
): Promise<TokenRecord | undefined> {
  discard(response);
  const refresh = !retries.refreshed && used?.refreshToken !== undefined;
  if (retries.authorized) {
    const issuer = used === undefined ? "" : ` of ${used.issuer}`;
    const what = `The MCP server rejected the new token${issuer}`;
    throw refusal("unauthorized", what, challenge, response, used);
  }
  if (refresh) retries.refreshed = true;
  else retries.authorized = true;
  const { mark } = retries;
  return await waiting(init, () => auth.renew(used, challenge, { refresh, mark, signal: init.signal ?? undefined }));
}

/** Returns tokens with more scope after a 403. Throws if the message may not request more scope (option `stepUp`). */
async function afterForbidden(
  settings: Settings,
  auth: ServerAuth,
  init: FetchInit,
  used: TokenRecord | undefined,
  challenge: TokenChallenge,
  response: Response,
  retries: Retries,
): Promise<TokenRecord | undefined> {
  discard(response);
  const operation = operationOf(init.body);
  const futile = used !== undefined && auth.futile.get(operation) === used.accessToken;
  if (settings.throwsOnScope || futile || retries.stepUps >= settings.maxStepUps) {
    if (used !== undefined && auth.futile.size < MAX_FUTILE) auth.futile.set(operation, used.accessToken);
    const scope = challenge.scope === undefined ? "more scope" : `the scope ${quoted(challenge.scope)}`;
    throw refusal("scope", `The MCP server requires ${scope} for this request`, challenge, response, used);
  }
  retries.stepUps++;
  const { mark } = retries;
  return await waiting(init, () =>
    auth.renew(used, challenge, { refresh: true, mark, signal: init.signal ?? undefined }),
  );
}

function refusal(
  step: "unauthorized" | "scope",
  what: string,
  challenge: TokenChallenge,
  response: Response,
  used: TokenRecord | undefined,
): AuthError {
  const shown = (text: string | undefined) =>
    text === undefined ? undefined : withoutSecrets(oneLine(text), used === undefined ? [] : [used.accessToken]);
  const said = shown(challenge.description);
  return new AuthError(step, said === undefined ? what : `${what}: ${said}`, {
    status: response.status,
    error: shown(challenge.error),
    description: said,
    scope: challenge.scope,
    resourceMetadata: challenge.resourceMetadata,
  });
}

/**
 * Pauses the idle timeout of the call during `work`, because the call then waits for the user or an authorization
 * server, not for the MCP server.
 */
async function waiting<T>({ patience }: FetchInit, work: () => Promise<T>): Promise<T> {
  patience?.pauseIdle();
  try {
    return await work();
  } finally {
    patience?.resumeIdle();
  }
}

function isReplayable(body: unknown): boolean {
  return body === undefined || body === null || typeof body === "string" || body instanceof URLSearchParams;
}

function wantsNonce(challenge: TokenChallenge | undefined, response: Response): boolean {
  return challenge?.scheme === "dpop" && challenge.error === "use_dpop_nonce" && response.headers.has("dpop-nonce");
}

/** Returns the key under which the rejection of a message is remembered: its method, and its name or URI. */
function operationOf(body: unknown): string {
  try {
    const { method, params } = JSON.parse(String(body)) as {
      method?: unknown;
      params?: { name?: unknown; uri?: unknown };
    };
    return JSON.stringify([method, params?.name ?? params?.uri]);
  } catch {
    return "";
  }
}

async function send(settings: Settings, url: URL, init: FetchInit, tokens: TokenRecord | undefined): Promise<Response> {
  if (tokens === undefined) return await settings.fetch(url, init);
  const headers = new Headers(init.headers);
  if (tokens.type === "bearer") {
    headers.set("authorization", `Bearer ${tokens.accessToken}`);
    return await settings.fetch(url, { ...init, headers });
  }
  const dpop = await settings.keys.find(tokens.issuer);
  if (dpop === undefined)
    throw new AuthError("unauthorized", `The store has no DPoP key for the token of ${tokens.issuer}`);
  headers.delete("authorization");
  const { allowInsecureRequests, customFetch, protectedResourceRequest, WWWAuthenticateChallengeError } =
    await loadOauth4webapi();
  try {
    return await protectedResourceRequest(
      tokens.accessToken,
      init.method ?? "GET",
      url,
      headers,
      init.body as string | null,
      {
        DPoP: dpop,
        [allowInsecureRequests]: true,
        [customFetch]: (_: string, { headers: signed }: { headers: Record<string, string> }) =>
          settings.fetch(url, { ...init, headers: signed }),
      },
    );
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.response;
    throw error;
  }
}
