import * as jose from "jose";
import { digestOf } from "../../crypto.js";
import { assertNotFuture, isUnknownKey } from "../../issuer-keys.js";
import type { ClientAuthenticator, IssuerCore, OneUse } from "../core.js";
import { OAuthProblem } from "../problem.js";
import type { IssuerClient } from "./client.js";

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** Accepted signature algorithms of client assertions. All of them use key pairs. */
export const ASSERTION_ALGORITHMS = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"];

/**
 * Authenticates a client by a signed JWT (RFC 7523), which is short-lived, meant for this server, and valid for one
 * use.
 */
export const privateKeyJwt: ClientAuthenticator = {
  method: "private_key_jwt",
  read(_request, form) {
    const type = form.get("client_assertion_type");
    const assertion = form.get("client_assertion");
    if (assertion === undefined && type === undefined) return undefined;
    const clientId = form.get("client_id") ?? subjectOf(assertion ?? "");
    if (assertion === undefined || type !== TYPE || clientId === undefined) {
      throw new OAuthProblem("invalid_client", `client_assertion must be a JWT, and client_assertion_type ${TYPE}`, {
        status: 401,
      });
    }
    return { clientId, match: (core, client) => findUse(core, client, assertion) };
  },
};

async function findUse(
  core: IssuerCore,
  client: IssuerClient,
  assertion: string,
): Promise<readonly OneUse[] | undefined> {
  const { clientAssertionMs, clockSkewMs, maxAssertionBytes } = core.limits;
  if (assertion.length > maxAssertionBytes) return undefined;
  const claims = await claimsOf(core, client, assertion);
  if (claims?.jti === undefined || claims.exp === undefined) return undefined;
  // With several audiences, another one of them could present the assertion here.
  if (Array.isArray(claims.aud) && claims.aud.length > 1) return undefined;
  const endMs = claims.exp * 1000;
  if (endMs > core.now() + clientAssertionMs) return undefined;
  const refusal = new OAuthProblem("invalid_client", "the client assertion has already been used", { status: 401 });
  const mark = `assertion:${await digestOf(`${client.id} ${claims.jti}`)}`;
  return [{ mark, expiresAt: endMs + clockSkewMs, refusal }];
}

/** Returns the claims of an assertion; undefined unless it is valid and signed by a key of the client. */
async function claimsOf(
  core: IssuerCore,
  client: IssuerClient,
  assertion: string,
): Promise<jose.JWTPayload | undefined> {
  const { jwks, jwksUri } = client;
  try {
    if (jwks !== undefined) return await verified(core, client, assertion, jose.createLocalJWKSet(jwks));
    if (jwksUri === undefined) return undefined;
    const remote = core.clientKeys.at(jwksUri);
    const keys = await remote.current();
    return await verified(core, client, assertion, keys).catch(async (error: unknown) => {
      const newer = isUnknownKey(error) ? await remote.newerThan(keys) : undefined;
      return newer === undefined ? undefined : await verified(core, client, assertion, newer);
    });
  } catch (error) {
    if (error instanceof OAuthProblem) throw error;
    return undefined;
  }
}

async function verified(
  core: IssuerCore,
  { id }: IssuerClient,
  assertion: string,
  keys: jose.JWTVerifyGetKey,
): Promise<jose.JWTPayload> {
  const clockTolerance = core.limits.clockSkewMs / 1000;
  const { payload } = await jose.jwtVerify(assertion, keys, {
    issuer: id,
    subject: id,
    audience: [core.issuer, `${core.base}/token`],
    algorithms: ASSERTION_ALGORITHMS,
    requiredClaims: ["exp", "jti"],
    clockTolerance,
    currentDate: new Date(core.now()),
  });
  assertNotFuture(payload, core.now(), clockTolerance);
  return payload;
}

function subjectOf(assertion: string): string | undefined {
  try {
    return jose.decodeJwt(assertion).sub;
  } catch {
    return undefined;
  }
}
