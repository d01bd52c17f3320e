import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { AuthError, DefinitionError } from "../../schema/errors.js";
import { ASYMMETRIC, toAlgorithms } from "../asymmetric.js";
import { InvalidTokenError, type TokenVerifier } from "./auth-info.js";
import { toAuthInfo } from "./claims.js";
import { isUnknownKey, type RemoteKeyOptions, RemoteKeys } from "./remote-keys.js";
import { Upstream, type UpstreamOptions } from "./upstream.js";

export interface JwtVerifierOptions extends UpstreamOptions, RemoteKeyOptions {
  /** Who signs the tokens, exactly as their `iss` says; where its keys are is looked up in its metadata. */
  readonly issuer: string;
  /** Where its keys are, where no metadata says so. */
  readonly jwksUri?: string;
  /** Its keys themselves: nothing is fetched. */
  readonly keys?: JSONWebKeySet;
  /** How tokens may be signed: key pairs only. All that are known unless given. */
  readonly algorithms?: readonly string[];
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
}

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

const DEFAULT_TYPES = ["", "jwt", "at+jwt"];

/** Verifies access tokens that are signed JWTs, by the public keys of their issuer. */
export function jwtVerifier(options: JwtVerifierOptions): TokenVerifier {
  const { issuer, keys, clockToleranceSeconds = 5, audience } = options;
  if (typeof issuer !== "string" || issuer === "") throw new DefinitionError("jwtVerifier: issuer is missing");
  const types = options.types?.map(toType) ?? DEFAULT_TYPES;
  const upstream = new Upstream(options);
  const algorithms = toAlgorithms("algorithms", options.algorithms ?? ASYMMETRIC);
  const source = keys === undefined ? createRemote(options, upstream) : createFixed(keys);
  return async (token) => {
    const check: JWTVerifyOptions = {
      issuer,
      algorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: new Date(upstream.now()),
      ...(audience === undefined ? undefined : { audience: audience as string | string[] }),
    };
    const { payload, protectedHeader } = await verified(token, source, check);
    if (!types.includes(toType(protectedHeader.typ))) throw new InvalidTokenError("The token is no access token");
    const info = toAuthInfo(token, payload);
    return audience === undefined ? info : { ...info, audience: undefined };
  };
}

/** Where keys come from. */
interface KeySource {
  current(): Promise<LocalKeys>;
  newerThan(keys: LocalKeys): Promise<LocalKeys | undefined>;
}

function createFixed(set: JSONWebKeySet): KeySource {
  const keys = createLocalJWKSet(set);
  return { current: async () => keys, newerThan: async () => undefined };
}

function createRemote(options: JwtVerifierOptions, upstream: Upstream): KeySource {
  const load = async () => {
    const uri = options.jwksUri ?? (await findKeys(options.issuer, upstream));
    return (await upstream.get(uri, "server_metadata")) as unknown as JSONWebKeySet;
  };
  return new RemoteKeys(load, upstream.now, options);
}

async function findKeys(issuer: string, upstream: Upstream): Promise<string> {
  const { jwks_uri } = await upstream.metadata(issuer);
  if (typeof jwks_uri === "string" && URL.canParse(jwks_uri)) return jwks_uri;
  throw new AuthError("server_metadata", `The metadata of ${issuer} names no jwks_uri`);
}

/** The token's claims. The issuer's newer keys are asked for once, when none of the known ones is the token's. */
async function verified(token: string, source: KeySource, check: JWTVerifyOptions): Promise<JWTVerifyResult> {
  const keys = await source.current();
  try {
    return await verifiedBy(keys, token, check);
  } catch (error) {
    const newer = isUnknownKey(error) ? await source.newerThan(keys) : undefined;
    if (newer === undefined) throw toInvalid(error);
    return await verifiedBy(newer, token, check).catch((reason: unknown) => {
      throw toInvalid(reason);
    });
  }
}

/** A token without a key id may be by any of the keys that fit. */
async function verifiedBy(keys: LocalKeys, token: string, check: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, keys, check);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, check);
      } catch (reason) {
        if (!(reason instanceof errors.JWSSignatureVerificationFailed)) throw reason;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** In words for the client, which learns what is wrong with its token and nothing about the keys. */
function toInvalid(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new InvalidTokenError("The access token has expired");
  if (error instanceof errors.JWTClaimValidationFailed) {
    return new InvalidTokenError(`The ${error.claim} of the access token is not right`);
  }
  return error instanceof errors.JOSEError ? new InvalidTokenError("The access token is not valid") : error;
}

function toType(typ: unknown): string {
  return typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : "";
}
