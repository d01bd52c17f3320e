import { AuthError } from "../../protocol/auth-error.js";
import type { Known } from "../../protocol/known-options.js";
import { oneLine, quoted } from "../../protocol/text.js";
import { findServerMetadata, isIssuer } from "../authorization-server.js";
import type { AuthRun, OAuthHttp } from "../http.js";
import { coversServer, resourceIdentifier, resourceMetadataUrl } from "../resource.js";
import { parseWebAddress } from "../web-address.js";
import type { TokenChallenge } from "./challenge.js";
import type { AuthorizationServerMetadata } from "./server-metadata.js";

/** Authorization server of an MCP server, and the resource to name there. It is plain data because it is stored. */
export interface Discovery {
  /** Issuer identifier of the authorization server, exactly as published. */
  readonly issuer: string;
  /** `resource` parameter of requests; undefined if `validateResource` returned undefined. */
  readonly resource: string | undefined;
  /** Scopes that the resource's metadata lists. */
  readonly scopes: readonly string[] | undefined;
  readonly metadata: AuthorizationServerMetadata;
  /** True if there is no metadata and the default endpoints of revision 2025-03-26 are used. */
  readonly guessed: boolean;
}

export interface DiscoverOptions {
  /** Metadata to use in place of the published document, for authorization servers that publish none or too little. */
  readonly serverMetadata?: AuthorizationServerMetadata | readonly AuthorizationServerMetadata[] | undefined;
  /** Issuer of the only trusted authorization server. */
  readonly issuer?: string | undefined;
  /**
   * Chooses among several authorization servers.
   * @default the first
   */
  readonly selectIssuer?: ((issuers: readonly string[]) => string) | undefined;
  /** Returns the `resource` to send, in place of the comparison with the server's URL. Throws to reject the server. */
  readonly validateResource?: ((server: URL, resource: string | undefined) => string | undefined) | undefined;
  /**
   * Accepted differences of issuers. The key is the issuer that the MCP server names, or the MCP server's origin if it
   * names none. The value is the issuer in the metadata of the authorization server. Other differences are refused.
   */
  readonly allowIssuerMismatch?: { readonly [issuer: string]: string } | undefined;
  /**
   * Accepts an authorization server whose responses do not name it (`iss`): it gets the common redirect URI and the
   * client's metadata document. Weakens security if several authorization servers are used.
   * @default false
   */
  readonly allowMissingIss?: boolean | undefined;
}

export const DISCOVER_OPTIONS: Known<DiscoverOptions> = {
  serverMetadata: "any",
  issuer: "string",
  selectIssuer: "function",
  validateResource: "function",
  allowIssuerMismatch: [{ map: "string" }],
  allowMissingIss: "boolean",
};

export interface DiscoverHooks {
  /** Called with the issuer, before any request is sent to it except for metadata. */
  onIssuer(issuer: string): Promise<void>;
}

