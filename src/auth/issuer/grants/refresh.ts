import { digestOf, randomToken, sameText } from "../../crypto.js";
import { scopesOf } from "../../scopes.js";
import { REFRESH_GRANT } from "../clients/client.js";
import { clientKeyOf } from "../clients/clients.js";
import type { GrantHandler, IssuerCore } from "../core.js";
import { invalidGrant } from "../problem.js";
import { assertScopes, narrowedAudience } from "../rules.js";
import type { Grant, Granted, RefreshRecord } from "../store/records.js";
import type { Keeping } from "../store/store.js";

/**
 * Milliseconds during which concurrent uses of one token are detected by a mark. After that the stored record shows
 * that the token is old.
 */
const RACE_MS = 60_000;

/**
 * Creates the next refresh token of a grant. Tokens of a public client are bound to the key that it has proved. All
 * refresh tokens of a grant begin with the name of their family, and only the digest of the last one is stored. A token
 * with this name that is not the last one is an old one, so old tokens need not be stored.
 */
export async function createRefreshToken(
  core: IssuerCore,
  { grant, family = randomToken() }: Granted,
  jkt: string | undefined,
): Promise<string> {
  const token = `${family}.${randomToken()}`;
  const record: RefreshRecord = { grant, jkt, last: await digestOf(token) };
  const key = await refreshKeyOf(token);
  await core.store.put(key, record, grant.expiresAt, keepingOf(grant));
  // A revocation writes its mark first and then deletes this record. So either the check here sees the mark, or the
  // deletion removes the record.
  if (await core.tokens.isRevoked(grant.id)) await core.store.delete(key);
  return token;
}

/**
 * Ends a grant whose refresh tokens are stored under `refreshKey`. Deletes these, so the grant ends with its last
 * access token. The mark of the revocation is kept until then only: a client could fill the store with marks that last
 * longer.
 */
export async function endFamily(core: IssuerCore, grant: Grant, refreshKey: string): Promise<void> {
  const { id, expiresAt, subject } = grant;
  const lastMs = core.now() + core.lifetimes.accessTokenMs + RACE_MS;
  try {
    await core.endGrant(id, Math.min(expiresAt, lastMs), subject);
  } finally {
    await core.store.delete(refreshKey);
  }
}

/** Returns the record of a refresh token's family; undefined if there is none. */
export async function findRefresh(core: IssuerCore, token: string): Promise<RefreshRecord | undefined> {
  return (await core.store.get(await refreshKeyOf(token))) as RefreshRecord | undefined;
}

/**
 * Exchanges a refresh token for the next one. Audience and scopes are those of the grant; a request may narrow them for
 * the access token. If a refresh token is used twice, it may be stolen, so the whole grant is revoked.
 */
export const refreshGrant: GrantHandler = async (core, { form, client, binding }) => {
  const token = form.need("refresh_token");
  const record = await findRefresh(core, token);
  if (record === undefined) throw invalidGrant("the refresh token is unknown or has expired");
  const { grant, jkt } = record;
  if (grant.clientId !== client.id) throw invalidGrant("the refresh token was issued to another client");
  if (await core.tokens.isRevoked(grant.id)) throw invalidGrant("the refresh token was revoked");
  if (jkt !== undefined && jkt !== binding?.jkt)
    throw invalidGrant("the refresh token is bound to a key that the request does not prove");
  const asked = scopesOf(form.get("scope"));
  assertScopes(asked, grant.scopes);
  const audience = narrowedAudience(form.getAll("resource"), grant.audience);
  const scopes = asked.length === 0 ? grant.scopes : asked;
  const refreshes = client.grantTypes.includes(REFRESH_GRANT);
  const redeem = async (): Promise<Granted> => {
    await assertUnused(core, token, record);
    return { grant, scopes, audience, refreshes, family: familyOf(token) };
  };
  return { subject: grant.subject, redeem };
};

async function assertUnused(core: IssuerCore, token: string, { grant, last }: RefreshRecord): Promise<void> {
  const digest = await digestOf(token);
  const isLast = sameText(digest, last);
  const { subject: owner } = grant;
  if (isLast && (await core.store.add(`refreshed:${digest}`, true, core.now() + RACE_MS, { owner }))) return;
  await endFamily(core, grant, await refreshKeyOf(token));
  throw invalidGrant("the refresh token has already been used");
}

/** Returns the family name, which all refresh tokens of a grant begin with. */
function familyOf(token: string): string {
  return token.split(".", 1)[0] ?? "";
}

/** Returns the store key of a refresh token's family. */
export async function refreshKeyOf(token: string): Promise<string> {
  return `refresh:${await digestOf(familyOf(token))}`;
}

/** Returns the retention of a grant: it belongs to its user, and its client is kept as long as the grant. */
export function keepingOf({ subject, clientId }: Grant): Keeping {
  return { owner: subject, needs: clientKeyOf(clientId) };
}
