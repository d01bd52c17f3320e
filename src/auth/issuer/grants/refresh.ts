import { digestOf, randomToken, sameText } from "../../crypto.js";
import { scopesOf } from "../../scopes.js";
import { REFRESH_GRANT } from "../clients/client.js";
import { clientKeyOf } from "../clients/clients.js";
import type { GrantHandler, IssuerCore } from "../core.js";
import { invalidGrant } from "../problem.js";
import { assertScopes, narrowedAudience } from "../rules.js";
import type { Grant, Granted, RefreshRecord } from "../store/records.js";
import type { Keeping } from "../store/store.js";

/** How long two uses of one token may be under way at once; later ones see what the first has left. */
const RACE_MS = 60_000;

/**
 * Makes the next refresh token of a grant. Tokens of public clients are bound to the key that the client has shown. All
 * tokens of a grant begin with the name of their family, under which the last of them is known: whoever has the name and
 * not the last has an old one, so none of the old ones needs to be remembered.
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
  // Whoever ends the grant marks it first and deletes this after: one of the two sees what the other has done.
  if (await core.tokens.isRevoked(grant.id)) await core.store.delete(key);
  return token;
}

/** Ends a grant whose refresh tokens are kept under this key. Without them nothing outlives the last access token, so the mark
 * need not either: whoever makes others revoke cannot fill the store with marks that stay for as long as grants do.
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

/** What is known of the family of a refresh token. */
export async function findRefresh(core: IssuerCore, token: string): Promise<RefreshRecord | undefined> {
  return (await core.store.get(await refreshKeyOf(token))) as RefreshRecord | undefined;
}

/**
 * Uses up a refresh token for the next one. Audience and scopes are those of the grant; a request may have a part of them
 * for the access token. A refresh token that comes again is in the hands of two: the whole grant is revoked.
 */
export const refreshGrant: GrantHandler = async (core, { form, client, binding }) => {
  const token = form.need("refresh_token");
  const record = await findRefresh(core, token);
  if (record === undefined) throw invalidGrant("the refresh token is not known or has expired");
  const { grant, jkt } = record;
  if (grant.clientId !== client.id) throw invalidGrant("the refresh token was given to another client");
  if (await core.tokens.isRevoked(grant.id)) throw invalidGrant("the refresh token was revoked");
  if (jkt !== undefined && jkt !== binding?.jkt) throw invalidGrant("the refresh token is bound to another key");
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
  throw invalidGrant("the refresh token was used before");
}

/** The name that all refresh tokens of a grant begin with. */
function familyOf(token: string): string {
  return token.split(".", 1)[0] ?? "";
}

/** What the grant of a refresh token is kept under. */
export async function refreshKeyOf(token: string): Promise<string> {
  return `refresh:${await digestOf(familyOf(token))}`;
}

/** A grant is its user's, and its client stays with it. */
export function keepingOf({ subject, clientId }: Grant): Keeping {
  return { owner: subject, needs: clientKeyOf(clientId) };
}
