import type { AuthorizationServer } from "oauth4webapi";
import { AuthError } from "../../protocol/auth-error.js";
import { isPlain, quoted } from "./errors.js";
import type { AuthRun, OAuthHttp } from "./http.js";

export interface ServerMetadataOptions {
  readonly serverMetadata?: AuthorizationServer | readonly AuthorizationServer[] | undefined;
  readonly allowIssuerMismatch?: boolean | undefined;
  /** The identifier is the MCP server's origin, made up by this client: a slash at its end does not matter. */
  readonly isOrigin: boolean;
}

/** The places of an authorization server's metadata, in the order in which they are asked. */
export function metadataCandidates(issuer: string): URL[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
  ];
  if (path !== "") places.push(`${origin}${path}/.well-known/openid-configuration`);
  return places.map((place) => new URL(place));
}

/** Gets the metadata of an issuer; undefined when no place has any. Metadata of another issuer ends the run. */
export async function findServerMetadata(
  http: OAuthHttp,
  issuer: string,
  options: ServerMetadataOptions,
  run: AuthRun,
): Promise<AuthorizationServer | undefined> {
  const known = [options.serverMetadata ?? []].flat().find((each) => each.issuer === issuer);
  if (known !== undefined) return known;
  for (const url of metadataCandidates(issuer)) {
    const document = await http.getDocument(url, run, "server_metadata");
    const stated = document.kind === "absent" ? undefined : document.json.issuer;
    if (document.kind === "absent" || typeof stated !== "string") continue;
    assertIssuer(stated, issuer, options, run);
    return document.json as unknown as AuthorizationServer;
  }
  return undefined;
}

function assertIssuer(stated: string, asked: string, options: ServerMetadataOptions, run: AuthRun): void {
  if (stated === asked || (options.allowIssuerMismatch === true && isPlain(stated))) return;
  if (options.isOrigin && stated === `${asked}/`) return;
  throw new AuthError(
    "issuer",
    `The metadata at ${run.tried.at(-1)} is of the issuer ${quoted(stated)}, not of ${quoted(asked)}`,
    { tried: run.tried },
  );
}

/** What the authorization-code flow takes: a code, and proof that whoever redeems it asked for it. */
export function assertCodeFlow(metadata: AuthorizationServer, guessed: boolean): void {
  if (guessed) return;
  const { response_types_supported: types, code_challenge_methods_supported: methods, issuer } = metadata;
  if (Array.isArray(types) && !types.includes("code")) {
    throw new AuthError("authorize", `The authorization server ${issuer} gives out no codes`);
  }
  if (!Array.isArray(methods) || !methods.includes("S256")) {
    throw new AuthError(
      "authorize",
      `The authorization server ${issuer} does not say that it supports PKCE with S256. If it does, option serverMetadata can say so`,
    );
  }
}
