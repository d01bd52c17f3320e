import { authenticateClient } from "../clients/authentication.js";
import { type Authenticated, type IssuerCore, useUp } from "../core.js";
import { endFamily, findRefresh, refreshKeyOf } from "../grants/refresh.js";
import { NOT_STORED, readStrictForm } from "../http.js";
import type { RefreshRecord } from "../store/records.js";

/**
 * Handles the revocation endpoint (RFC 7009). The response does not reveal whether the token existed. `token_type_hint`
 * is ignored: the token is looked up as a refresh token first, then verified as an access token.
 */
export async function revoke(core: IssuerCore, request: Request): Promise<Response> {
  const form = await readStrictForm(request, core.limits);
  const authenticated = await authenticateClient(core, request, form);
  const token = form.need("token");
  const refresh = await findRefresh(core, token);
  if (refresh !== undefined) await revokeGrant(core, refresh, authenticated, token);
  else await revokeAccess(core, token, authenticated);
  return new Response(null, { status: 200, headers: NOT_STORED });
}

/** Revokes the whole grant of a refresh token. */
async function revokeGrant(
  core: IssuerCore,
  { grant }: RefreshRecord,
  { client, uses }: Authenticated,
  token: string,
): Promise<void> {
  if (grant.clientId !== client.id) return;
  await useUp(core, uses, grant.subject);
  await endFamily(core, grant, await refreshKeyOf(token));
}

async function revokeAccess(core: IssuerCore, token: string, { client, uses }: Authenticated): Promise<void> {
  const verified = await core.tokens.verify(token);
  if (verified?.clientId !== client.id) return;
  const { claims, expiresAt, subject } = verified;
  await useUp(core, uses, subject);
  await core.tokens.revoke(String(claims.jti), expiresAt * 1000, subject);
}
