import { quoted } from "../../../protocol/text.js";
import { authenticateClient } from "../clients/authentication.js";
import type { IssuerClient } from "../clients/client.js";
import { type IssuerCore, type IssuerExtension, type TokenRequest, useUp } from "../core.js";
import { createRefreshToken } from "../grants/refresh.js";
import { json, NOT_STORED, type Params, readStrictForm } from "../http.js";
import { OAuthProblem } from "../problem.js";
import type { Granted } from "../store/records.js";

/** Handles the token endpoint. */
export async function token(core: IssuerCore, request: Request): Promise<Response> {
  const form = await readStrictForm(request, core.limits);
  const grantType = form.need("grant_type");
  const handler = core.grants.get(grantType);
  if (handler === undefined)
    throw new OAuthProblem("unsupported_grant_type", `grant_type ${quoted(grantType)} is not supported`);
  const anonymous = anonymousOf(core, request, form, grantType);
  const { client, uses } =
    anonymous === undefined ? await authenticateClient(core, request, form) : { client: anonymous, uses: [] };
  if (!client.grantTypes.includes(grantType)) {
    throw new OAuthProblem("unauthorized_client", `the client is not registered for the grant_type ${grantType}`);
  }
  const bound = await bindingOf(core, request, client.dpopBound === true);
  const asked: TokenRequest = { form, client, binding: bound?.binding };
  const { subject, redeem } = await handler(core, asked);
  // Marks are written only for a valid grant, so that attackers cannot fill the store.
  await useUp(core, [...uses, ...(bound?.uses ?? [])], subject);
  return json(200, await toAnswer(core, asked, await redeem()), NOT_STORED);
}

/** Returns the placeholder client of a grant type that needs no client credentials, if the request has none. */
function anonymousOf(core: IssuerCore, request: Request, form: Params, grantType: string): IssuerClient | undefined {
  const named = ["client_id", "client_secret", "client_assertion"].some((name) => form.get(name) !== undefined);
  if (named || request.headers.has("authorization")) return undefined;
  for (const { anonymous } of core.extensions) {
    const client = anonymous?.(grantType);
    if (client !== undefined) return client;
  }
  return undefined;
}

async function bindingOf(
  core: IssuerCore,
  request: Request,
  needed: boolean,
): ReturnType<NonNullable<IssuerExtension["bind"]>> {
  for (const { bind } of core.extensions) {
    const bound = await bind?.(core, request);
    if (bound !== undefined) return bound;
  }
  if (needed) throw new OAuthProblem("invalid_dpop_proof", "the DPoP header is missing; this client must send it");
  return undefined;
}

async function toAnswer(core: IssuerCore, { client, binding }: TokenRequest, granted: Granted): Promise<object> {
  const { token, expiresIn } = await core.tokens.mint(granted, binding);
  const jkt = client.method === "none" ? binding?.jkt : undefined;
  const refresh = granted.refreshes ? { refresh_token: await createRefreshToken(core, granted, jkt) } : {};
  const scope = granted.scopes.length === 0 ? {} : { scope: granted.scopes.join(" ") };
  return { access_token: token, token_type: binding?.type ?? "Bearer", expires_in: expiresIn, ...scope, ...refresh };
}
