import * as jose from "jose";
import { digestOf } from "../secrets.js";
import type { IssuerClient } from "./client.js";
import type { ClientAuthenticator, IssuerCore } from "./issuer-core.js";
import { OAuthProblem } from "./oauth-problem.js";

const TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/** How clients may sign: by key pairs only. */
export const ASSERTION_ALGORITHMS = ["ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"];
/** The longest that an assertion may be good for, and how far clocks may differ, in seconds. */
const MAX_LIFE = 600;
const SKEW = 10;

/** A JWT, signed with a key of the client's (RFC 7523): for this server, for a short time, for one use. */
export const privateKeyJwt: ClientAuthenticator = {
  method: "private_key_jwt",
  read(_request, form) {
    const type = form.get("client_assertion_type");
    const assertion = form.get("client_assertion");
    if (assertion === undefined && type === undefined) return undefined;
    const clientId = form.get("client_id") ?? subjectOf(assertion ?? "");
    if (assertion === undefined || type !== TYPE || clientId === undefined) {
      throw new OAuthProblem("invalid_client", "the client assertion is not complete", { status: 401 });
    }
    return { clientId, match: (core, client) => isSignedBy(core, client, assertion) };
  },
};

async function isSignedBy(core: IssuerCore, client: IssuerClient, assertion: string): Promise<boolean> {
  const keys = await keysOf(core, client);
  if (keys === undefined) return false;
  const claims = await verified(core, client, assertion, keys);
  if (claims?.jti === undefined || claims.exp === undefined) return false;
  // Whoever else it is for could bring it here.
  if (Array.isArray(claims.aud) && claims.aud.length > 1) return false;
  if (claims.exp > core.now() / 1000 + MAX_LIFE) return false;
  const mark = `assertion:${await digestOf(`${client.id} ${claims.jti}`)}`;
  return await core.store.add(mark, true, (claims.exp + SKEW) * 1000);
}

async function verified(
  core: IssuerCore,
  { id }: IssuerClient,
  assertion: string,
  keys: jose.JSONWebKeySet,
): Promise<jose.JWTPayload | undefined> {
  try {
    const { payload } = await jose.jwtVerify(assertion, jose.createLocalJWKSet(keys), {
      issuer: id,
      subject: id,
      audience: [core.issuer, `${core.base}/token`],
      algorithms: ASSERTION_ALGORITHMS,
      requiredClaims: ["exp", "jti"],
      clockTolerance: SKEW,
      currentDate: new Date(core.now()),
    });
    return payload;
  } catch {
    return undefined;
  }
}

async function keysOf(core: IssuerCore, { jwks, jwksUri }: IssuerClient): Promise<jose.JSONWebKeySet | undefined> {
  if (jwks !== undefined || jwksUri === undefined) return jwks;
  const { json } = await core.documents.get(new URL(jwksUri));
  return typeof json === "object" && json !== null && "keys" in json ? (json as jose.JSONWebKeySet) : undefined;
}

function subjectOf(assertion: string): string | undefined {
  try {
    return jose.decodeJwt(assertion).sub;
  } catch {
    return undefined;
  }
}
