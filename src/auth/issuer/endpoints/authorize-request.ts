import { CODE_GRANT, type IssuerClient } from "../clients/client.js";
import type { IssuerCore } from "../core.js";
import type { Params } from "../forms.js";
import { invalidRequest, OAuthProblem } from "../problem.js";
import { matchesRedirectUri } from "../redirect-uri.js";
import { requestedResources } from "../resource-rules.js";
import { requestedScopes } from "../rules.js";
import type { Asked } from "../store/records.js";

/** Who is answered, and where. */
export interface AuthorizeTarget {
  readonly client: IssuerClient;
  readonly redirectUri: string;
  readonly redirectSent: boolean;
  readonly state: string | undefined;
}

const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
/** What has to be known before an error may go to the client. */
const TARGET_PARAMS = ["client_id", "redirect_uri"];

/** The client and its redirect URI. What is wrong with them must not be told by redirect: the address may be anybody's. */
export async function findTarget(core: IssuerCore, params: Params): Promise<AuthorizeTarget> {
  const repeated = params.repeated(TARGET_PARAMS);
  if (repeated !== undefined) throw invalidRequest(`${repeated} is there twice`);
  const client = await core.clients.find(params.need("client_id"));
  if (client === undefined) throw new OAuthProblem("invalid_client", "the app is not known here");
  const stated = params.get("redirect_uri");
  const redirectUri = stated ?? onlyOne(client.redirectUris);
  if (!client.redirectUris.some((registered) => matchesRedirectUri(registered, redirectUri))) {
    throw invalidRequest("redirect_uri is none that the app is registered with");
  }
  return { client, redirectUri, redirectSent: stated !== undefined, state: params.get("state") };
}

function onlyOne(uris: readonly string[]): string {
  const [only, ...others] = uris;
  if (only === undefined || others.length > 0) throw invalidRequest("redirect_uri is missing");
  return only;
}

/** What the request asks for. Throws what goes back to the client. */
export function assertAsked(core: IssuerCore, params: Params, target: AuthorizeTarget): Asked {
  const { client, redirectUri, redirectSent, state } = target;
  const repeated = params.repeated();
  if (repeated !== undefined) throw invalidRequest("a parameter is there twice");
  if (params.need("response_type") !== "code") {
    throw new OAuthProblem("unsupported_response_type", "response_type has to be code");
  }
  if (!client.grantTypes.includes(CODE_GRANT)) {
    throw new OAuthProblem("unauthorized_client", "the client is not registered for codes");
  }
  const challenge = params.need("code_challenge");
  if (params.get("code_challenge_method") !== "S256") throw invalidRequest("code_challenge_method has to be S256");
  if (!CHALLENGE.test(challenge)) throw invalidRequest("code_challenge has to be 43 characters of base64url");
  const scopes = requestedScopes(params.get("scope"), {
    supported: [...core.scopes.keys()],
    defaults: core.defaultScopes,
    registered: client.scopes,
  });
  const audience = requestedResources(params.getAll("resource"), core.resources, core.defaultResource);
  return { clientId: client.id, redirectUri, redirectSent, state, scopes, audience, challenge };
}