interface ResourceMetadata {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

/**
 * Finds the authorization server of an MCP server: fetches the metadata of the resource, then that of the authorization
 * server.
 */
export async function discover(
  http: OAuthHttp,
  server: URL,
  challenge: TokenChallenge,
  options: DiscoverOptions & DiscoverHooks,
  run: AuthRun,
): Promise<Discovery> {
  await http.assertServer(server, run);
  const found = await findResourceMetadata(http, server, challenge, run);
  const resource = chooseResource(server, found?.resource, options, run);
  const scopes = found?.scopes;
  if (found === undefined && options.issuer === undefined) {
    const metadata = await findServerMetadata(http, server.origin, { ...options, isOrigin: true }, run);
    // Without resource metadata, the issuer is the MCP server's own origin, whatever issuer the metadata states.
    const issuer = metadata?.issuer === `${server.origin}/` ? metadata.issuer : server.origin;
    await options.onIssuer(issuer);
    return {
      issuer,
      resource,
      scopes,
      metadata: metadata ?? defaults(server),
      guessed: metadata === undefined,
    };
  }
  const issuer = chooseIssuer(found?.issuers, options, run);
  await options.onIssuer(issuer);
  const metadata = await findServerMetadata(http, issuer, { ...options, isOrigin: false }, run);
  if (metadata !== undefined) return { issuer, resource, scopes, metadata, guessed: false };
  throw new AuthError(
    "server_metadata",
    `No metadata of the authorization server ${issuer} was found; requested ${run.tried.join(", ")} (option serverMetadata)`,
    {
      tried: run.tried,
    },
  );
}

/** Fetches the resource's metadata from the URL in the challenge, or else from the well-known URLs, in order. */
async function findResourceMetadata(
  http: OAuthHttp,
  server: URL,
  { resourceMetadata }: TokenChallenge,
  run: AuthRun,
): Promise<ResourceMetadata | undefined> {
  for (const url of resourceCandidates(server, resourceMetadata)) {
    const document = await http.getDocument(url, run, "resource_metadata");
    if (document.kind === "found") {
      const usable = readResourceMetadata(document.json, run);
      if (usable !== undefined) return usable;
    } else if (document.status !== undefined && document.status >= 500) {
      throw new AuthError("resource_metadata", `The resource metadata at ${url.href} has status ${document.status}`, {
        tried: run.tried,
        status: document.status,
      });
    }
  }
  return undefined;
}

/** Returns the URLs at which the metadata of an MCP server may be, in the order in which they are tried. */
export function resourceCandidates(server: URL, named: string | undefined): URL[] {
  const all = [resourceMetadataUrl(server).href, resourceMetadataUrl(server.origin).href];
  if (named !== undefined && parseWebAddress(named) !== undefined) all.unshift(named);
  return [...new Set(all.map((url) => new URL(url).href))].map((url) => new URL(url));
}

/**
 * Reads resource metadata. Returns undefined if it has no resource or no authorization servers. Throws if none of them
 * is a valid issuer.
 */
function readResourceMetadata(
  json: { readonly [member: string]: unknown },
  run: AuthRun,
): ResourceMetadata | undefined {
  const { resource, authorization_servers: servers, scopes_supported: scopes } = json;
  if (typeof resource !== "string" || !Array.isArray(servers) || servers.length === 0) return undefined;
  const issuers = servers.filter(isIssuer);
  if (issuers.length === 0) {
    throw new AuthError(
      "issuer",
      `authorization_servers of the resource metadata has no valid issuer: ${quoted(String(servers))}`,
      {
        tried: run.tried,
      },
    );
  }
  const listed = Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : undefined;
  return { resource, issuers, scopes: listed };
}

function chooseResource(
  server: URL,
  named: string | undefined,
  { validateResource }: DiscoverOptions,
  run: AuthRun,
): string | undefined {
  if (validateResource !== undefined) return validateResource(server, named);
  if (named === undefined) return resourceIdentifier(server);
  if (coversServer(named, server)) return named;
  throw new AuthError(
    "resource_metadata",
    `The resource metadata is for ${quoted(named)}, not for ${resourceIdentifier(server)} (option validateResource)`,
    { tried: run.tried },
  );
}

function chooseIssuer(
  listed: readonly string[] | undefined,
  { issuer, selectIssuer }: DiscoverOptions,
  run: AuthRun,
): string {
  if (listed === undefined) return issuer as string;
  const chosen = issuer ?? selectIssuer?.(listed) ?? (listed[0] as string);
  if (listed.includes(chosen)) return chosen;
  throw new AuthError(
    "issuer",
    `The MCP server lists the issuers ${oneLine(listed.join(", "))}, not ${chosen} (option issuer or selectIssuer)`,
    {
      tried: run.tried,
    },
  );
}

/** Returns the URL of an endpoint from the metadata. Throws if it is missing or not an HTTP URL. */
export function endpointOf(
  { issuer, metadata }: Discovery,
  name: "token_endpoint" | "registration_endpoint" | "revocation_endpoint",
  run: AuthRun,
): URL {
  const endpoint = metadata[name];
  const url = typeof endpoint === "string" && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url !== undefined && /^https?:$/.test(url.protocol)) return url;
  const got = quoted(String(endpoint));
  throw new AuthError("configuration", `${name} of ${issuer} must be an HTTP URL, got ${got}`, { tried: run.tried });
}

/** Returns the default endpoints of revision 2025-03-26, for servers without metadata. */
function defaults({ origin }: URL): AuthorizationServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  };
}
