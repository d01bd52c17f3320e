import { quoted } from "../../../protocol/text.js";
import { problemUri } from "../authorization-response.js";
import { CODE_GRANT, type IssuerClient } from "../clients/client.js";
import type { IssuerCore } from "../core.js";
import { named, Params, readForm, redirect } from "../http.js";
import type { ConsentQuestion } from "../options.js";
import { type ConsentView, consentBody, consentTitle } from "../pages/consent.js";
import { leavingPage, page } from "../pages/page.js";
import { invalidRequest, OAuthProblem, toProblem } from "../problem.js";
import { matchesRedirectUri } from "../redirect-uri.js";
import { requestedResources, requestedScopes } from "../rules.js";
import type { AuthorizationRequest } from "../store/records.js";

/**
 * Handles the authorization endpoint. Errors of the client id or the redirect URI are shown to the user only. All other
 * errors are sent to the client, by a redirect or by a link on a page.
 */
export async function authorize(core: IssuerCore, request: Request): Promise<Response> {
  const params =
    request.method === "POST" ? await readForm(request, core.limits) : new Params(new URL(request.url).searchParams);
  const target = await findTarget(core, params);
  try {
    return await askUser(core, request, readAuthorizationRequest(core, params, target), target, params.get("prompt"));
  } catch (error) {
    return await refuse(core, request, target, toProblem(core, error));
  }
}

/** Shows the consent page, unless the user or the option `approve` has already approved the request. */
async function askUser(
  core: IssuerCore,
  request: Request,
  asked: AuthorizationRequest,
  { client, redirectUri }: AuthorizeTarget,
  prompt: string | undefined,
): Promise<Response> {
  const user = await core.login.findUser(core, request, asked, client);
  if (user instanceof Response) return user;
  const question = { client, user, redirectUri, scopes: asked.scopes, resources: asked.audience };
  const remembered = prompt !== "consent" && (await core.consents.covers(request, asked, user?.id));
  if (remembered || (await core.approves(question))) return await core.login.proceed(core, request, asked, user);
  return await consentPage(core, request, asked, question);
}

async function consentPage(
  core: IssuerCore,
  request: Request,
  asked: AuthorizationRequest,
  question: ConsentQuestion,
): Promise<Response> {
  // A logged-in user may take `loginMs` to answer, so the client must not be evicted before.
  if (question.user !== undefined) await core.clients.hold(asked.clientId);
  const browser = await core.consents.browser(request);
  const view: ConsentView = {
    ...question,
    server: core.name,
    descriptions: core.scopes,
    action: new URL(`${core.base}/consent`).pathname,
    form: await core.consents.sealForm(asked, question.user?.id, browser.id),
  };
  return await page({
    title: consentTitle(view),
    body: consentBody(view),
    cookies: browser.cookie === undefined ? [] : [browser.cookie],
    formTargets: formTargets(core, asked.redirectUri),
  });
}

/**
 * Returns the sources of `form-action`. Browsers apply it to all redirects that follow a form too, and a client may
 * redirect to other URLs. So all https URLs are allowed, and of http URLs only those that are expected.
 */
function formTargets({ login }: IssuerCore, redirectUri: string): readonly string[] {
  const plain = [redirectUri, ...login.redirectTargets]
    .map((uri) => new URL(uri))
    .filter((uri) => uri.protocol === "http:");
  // A content security policy cannot name an IPv6 address.
  return ["https:", ...plain.map(({ hostname, origin }) => (hostname.startsWith("[") ? "http:" : origin))];
}

/**
 * Sends an error to the client: by a redirect if the client is trusted, otherwise by a link. By default a client is
 * trusted if it is configured, or if it was approved in this browser.
 */
async function refuse(
  core: IssuerCore,
  request: Request,
  target: AuthorizeTarget,
  problem: OAuthProblem,
): Promise<Response> {
  const { client, redirectUri } = target;
  const location = problemUri(core, target, problem);
  const trusted =
    core.options.trustRedirect?.(client, redirectUri) ??
    (client.source === "configured" || (await core.consents.knows(request, client.id, redirectUri)));
  return trusted ? redirect(request, location) : await leavingPage(core.name, problem, location);
}

/** Client, redirect URI and state of an authorization response. */
export interface AuthorizeTarget {
  readonly client: IssuerClient;
  readonly redirectUri: string;
  readonly redirectSent: boolean;
  readonly state: string | undefined;
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** Parameters that must be valid before an error may be sent to the client. */
const TARGET_PARAMS = ["client_id", "redirect_uri"];

/**
 * Returns the client and its redirect URI. Errors must not be sent by redirect, because the redirect URI may belong to
 * anybody.
 */
export async function findTarget(core: IssuerCore, params: Params): Promise<AuthorizeTarget> {
  const repeated = params.repeated(TARGET_PARAMS);
  if (repeated !== undefined) throw invalidRequest(`${repeated} is repeated`);
  const clientId = params.need("client_id");
  const client = await core.clients.find(clientId);
  if (client === undefined) throw new OAuthProblem("invalid_client", `the client_id ${quoted(clientId)} is unknown`);
  const stated = params.get("redirect_uri");
  const redirectUri = stated ?? onlyOne(client.redirectUris);
  if (!client.redirectUris.some((registered) => matchesRedirectUri(registered, redirectUri))) {
    throw invalidRequest(`redirect_uri ${quoted(redirectUri)} is not registered for the app`);
  }
  return { client, redirectUri, redirectSent: stated !== undefined, state: params.get("state") };
}

function onlyOne(uris: readonly string[]): string {
  const [only, ...others] = uris;
  if (only === undefined || others.length > 0) throw invalidRequest("redirect_uri is required for the app");
  return only;
}

/** Parses an authorization request. Throws errors that may be sent to the client. */
export function readAuthorizationRequest(
  core: IssuerCore,
  params: Params,
  target: AuthorizeTarget,
): AuthorizationRequest {
  const { client, redirectUri, redirectSent, state } = target;
  const repeated = params.repeated();
  if (repeated !== undefined) throw invalidRequest(`${named(repeated)} is repeated`);
  if (params.need("response_type") !== "code") {
    throw new OAuthProblem("unsupported_response_type", "response_type must be code");
  }
  if (!client.grantTypes.includes(CODE_GRANT)) {
    throw new OAuthProblem("unauthorized_client", "the client is not registered for authorization_code");
  }
  const challenge = params.need("code_challenge");
  if (params.get("code_challenge_method") !== "S256") throw invalidRequest("code_challenge_method must be S256");
  if (!CHALLENGE.test(challenge)) throw invalidRequest("code_challenge must be 43 characters of base64url");
  const scopes = requestedScopes(params.get("scope"), {
    supported: [...core.scopes.keys()],
    defaults: core.defaultScopes,
    registered: client.scopes,
  });
  const audience = requestedResources(params.getAll("resource"), core.resources, core.defaultResource);
  return { clientId: client.id, redirectUri, redirectSent, state, scopes, audience, challenge };
}
