import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { AuthError } from "../../protocol/auth-error.js";
import { DefinitionError } from "../../protocol/errors.js";
import { ASYMMETRIC, toAlgorithms } from "../crypto.js";
import { Upstream, type UpstreamOptions } from "./metadata.js";
import { isUnknownKey, type RemoteKeyOptions, RemoteKeys } from "./remote-keys.js";

export interface IssuerKeyOptions extends UpstreamOptions, RemoteKeyOptions {
  /** Who signs, exactly as `iss` says; where its keys are is looked up in its metadata. */
  readonly issuer: string;
  /** Where its keys are, where no metadata says so. */
  readonly jwksUri?: string;
  /** Its keys themselves: nothing is fetched. */
  readonly keys?: JSONWebKeySet;
  /** How it may sign: by key pairs only. All that are known unless given. */
  readonly algorithms?: readonly string[];
}

type LocalKeys = ReturnType<typeof createLocalJWKSet>;

/** Where keys come from. */
interface KeySource {
  current(): Promise<LocalKeys>;
  newerThan(keys: LocalKeys): Promise<LocalKeys | undefined>;
}

/** Verifies what an issuer has signed. */
export class IssuerKeys {
  readonly issuer: string;
  readonly #algorithms: string[];
  readonly #source: KeySource;
  readonly #upstream: Upstream;

  constructor(options: IssuerKeyOptions) {
    const { issuer, keys } = options;
    if (typeof issuer !== "string" || issuer === "") throw new DefinitionError("issuer is missing");
    this.issuer = issuer;
    this.#algorithms = toAlgorithms("algorithms", options.algorithms ?? ASYMMETRIC);
    this.#upstream = new Upstream(options);
    this.#source = keys === undefined ? createRemote(options, this.#upstream) : createFixed(keys);
  }

  /**
   * The claims of a token. The issuer's newer keys are asked for once, when none of the known ones is the token's. Rejects
   * with an error of `jose` for a token that is not good, and with an `AuthError` where nobody can tell.
   */
  async verify(token: string, more: JWTVerifyOptions): Promise<JWTVerifyResult> {
    const check: JWTVerifyOptions = {
      issuer: this.issuer,
      algorithms: this.#algorithms,
      currentDate: new Date(this.#upstream.now()),
      ...more,
    };
    const keys = await this.#source.current();
    try {
      return await verifiedBy(keys, token, check);
    } catch (error) {
      const newer = isUnknownKey(error) ? await this.#source.newerThan(keys) : undefined;
      if (newer === undefined) throw error;
      return await verifiedBy(newer, token, check);
    }
  }
}

function createFixed(set: JSONWebKeySet): KeySource {
  const keys = createLocalJWKSet(set);
  return { current: async () => keys, newerThan: async () => undefined };
}

function createRemote(options: IssuerKeyOptions, upstream: Upstream): KeySource {
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

/** The type of a JWT, by its header, in lower case and without what may be left out; empty where it says none. */
export function toJwtType(typ: unknown): string {
  return typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : "";
}
