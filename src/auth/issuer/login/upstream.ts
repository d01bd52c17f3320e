import { DefinitionError } from "../../../protocol/errors.js";
import { dropOldest } from "../../../protocol/oldest.js";
import { digestOf, randomToken } from "../../crypto.js";
import { codeUri, problemUri } from "../authorization-response.js";
import type { IssuerCore, Login } from "../core.js";
import { createCode } from "../grants/code.js";
import { named, Params, redirect } from "../http.js";
import type { UpstreamOptions } from "../options.js";
import { invalidRequest, OAuthProblem, toProblem } from "../problem.js";
import { isSecureUri } from "../redirect-uri.js";
import { findLogin, forgetLogin, keepLogin, type PendingLogin } from "./pending.js";
import { requestUpstream, saveUpstreamTokens } from "./upstream-tokens.js";

/**
 * Creates a login by an upstream provider, at which this issuer is the only client. The provider cannot distinguish the
 * clients of the issuer, and may reuse a consent that was given for another one. So each client is approved here before
 * the browser is redirected to the provider.
 */
export function createUpstreamLogin(options: UpstreamOptions): Login {
  for (const name of ["authorizationEndpoint", "tokenEndpoint"] as const) {
    if (!isSecureUri(options[name]))
      throw new DefinitionError(
        `createIssuer: upstream.${name} must be a normalized https URL, got ${JSON.stringify(options[name])}`,
      );
  }
  const returned = new Returned();
  return {
    redirectTargets: [options.authorizationEndpoint],
    findUser: async () => undefined,
    async proceed(core, request, asked) {
      await core.clients.hold(asked.clientId);
      const login: PendingLogin = { asked, state: randomToken(), verifier: randomToken() };
      return redirect(request, await loginUri(core, options, login), await keepLogin(core, request, login));
    },
    /**
     * Handles the browser that returns from the provider. Accepts each login once, with the state that was given to
     * this browser.
     */
    async callback(core, request) {
      const params = new Params(new URL(request.url).searchParams);
      const repeated = params.repeated();
      if (repeated !== undefined) throw invalidRequest(`${named(repeated)} is repeated`);
      const login = await findLogin(core, request, params.get("state") ?? "");
      if (login === undefined)
        throw invalidRequest(
          "this login was not started in this browser, or has expired; return to the app and start again",
        );
      returned.add(login.state);
      const location = await answerOf(core, options, request, params, login);
      return redirect(request, location, [await forgetLogin(core, login)]);
    },
  };
}

const MAX_RETURNED = 10_000;

/** Logins that have returned to this process. A browser that repeats one causes no further request to the provider. */
class Returned {
  readonly #states = new Set<string>();

  add(state: string): void {
    if (this.#states.has(state)) throw finishedBefore();
    this.#states.add(state);
    dropOldest(this.#states, MAX_RETURNED);
  }
}

function finishedBefore(): OAuthProblem {
  return invalidRequest("this login has already been completed; return to the app and start again");
}

/** Returns the redirect URI of the client with a code or an error. */
async function answerOf(
  core: IssuerCore,
  options: UpstreamOptions,
  request: Request,
  params: Params,
  login: PendingLogin,
): Promise<string> {
  const { asked, verifier } = login;
  try {
    const code = assertAnswer(params, options);
    const tokens = await requestUpstream(core, options, {
      grant_type: "authorization_code",
      code,
      redirect_uri: callbackUri(core),
      code_verifier: verifier,
    });
    const user = await options.user(tokens, { signal: request.signal });
    await assertFirst(core, login, user.id);
    const grantId = randomToken();
    await saveUpstreamTokens(core, grantId, tokens, user.id, core.now() + core.lifetimes.grantMs);
    return codeUri(core, asked, await createCode(core, asked, user.id, grantId));
  } catch (error) {
    return problemUri(core, asked, toProblem(core, error));
  }
}

/**
 * Throws if the login has already yielded a code in any process. The mark is written only once the user is known, so
 * that requests without a login cannot fill the store.
 */
async function assertFirst({ store, now, limits }: IssuerCore, { state }: PendingLogin, owner: string): Promise<void> {
  const mark = `returned:${await digestOf(state)}`;
  if (await store.add(mark, true, now() + limits.loginMs, { owner })) return;
  throw finishedBefore();
}

/** Returns the code of the provider's response. Throws if the response is an error or comes from another provider. */
function assertAnswer(params: Params, { issuer }: UpstreamOptions): string {
  const iss = params.get("iss");
  if (issuer !== undefined && iss !== undefined && iss !== issuer) {
    throw new OAuthProblem("access_denied", "the response came from another identity provider");
  }
  if (params.get("error") !== undefined)
    throw new OAuthProblem("access_denied", "the identity provider rejected the login");
  const code = params.get("code");
  if (code === undefined) throw new OAuthProblem("access_denied", "the identity provider sent no code");
  return code;
}

async function loginUri(
  core: IssuerCore,
  options: UpstreamOptions,
  { state, verifier }: PendingLogin,
): Promise<string> {
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
