import { authenticateClient } from "../clients/authentication.js";
import type { IssuerCore } from "../core.js";
import { endFamily, familyOf, findRefresh } from "../grants/refresh.js";
import { NOT_STORED, readStrictForm } from "../http.js";
import type { RefreshRecord } from "../store/records.js";

/**
 * The revocation endpoint (RFC 7009). The answer is the same whether the token was there or not. What a token is shows
 * in itself, so the hint is not needed.
 */
export async function revoke(core: IssuerCore, request: Request): Promise<Response> {
  const form = await readStrictForm(request);
  const client = await authenticateClient(core, request, form);
  const token = form.need("token");
  const refresh = await findRefresh(core, token);
  if (refresh !== undefined) await revokeGrant(core, refresh, client.id, familyOf(token));
  else await revokeAccess(core, token, client.id);
  return new Response(null, { status: 200, headers: NOT_STORED });
}

/** With a refresh token goes all that came from the same grant. */
async function revokeGrant(
  core: IssuerCore,
  { grant }: RefreshRecord,
  clientId: string,
  family: string,
): Promise<void> {
  if (grant.clientId === clientId) await endFamily(core, grant, family);
}

async function revokeAccess(core: IssuerCore, token: string, clientId: string): Promise<void> {
  const verified = await core.tokens.verify(token);
  if (verified?.clientId === clientId) await core.tokens.revoke(String(verified.claims.jti), verified.expiresAt * 1000);
}
