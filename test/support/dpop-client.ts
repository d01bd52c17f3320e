import { createHash } from "node:crypto";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { NOW, RESOURCE } from "./guarded.js";

/** What a proof says, over the usual; undefined takes a member away. */
export interface ProofFaults {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly token?: string;
  readonly method?: string;
  readonly url?: string;
}

/** A client with a key of its own, and its proofs, good or bad. */
export class DpopClient {
  private constructor(
    readonly privateKey: CryptoKey,
    readonly jwk: JWK,
    readonly privateJwk: JWK,
    readonly thumbprint: string,
    readonly alg: string,
  ) {}

  static async create(alg = "ES256"): Promise<DpopClient> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const jwk = await exportJWK(publicKey);
    return new DpopClient(privateKey, jwk, await exportJWK(privateKey), await calculateJwkThumbprint(jwk), alg);
  }

  async proof(token: string, faults: ProofFaults = {}): Promise<string> {
    const claims = {
      jti: crypto.randomUUID(),
      htm: faults.method ?? "POST",
      htu: faults.url ?? RESOURCE,
      iat: NOW / 1000,
      ath: createHash("sha256")
        .update(faults.token ?? token)
        .digest("base64url"),
      ...faults.claims,
    };
    const header = { alg: this.alg, typ: "dpop+jwt", jwk: this.jwk, ...faults.header };
    return new SignJWT(claims).setProtectedHeader(header as { alg: string }).sign(this.privateKey);
  }
}
