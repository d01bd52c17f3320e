import { REFRESH_GRANT } from "./client.js";
import type { GrantHandler, IssuerCore } from "./issuer-core.js";
import { invalidGrant } from "./oauth-problem.js";
import type { Grant, RefreshRecord } from "./records.js";
import { narrowedAudience } from "./resource-rules.js";
import { assertScopes, scopesOf } from "./scope-rules.js";
import { digestOf, randomToken } from "./secrets.js";

const TURN_MS = 600_000;

/** Makes the next refresh token of a grant. Tokens of public clients are bound to the key that the client has shown. */
export async function createRefreshToken(core: IssuerCore, grant: Grant, jkt: string | undefined): Promise<string> {
  const record: RefreshRecord = { grant, jkt };
  const token = randomToken();
  await core.store.put(`refresh:${await digestOf(token)}`, record, grant.expiresAt);
  return token;
}

/** The record of a refresh token, and whether the token was used up. */
export async function findRefresh(
  { store }: IssuerCore,
  digest: string,
): Promise<{ readonly record: RefreshRecord; readonly used: boolean } | undefined> {
  const live = (await store.get(`refresh:${digest}`)) as RefreshRecord | undefined;
  if (live !== undefined) return { record: live, used: false };
  const used = (await store.get(`used-refresh:${digest}`)) as RefreshRecord | undefined;
  return used === undefined ? undefined : { record: used, used: true };
}

/**
 * Uses up a refresh token for the next one. Audience and scopes are those of the grant; a request may have a part of them
 * for the access token. A refresh token that comes again is in the hands of two: the whole grant is revoked.
 */
export const refreshGrant: GrantHandler = async (core, { form, client, binding }) => {
  const digest = await digestOf(form.need("refresh_token"));
  const found = await findRefresh(core, digest);
  if (found === undefined) throw invalidGrant("the refresh token is not known or has expired");
  const { grant, jkt } = found.record;
  if (grant.clientId !== client.id) throw invalidGrant("the refresh token was given to another client");
  if (found.used) throw await usedTwice(core, grant);
  if (await core.tokens.isRevoked(grant.id)) throw invalidGrant("the refresh token was revoked");
  if (jkt !== undefined && jkt !== binding?.jkt) throw invalidGrant("the refresh token is bound to another key");
  const asked = scopesOf(form.get("scope"));
  assertScopes(asked, grant.scopes);
  const audience = narrowedAudience(form.getAll("resource"), grant.audience);
  await useUp(core, digest, found.record);
  const scopes = asked.length === 0 ? grant.scopes : asked;
  return { grant, scopes, audience, refreshes: client.grantTypes.includes(REFRESH_GRANT) };
};

/** Of several at once one goes on. The mark only has to outlast them: after that the record tells. */
async function useUp({ store, now, ...core }: IssuerCore, digest: string, record: RefreshRecord): Promise<void> {
  const { grant } = record;
  if (!(await store.add(`spent:${digest}`, true, now() + TURN_MS))) throw await usedTwice(core, grant);
  await store.put(`used-refresh:${digest}`, record, grant.expiresAt);
  await store.delete(`refresh:${digest}`);
}

async function usedTwice({ endGrant }: Pick<IssuerCore, "endGrant">, grant: Grant): Promise<Error> {
  await endGrant(grant.id, grant.expiresAt);
  return invalidGrant("the refresh token was used before");
}
