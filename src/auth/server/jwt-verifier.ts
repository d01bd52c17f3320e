import { errors, type JWTPayload } from "jose";
import { atCaller } from "../../protocol/at-caller.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { ISSUER_KEY_OPTIONS, type IssuerKeyOptions, IssuerKeys, toJwtType } from "../issuer-keys.js";
import { InvalidTokenError, type TokenInfo, type TokenVerifier } from "./auth-info.js";
import { GATE_LIMITS, type GateLimits, MOVED_LIMITS } from "./limits.js";
import { TokenCache, toAuthInfo } from "./verified-tokens.js";

/** Options of `jwtVerifier`. */
export interface JwtVerifierOptions extends IssuerKeyOptions {
  /**
   * Accepted `typ` values of access tokens. Use `["at+jwt"]` if the issuer follows RFC 9068. The default also accepts
   * tokens without a type or with the type JWT.
   * @default ["", "jwt", "at+jwt"]
   */
  readonly types?: readonly string[] | undefined;
  /**
   * Audience of the tokens, for issuers that cannot name the resource. The verifier checks it and leaves it out of
   * `TokenInfo`, so the gate needs `verifierChecksAudience`.
   */
  readonly audience?: string | readonly string[] | undefined;
  /**
   * Accepts tokens without expiry. Such a token is valid until the issuer's keys change.
   * @default false
   */
  readonly allowNoExpiry?: boolean | undefined;
  /**
   * Accepts ID tokens too, if their audience matches. By default a token whose type is not `at+jwt` is rejected if its
   * claims are those of an ID token or a logout token.
   * @default false
   */
  readonly allowIdTokens?: boolean | undefined;
  /** Limits of the verifier, each with a default. */
  readonly limits?: Optional<GateLimits> | undefined;
}

const OPTIONS: Known<JwtVerifierOptions> = {
  ...ISSUER_KEY_OPTIONS,
  issuer: "any",
  types: [{ array: "string" }],
  audience: [{ string: "any", array: "string" }],
  allowNoExpiry: "boolean",
  allowIdTokens: "boolean",
  limits: GATE_LIMITS,
};

const ACCESS_TOKEN = "at+jwt";
const DEFAULT_TYPES = ["", "jwt", ACCESS_TOKEN];

/** Creates a verifier for access tokens that are JWTs, signed by the keys of their issuer. */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  return atCaller(jwtVerifier, () => createJwtVerifier(options ?? ({} as JwtVerifierOptions)));
}

function createJwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  assertOptions("jwtVerifier", options, OPTIONS, MOVED_LIMITS);
  const { audience } = options;
  const limits = withDefaults(options.limits, GATE_LIMITS);
  const types = options.types?.map(toJwtType) ?? DEFAULT_TYPES;
  const keys = new IssuerKeys(options, limits);
  // Verified tokens are cached, because clients send the same token with many requests.
  const kept = new TokenCache(limits.maxVerifiedTokens, options.now ?? Date.now);
  const check = {
    clockTolerance: limits.clockSkewMs / 1000,
    ...(audience === undefined ? {} : { audience: audience as string | string[] }),
  };
  const read = async (token: string): Promise<TokenInfo> => {
    const { payload, protectedHeader } = await keys.verify(token, check).catch((error: unknown) => {
      throw toInvalid(error);
    });
    const type = toJwtType(protectedHeader.typ);
    if (!types.includes(type))
      throw new InvalidTokenError(`The typ of the access token is not valid: ${type || "none"}`);
    if (type !== ACCESS_TOKEN && !options.allowIdTokens && isIdToken(payload))
      throw new InvalidTokenError("The token is an ID or logout token, not an access token");
    if (payload.exp === undefined && options.allowNoExpiry !== true)
      throw new InvalidTokenError("The access token has no expiry");
    const found = toAuthInfo(token, payload);
    const info = audience === undefined ? found : { ...found, audience: undefined };
    kept.keep(info, limits.verifiedTokenMs);
    return info;
  };
  return (token) => kept.find(token) ?? read(token);
}

/**
 * True if the claims are those of an ID token, or of a security event token such as a logout token. Some providers
 * state the kind of a token in a claim (`typ` of Keycloak, `token_use` of Cognito), and Entra ID sets `idtyp` only in
 * access tokens. Only ID tokens contain the hash of a token, code or state. A token with a scope is an access token.
 * Any other token is an ID token if it has a nonce, or if its audience is the client (`azp`) and it has neither a
 * `client_id` nor roles.
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

/** Converts an error of `jose` to a message for the client, without details of the keys. */
function toInvalid(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new InvalidTokenError("The access token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new InvalidTokenError(`The claim ${error.claim} of the access token is not valid`);
  }
  return error instanceof errors.JOSEError ? new InvalidTokenError("The access token is not valid") : error;
}
