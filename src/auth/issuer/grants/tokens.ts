import type { CryptoKey, JWK, JWTPayload } from "jose";
import * as jose from "jose";
import { DefinitionError } from "../../../protocol/errors.js";
import { ASYMMETRIC, randomToken } from "../../crypto.js";
import { assertNotFuture } from "../../issuer-keys.js";
import { scopesOf } from "../../scopes.js";
import type { Granted, TokenBinding } from "../store/records.js";
import type { IssuerStore } from "../store/store.js";

/** Verified access token. */
export interface VerifiedToken {
  readonly token: string;
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Resources for which the token is valid. A resource server must check that it is one of them. */
  readonly audience: readonly string[];
  /** Expiry in seconds since 1970. */
  readonly expiresAt: number;
  /** Id of the grant, for `revokeGrant` and `upstreamTokens`. */
  readonly grantId: string;
  /** Key to which the token is bound. */
  readonly confirmation?: { readonly [method: string]: unknown } | undefined;
  readonly claims: JWTPayload;
}

interface KeyRing {
  readonly keys: readonly [SigningKey, ...SigningKey[]];
  readonly verifies: ReturnType<typeof jose.createLocalJWKSet>;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

/** Lifetime of access tokens, and the allowed clock skew between processes that share the keys. */
interface TokenTimes {
  readonly accessTokenMs: number;
  readonly clockSkewMs: number;
}

const TYPE = "at+jwt";

/** Issues, verifies and revokes access tokens (JWTs by RFC 9068). */
export class Tokens {
  readonly #issuer: string;
  readonly #given: readonly JWK[] | undefined;
  readonly #store: IssuerStore;
  readonly #now: () => number;
  readonly #times: TokenTimes;
  #ring: Promise<KeyRing> | undefined;

  constructor(
    issuer: string,
    keys: readonly JWK[] | undefined,
    store: IssuerStore,
    now: () => number,
    times: TokenTimes,
  ) {
    if (keys?.length === 0) throw new DefinitionError("createIssuer: keys must contain at least one key");
    this.#issuer = issuer;
    this.#given = keys;
    this.#store = store;
    this.#now = now;
    this.#times = times;
  }

  /** Returns the public keys, for resource servers in other processes. */
  async jwks(): Promise<{ readonly keys: readonly JWK[] }> {
    return { keys: (await this.#keyRing()).keys.map(({ publicJwk }) => publicJwk) };
  }

  /** Issues an access token. */
  async mint(
    { grant, scopes, audience }: Granted,
    binding?: TokenBinding,
  ): Promise<{ token: string; expiresIn: number }> {
    const [key] = (await this.#keyRing()).keys;
    const now = Math.floor(this.#now() / 1000);
    const lifeMs = Math.min(this.#times.accessTokenMs, grant.expiresAt - this.#now());
    const expiresIn = Math.max(1, Math.floor(lifeMs / 1000));
    const token = await new jose.SignJWT({
      iss: this.#issuer,
      sub: grant.subject,
      aud: audience.length === 1 ? (audience[0] as string) : [...audience],
      client_id: grant.clientId,
      scope: scopes.join(" "),
      iat: now,
      exp: now + expiresIn,
      jti: randomToken(),
      grant_id: grant.id,
      ...(binding === undefined ? {} : { cnf: { jkt: binding.jkt } }),
    })
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: TYPE })
      .sign(key.privateKey);
    return { token, expiresIn };
  }

  /** Verifies a token. Returns undefined unless it comes from this issuer, has not expired and is not revoked. */
  async verify(token: string): Promise<VerifiedToken | undefined> {
    const claims = await this.#read(token);
    if (claims === undefined) return undefined;
    const { sub, exp = 0, aud = [], jti, client_id, scope, grant_id, cnf } = claims;
    const gone = await Promise.all([this.#store.get(`revoked:${jti}`), this.#store.get(`revoked:${grant_id}`)]);
    if (gone.some((mark) => mark !== undefined)) return undefined;
    return {
      token,
      issuer: this.#issuer,
      subject: String(sub),
      clientId: String(client_id),
      scopes: scopesOf(typeof scope === "string" ? scope : undefined),
      audience: typeof aud === "string" ? [aud] : aud,
      expiresAt: exp,
      grantId: String(grant_id),
      confirmation: cnf as VerifiedToken["confirmation"],
      claims,
    };
  }

  /** Revokes a grant with all its tokens, or a single token by its `jti`. The mark is kept until `expiresAt`. */
  async revoke(id: string, expiresAt: number, owner?: string): Promise<void> {
    await this.#store.add(`revoked:${id}`, true, expiresAt, owner === undefined ? {} : { owner });
  }

  async isRevoked(grantId: string): Promise<boolean> {
    return (await this.#store.get(`revoked:${grantId}`)) !== undefined;
  }

  async #read(token: string): Promise<JWTPayload | undefined> {
    const { keys, verifies } = await this.#keyRing();
    const nowMs = this.#now();
    return await jose
      .jwtVerify(token, verifies, {
        issuer: this.#issuer,
        typ: TYPE,
        algorithms: keys.map(({ alg }) => alg),
        requiredClaims: ["sub", "aud", "exp", "jti", "client_id", "grant_id"],
        currentDate: new Date(nowMs),
      })
      .then(({ payload }) => {
        assertNotFuture(payload, nowMs, this.#times.clockSkewMs / 1000);
        return payload;
      })
      .catch(() => undefined);
  }

  #keyRing(): Promise<KeyRing> {
    this.#ring ??= toRing(this.#given);
    return this.#ring;
  }
}

async function toRing(given: readonly JWK[] | undefined): Promise<KeyRing> {
  const [first, ...others] = await Promise.all((given ?? [await generated()]).map(imported));
  const keys = [first as SigningKey, ...others] as const;
  return { keys, verifies: jose.createLocalJWKSet({ keys: keys.map(({ publicJwk }) => publicJwk) }) };
}

async function generated(): Promise<JWK> {
  const { privateKey } = await jose.generateKeyPair("ES256", { extractable: true });
  return { ...(await jose.exportJWK(privateKey)), alg: "ES256" };
}

async function imported(jwk: JWK, index: number): Promise<SigningKey> {
  const { alg = "ES256", d: _d, p: _p, q: _q, dp: _dp, dq: _dq, qi: _qi, oth: _oth, key_ops: _ops, ...open } = jwk;
  if (!ASYMMETRIC.includes(alg) || jwk.d === undefined)
    throw new DefinitionError(
      `createIssuer: keys[${index}] must be a private JWK with one of the alg ${ASYMMETRIC.join(", ")}`,
    );
  const privateKey = await jose.importJWK(jwk, alg).catch(() => undefined);
  if (!(privateKey instanceof CryptoKey))
    throw new DefinitionError(`createIssuer: keys[${index}] is not a valid key for the alg ${alg}`);
  const kid = jwk.kid ?? (await jose.calculateJwkThumbprint(open as JWK));
  return { kid, alg, privateKey, publicJwk: { ...open, kid, alg, use: "sig" } as JWK };
}
