import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { ISSUER, NOW, RESOURCE } from "./guarded.js";

/** A request that reached the made-up authorization server. */
export interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

interface SigningPair {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

/** An authorization server that signs tokens, without a network: `fetch` reaches its documents. */
export class TokenIssuer {
  readonly asked: Asked[] = [];
  readonly pairs: SigningPair[] = [];
  now = NOW;
  /** Answers by address; what is missing here is answered as an authorization server would. */
  readonly routes = new Map<string, (init: RequestInit) => Response | Promise<Response>>();
  metadata: Record<string, unknown> = {
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/keys`,
    introspection_endpoint: `${ISSUER}/introspect`,
  };

  static async create(...algs: string[]): Promise<TokenIssuer> {
    const issuer = new TokenIssuer();
    for (const alg of algs.length === 0 ? ["ES256"] : algs) await issuer.addKey(alg);
    return issuer;
  }

  async addKey(alg = "ES256", kid = `key-${this.pairs.length + 1}`): Promise<SigningPair> {
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    const pair = { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
    this.pairs.push(pair);
    return pair;
  }

  get keys(): { keys: JWK[] } {
    return { keys: this.pairs.map(({ jwk }) => jwk) };
  }

  readonly fetch = async (input: URL | RequestInfo, init: RequestInit = {}): Promise<Response> => {
    const url = String(input);
    this.asked.push({ url, init });
    const route = this.routes.get(url);
    if (route !== undefined) return route(init);
    if (url === `${ISSUER}/.well-known/oauth-authorization-server`) return Response.json(this.metadata);
    if (url === `${ISSUER}/keys`) return Response.json(this.keys);
    return new Response(null, { status: 404 });
  };

  /** What a verifier of this issuer's tokens is told. */
  get settings() {
    return { issuer: ISSUER, fetch: this.fetch as typeof fetch, now: () => this.now };
  }

  /** How often an address was asked. */
  count(path: string): number {
    return this.asked.filter(({ url }) => url === `${ISSUER}${path}`).length;
  }

  sign(
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
    pair = this.pairs.at(-1),
  ): Promise<string> {
    if (pair === undefined) throw new Error("the issuer has no key");
    const all = {
      iss: ISSUER,
      aud: RESOURCE,
      sub: "ada",
      client_id: "client-1",
      scope: "read write",
      iat: this.now / 1000,
      exp: this.now / 1000 + 600,
      ...claims,
    };
    const protectedHeader = { alg: pair.alg, kid: pair.kid, typ: "at+jwt", ...header };
    return new SignJWT(all).setProtectedHeader(protectedHeader).sign(pair.privateKey);
  }
}
