import { DefinitionError } from "../../../protocol/errors.js";
import { digestOf, randomToken } from "../../crypto.js";
import { problemUri, redirectWithCode } from "../authorization-response.js";
import type { IssuerCore, Login } from "../core.js";
import { createCode } from "../grants/code.js";
import { Params, redirect } from "../http.js";
import type { UpstreamOptions } from "../options.js";
import { invalidRequest, OAuthProblem, toProblem } from "../problem.js";
import { isSecureUri } from "../redirect-uri.js";
import type { AuthorizationRequest } from "../store/records.js";
import { requestUpstream, saveUpstreamTokens } from "./upstream-tokens.js";

/** A login that is under way at the provider, kept under the digest of its state. */
interface Pending {
  readonly asked: AuthorizationRequest;
  /** The browser it began in, as a digest. */
  readonly browser: string;
  readonly verifier: string;
}

const PENDING_MS = 600_000;

/**
 * Leaves the login to a provider that knows this issuer as its only client. Since it cannot tell the clients behind it
 * apart, and may remember a consent that was for another one, each client is approved here before the browser goes there.
 */
export function createUpstreamLogin(options: UpstreamOptions): Login {
  for (const endpoint of [options.authorizationEndpoint, options.tokenEndpoint]) {
    if (!isSecureUri(endpoint)) throw new DefinitionError(`upstream: ${JSON.stringify(endpoint)} is not https`);
  }
  return {
    redirectTargets: [options.authorizationEndpoint],
    findUser: async () => undefined,
    async proceed(core, request, asked) {
      const browser = await core.consents.browser(request);
      const state = randomToken();
      const verifier = randomToken();
      const pending: Pending = { asked, browser: await digestOf(browser.id), verifier };
      await core.store.put(`upstream:${await digestOf(state)}`, pending, core.now() + PENDING_MS);
      const cookies = browser.cookie === undefined ? [] : [browser.cookie];
      return redirect(request, await loginUri(core, options, state, verifier), cookies);
    },
  };
}

/** Where the provider sends the browser back to: once, with the state that was given to this browser. */
export async function callback(core: IssuerCore, request: Request): Promise<Response> {
  const options = core.options.upstream as UpstreamOptions;
  const params = new Params(new URL(request.url).searchParams);
  if (params.repeated() !== undefined) throw invalidRequest("a parameter is there twice");
  const { asked, verifier } = await takePending(core, request, params.get("state"));
  try {
    const code = assertAnswer(params, options);
    const tokens = await requestUpstream(core, options, {
      grant_type: "authorization_code",
      code,
      redirect_uri: callbackUri(core),
      code_verifier: verifier,
    });
    const user = await options.user(tokens, { signal: request.signal });
    const grantId = randomToken();
    await saveUpstreamTokens(core, grantId, tokens, core.now() + core.lifetimes.grantMs);
    return redirectWithCode(core, request, asked, await createCode(core, asked, user.id, grantId));
  } catch (error) {
    return redirect(request, problemUri(core, asked, toProblem(core, error)));
  }
}

async function takePending(core: IssuerCore, request: Request, state: string | undefined): Promise<Pending> {
  const digest = await digestOf(state ?? "");
  const pending = (await core.store.get(`upstream:${digest}`)) as Pending | undefined;
  if (pending === undefined) throw invalidRequest("this login was not begun here, or too long ago");
  const browser = await core.consents.browserOf(request);
  if (browser === undefined || (await digestOf(browser)) !== pending.browser) {
    throw new OAuthProblem("invalid_request", "this login was begun in another browser", { status: 403 });
  }
  if (await core.store.add(`returned:${digest}`, true, core.now() + PENDING_MS)) return pending;
  throw invalidRequest("this login was finished before");
}

/** The code. Throws what the client is told instead. */
function assertAnswer(params: Params, { issuer }: UpstreamOptions): string {
  const iss = params.get("iss");
  if (issuer !== undefined && iss !== undefined && iss !== issuer) {
    throw new OAuthProblem("access_denied", "the answer came from another login provider");
  }
  if (params.get("error") !== undefined) throw new OAuthProblem("access_denied", "the login was not completed");
  const code = params.get("code");
  if (code === undefined) throw new OAuthProblem("access_denied", "the login provider gave no code");
  return code;
}

async function loginUri(core: IssuerCore, options: UpstreamOptions, state: string, verifier: string): Promise<string> {
  const url = new URL(options.authorizationEndpoint);
  const params = {
    ...options.params,
    response_type: "code",
    client_id: options.clientId,
    redirect_uri: callbackUri(core),
    scope: options.scope,
    state,
    code_challenge: await digestOf(verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(params)) if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}

function callbackUri({ base }: IssuerCore): string {
  return `${base}/callback`;
}
