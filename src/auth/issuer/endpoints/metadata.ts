import { ASSERTION_ALGORITHMS } from "../clients/assertion.js";
import type { IssuerCore } from "../core.js";
import { json } from "../http.js";

/** Returns the path of the metadata by RFC 8414: the well-known segment goes between host and path of the issuer. */
export function metadataPath(issuer: string): string {
  return `/.well-known/oauth-authorization-server${new URL(issuer).pathname.replace(/\/$/, "")}`;
}

/** Returns the metadata, derived from the enabled features. */
export function metadataOf(core: IssuerCore): Readonly<Record<string, unknown>> {
  const { base, options, scopes } = core;
  const methods = ["none", ...core.authenticators.map(({ method }) => method)];
  const signed = methods.includes("private_key_jwt") ? ASSERTION_ALGORITHMS : undefined;
  const revocation = options.revocation !== false;
  return {
    issuer: core.issuer,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    jwks_uri: `${base}/jwks`,
    registration_endpoint: options.registration === false ? undefined : `${base}/register`,
    revocation_endpoint: revocation ? `${base}/revoke` : undefined,
    scopes_supported: scopes.size === 0 ? undefined : [...scopes.keys()],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: [...core.grants.keys()],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: signed,
    revocation_endpoint_auth_methods_supported: revocation ? methods : undefined,
    revocation_endpoint_auth_signing_alg_values_supported: revocation ? signed : undefined,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: options.issParameter === false ? undefined : true,
    client_id_metadata_document_supported: options.clientDocuments === false ? undefined : true,
    ...Object.assign({}, ...core.extensions.map(({ metadata }) => metadata)),
  };
}

export async function metadata(core: IssuerCore): Promise<Response> {
  return json(200, metadataOf(core), { "cache-control": "public, max-age=300" });
}

export async function jwks(core: IssuerCore): Promise<Response> {
  return json(200, await core.tokens.jwks(), { "cache-control": "public, max-age=300" });
}
