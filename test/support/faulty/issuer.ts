import type { Json } from "./healthy.js";

const RESOURCE = "/.well-known/oauth-protected-resource";
const ISSUER = "/.well-known/oauth-authorization-server";
const SCOPE = "harbour:read";

/**
 * Authorization of a server: its challenge, and the metadata of both, which are at the same origin. A fault changes a
 * document. Nothing is issued: a test makes its tokens by `tokenOf`.
 */
export class ProtectedPart {
  #origin = "";
  #resource = "";
  /** Changes the parameters of the challenge; undefined sends none. */
  challengeOf: (params: Readonly<Record<string, string>>) => Readonly<Record<string, string>> | undefined = (params) =>
    params;
  /** Changes the metadata of the resource; undefined publishes none. */
  resourceOf: (metadata: Json) => Json | undefined = (metadata) => metadata;
  /** Changes the metadata of the authorization server. */
  issuerOf: (metadata: Json) => Json = (metadata) => metadata;

  /** Takes the addresses of the server, once it listens. */
  settle(origin: string, resource: string): void {
    this.#origin = origin;
    this.#resource = resource;
  }

  documentAt(path: string): { readonly status: number; readonly json: Json } | undefined {
    if (!path.startsWith("/.well-known/")) return undefined;
    const json = this.#documents()[path];
    return json === undefined ? { status: 404, json: { error: "not_found" } } : { status: 200, json };
  }

  /** Returns the headers of the refusal of a request, or undefined if it has a token of any kind. */
  challenge(authorization: string | undefined): Readonly<Record<string, string>> | undefined {
    if (/^Bearer ./.test(authorization ?? "")) return undefined;
    const params = this.challengeOf({ resource_metadata: `${this.#origin}${this.#place}`, scope: SCOPE });
    if (params === undefined) return {};
    const told = Object.entries(params).map(([name, value]) => `${name}="${value}"`);
    return { "www-authenticate": `Bearer ${told.join(", ")}` };
  }

  /** Creates an access token of the claims that a healthy one has, and those given. */
  tokenOf(seconds: number, claims: Json = {}): string {
    const part = (json: Json) => Buffer.from(JSON.stringify(json)).toString("base64url");
    const healthy = { iss: this.#issuer, aud: this.#resource, scope: SCOPE, sub: "Maria", exp: seconds + 3600 };
    return `${part({ alg: "ES256", typ: "at+jwt" })}.${part({ ...healthy, ...claims })}.c2lnbmF0dXJl`;
  }

  get #place(): string {
    return `${RESOURCE}${new URL(this.#resource).pathname}`;
  }

  get #issuer(): string {
    return `${this.#origin}/issuer`;
  }

  #documents(): Record<string, Json | undefined> {
    const issuer = this.#issuer;
    return {
      [this.#place]: this.resourceOf({
        resource: this.#resource,
        authorization_servers: [issuer],
        scopes_supported: [SCOPE],
        bearer_methods_supported: ["header"],
      }),
      [`${ISSUER}/issuer`]: this.issuerOf({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        registration_endpoint: `${issuer}/register`,
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        scopes_supported: [SCOPE],
      }),
    };
  }
}
