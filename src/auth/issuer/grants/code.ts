import { digestOf, randomToken, sameText } from "../../crypto.js";
import { REFRESH_GRANT } from "../clients/client.js";
import type { GrantHandler, IssuerCore } from "../core.js";
import { invalidGrant, invalidRequest } from "../problem.js";
import { narrowedAudience } from "../rules.js";
import type { AuthorizationRequest, CodeRecord, Grant, Granted } from "../store/records.js";
import { endFamily, keepingOf, refreshKeyOf } from "./refresh.js";

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** Creates a code for an authorization request that the user has approved. */
export async function createCode(
  core: IssuerCore,
  asked: AuthorizationRequest,
  subject: string,
  id = randomToken(),
): Promise<string> {
  const { clientId, scopes, audience, redirectUri, redirectSent, challenge } = asked;
  const now = core.now();
  const grant: Grant = { id, clientId, subject, scopes, audience, expiresAt: now + core.lifetimes.grantMs };
  const record: CodeRecord = { grant, redirectUri, redirectSent, challenge };
  const code = randomToken();
  await core.clients.approve(clientId, grant.expiresAt, subject);
  await core.store.put(`code:${await digestOf(code)}`, record, now + core.lifetimes.codeMs, keepingOf(grant));
  return code;
}

/**
 * Redeems a code: once, by the client to which it was issued, with the same redirect URI and the verifier of its
 * challenge. On a second use the code may be stolen, so the grant and its tokens are revoked.
 */
export const codeGrant: GrantHandler = async (core, { form, client }) => {
  const code = form.need("code");
  const verifier = form.need("code_verifier");
  if (!VERIFIER.test(verifier)) throw invalidRequest("code_verifier must be 43 to 128 unreserved characters");
  const digest = await digestOf(code);
  const record = (await core.store.get(`code:${digest}`)) as CodeRecord | undefined;
  if (record === undefined) throw invalidGrant("the code is unknown or has expired");
  const { grant } = record;
  if (grant.clientId !== client.id) throw invalidGrant("the code was issued to another client");
  const redeem = async (): Promise<Granted> => {
    const family = await useUpCode(core, digest, grant);
    assertRedirect(record, form.get("redirect_uri"));
    if (!sameText(await digestOf(verifier), record.challenge))
      throw invalidGrant("code_verifier does not match code_challenge");
    const audience = narrowedAudience(form.getAll("resource"), grant.audience);
    return { grant, scopes: grant.scopes, audience, family, refreshes: client.grantTypes.includes(REFRESH_GRANT) };
  };
  return { subject: grant.subject, redeem };
};

/**
 * Marks a code as used. Returns the family name of the refresh tokens that result from it. The record of the code and
 * the mark are kept until they expire, so that a second use is detected and its tokens are found.
 */
async function useUpCode(core: IssuerCore, digest: string, grant: Grant): Promise<string> {
  const mark = `spent:${digest}`;
  const family = randomToken();
  const expiresAt = core.now() + core.lifetimes.codeMs;
  if (await core.store.add(mark, await refreshKeyOf(family), expiresAt, { owner: grant.subject })) return family;
  await endFamily(core, grant, String(await core.store.get(mark)));
  throw invalidGrant("the code has already been used");
}

function assertRedirect({ redirectUri, redirectSent }: CodeRecord, stated: string | undefined): void {
  const fine = redirectSent ? stated === redirectUri : stated === undefined || stated === redirectUri;
  if (!fine) throw invalidGrant("redirect_uri is not that of the authorization request");
}
