import { REFRESH_GRANT } from "./client.js";
import type { GrantHandler, IssuerCore } from "./issuer-core.js";
import { invalidGrant } from "./oauth-problem.js";
import type { Grant, RefreshRecord } from "./records.js";
import { narrowedAudience } from "./resource-rules.js";
import { assertScopes, scopesOf } from "./scope-rules.js";
import { digestOf, randomToken } from "./secrets.js";

/** Makes the next refresh token of a grant. Tokens of public clients are bound to the key that the client has shown. */
export async function createRefreshToken(core: IssuerCore, grant: Grant, jkt: string | undefined): Promise<string> {
  const record: RefreshRecord = { grant, jkt };
  const token = randomToken();
  await core.store.put(`refresh:${await digestOf(token)}`, record, grant.expiresAt);
  return token;
}

/**
 * Uses up a refresh token for the next one. Audience and scopes are those of the grant; a request may have a part of them
 * for the access token. A refresh token that comes again is in the hands of two: the whole grant is revoked.
 */
export const refreshGrant: GrantHandler = async (core, { form, client, binding }) => {
  const digest = await digestOf(form.need("refresh_token"));
  const record = (await core.store.get(`refresh:${digest}`)) as RefreshRecord | undefined;
  if (record === undefined) throw invalidGrant("the refresh token is not known or has expired");
  const { grant, jkt } = record;
  if (grant.clientId !== client.id) throw invalidGrant("the refresh token was given to another client");
  if (await core.tokens.isRevoked(grant.id)) throw invalidGrant("the refresh token was revoked");
  if (jkt !== undefined && jkt !== binding?.jkt) throw invalidGrant("the refresh token is bound to another key");
  const asked = scopesOf(form.get("scope"));
  assertScopes(asked, grant.scopes);
  const audience = narrowedAudience(form.getAll("resource"), grant.audience);
  await assertUnused(core, digest, grant);
  const scopes = asked.length === 0 ? grant.scopes : asked;
  return { grant, scopes, audience, refreshes: client.grantTypes.includes(REFRESH_GRANT) };
};

async function assertUnused(core: IssuerCore, digest: string, grant: Grant): Promise<void> {
  if (await core.store.add(`spent:${digest}`, true, grant.expiresAt)) return;
  await core.endGrant(grant.id, grant.expiresAt);
  throw invalidGrant("the refresh token was used before");
}
