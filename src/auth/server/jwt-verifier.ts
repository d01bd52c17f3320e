import { errors, type JWTPayload } from "jose";
import { resolveLimits } from "../../protocol/known-options.js";
import { type IssuerKeyOptions, IssuerKeys, toJwtType } from "../issuer-keys.js";
import { type AuthInfo, InvalidTokenError, type TokenVerifier } from "./auth-info.js";
import { GATE_LIMITS, type GateLimits } from "./limits.js";
import { TokenCache, toAuthInfo } from "./verified-tokens.js";

export interface JwtVerifierOptions extends IssuerKeyOptions {
  /**
   * The types of JWT that are access tokens: `["at+jwt"]` where the issuer follows RFC 9068. By default tokens without a
   * type and those that only say JWT are taken too.
   */
  readonly types?: readonly string[];
  /**
   * The audience that its tokens have in place of the resource, for issuers that cannot name it. It is checked here and not
   * stated, so that the gate needs `verifierChecksAudience`.
   */
  readonly audience?: string | readonly string[];
  /** Takes tokens that do not say when they expire. They are good until the issuer's keys change: it must not make any. */
  readonly allowNoExpiry?: boolean;
  /**
   * Takes ID tokens too, where their audience fits. Without it a token that says JWT or no type is refused if it has a claim
   * that only ID tokens have.
   */
  readonly allowIdTokens?: boolean;
  /** The bounds of the verifier, each with a default. */
  readonly limits?: Partial<GateLimits>;
}

const ACCESS_TOKEN = "at+jwt";
const DEFAULT_TYPES = ["", "jwt", ACCESS_TOKEN];

/** Verifies access tokens that are signed JWTs, by the public keys of their issuer. */
export function jwtVerifier(options: JwtVerifierOptions = {} as JwtVerifierOptions): TokenVerifier {
  const { audience } = options;
  const limits = resolveLimits("jwtVerifier", options.limits, GATE_LIMITS);
  const types = options.types?.map(toJwtType) ?? DEFAULT_TYPES;
  const keys = new IssuerKeys(options, limits);
  // A client sends the same token over and over.
  const kept = new TokenCache(limits.maxVerifiedTokens, options.now ?? Date.now);
  const check = {
    clockTolerance: limits.clockSkewMs / 1000,
    ...(audience === undefined ? {} : { audience: audience as string | string[] }),
  };
  const read = async (token: string): Promise<AuthInfo> => {
    const { payload, protectedHeader } = await keys.verify(token, check).catch((error: unknown) => {
      throw toInvalid(error);
    });
    const type = toJwtType(protectedHeader.typ);
    const isOther = !types.includes(type) || (type !== ACCESS_TOKEN && !options.allowIdTokens && isIdToken(payload));
    if (isOther) throw new InvalidTokenError("The token is no access token");
    if (payload.exp === undefined && options.allowNoExpiry !== true)
      throw new InvalidTokenError("The access token does not say when it expires");
    const found = toAuthInfo(token, payload);
    const info = audience === undefined ? found : { ...found, audience: undefined };
    kept.keep(info, limits.verifiedTokenMs);
    return info;
  };
  return (token) => kept.find(token) ?? read(token);
}

/**
 * Whether claims are those of an ID token, or of a security event such as a logout. Some providers name the type among them
 * (Keycloak, Cognito; Entra ID has `idtyp` in access tokens alone). Others show it by the hash of a code or token, or, where
 * no scope is stated, by a nonce or by an audience that is the client itself. Some access tokens have a nonce, or are for the
 * client that asked for them, but these state a scope, roles or a `client_id`.
 */
function isIdToken(claims: JWTPayload): boolean {
  const { typ, token_use, nonce, azp, aud } = claims;
  const states = (...names: string[]) => names.some((name) => name in claims);
  if (typ === "ID" || token_use === "id" || states("at_hash", "c_hash", "s_hash", "events")) return true;
  if (typ === "Bearer" || token_use === "access" || states("scope", "scp", "idtyp")) return false;
  return (
    nonce !== undefined || (!states("client_id", "roles") && [aud].flat().includes(azp as string) && azp !== undefined)
  );
}

/** In words for the client, which learns what is wrong with its token and nothing about the keys. */
function toInvalid(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new InvalidTokenError("The access token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new InvalidTokenError(`The ${error.claim} of the access token is not right`);
  }
  return error instanceof errors.JOSEError ? new InvalidTokenError("The access token is not valid") : error;
}
