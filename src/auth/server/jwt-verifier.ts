import { errors } from "jose";
import { type IssuerKeyOptions, IssuerKeys, toJwtType } from "../issuer-keys.js";
import { type AuthInfo, InvalidTokenError, type TokenVerifier } from "./auth-info.js";
import { TokenCache, toAuthInfo } from "./verified-tokens.js";

export interface JwtVerifierOptions extends IssuerKeyOptions {
  /**
   * The types of JWT that are access tokens: `["at+jwt"]` where the issuer follows RFC 9068. By default tokens without a
   * type and those that only say JWT are taken too.
   */
  readonly types?: readonly string[];
  /**
   * How far the issuer's clock may be ahead of this one, in seconds. 5 unless told otherwise. Whether a token has expired is
   * the gate's to say, to the second.
   */
  readonly clockToleranceSeconds?: number;
  /**
   * The audience that its tokens have in place of the resource, for issuers that cannot name it. It is checked here and not
   * stated, so that the gate needs `verifierChecksAudience`.
   */
  readonly audience?: string | readonly string[];
  /** Takes tokens that do not say when they expire. They are good until the issuer's keys change: it must not make any. */
  readonly allowNoExpiry?: boolean;
}

/** A client sends the same token over and over: what was verified a moment ago is not verified again. */
const KEPT_MS = 60_000;
const MAX_KEPT = 1_000;
const DEFAULT_TYPES = ["", "jwt", "at+jwt"];

/** Verifies access tokens that are signed JWTs, by the public keys of their issuer. */
export function jwtVerifier(options: JwtVerifierOptions = {} as JwtVerifierOptions): TokenVerifier {
  const { clockToleranceSeconds: clockTolerance = 5, audience } = options;
  const types = options.types?.map(toJwtType) ?? DEFAULT_TYPES;
  const keys = new IssuerKeys(options);
  const kept = new TokenCache(MAX_KEPT, options.now ?? Date.now);
  const check = { clockTolerance, ...(audience === undefined ? {} : { audience: audience as string | string[] }) };
  const read = async (token: string): Promise<AuthInfo> => {
    const { payload, protectedHeader } = await keys.verify(token, check).catch((error: unknown) => {
      throw toInvalid(error);
    });
    if (!types.includes(toJwtType(protectedHeader.typ))) throw new InvalidTokenError("The token is no access token");
    if (payload.exp === undefined && options.allowNoExpiry !== true)
      throw new InvalidTokenError("The access token does not say when it expires");
    const found = toAuthInfo(token, payload);
    const info = audience === undefined ? found : { ...found, audience: undefined };
    kept.keep(info, KEPT_MS);
    return info;
  };
  return (token) => kept.find(token) ?? read(token);
}

/** In words for the client, which learns what is wrong with its token and nothing about the keys. */
function toInvalid(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new InvalidTokenError("The access token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new InvalidTokenError(`The ${error.claim} of the access token is not right`);
  }
  return error instanceof errors.JOSEError ? new InvalidTokenError("The access token is not valid") : error;
}
