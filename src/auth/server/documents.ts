import { DefinitionError } from "../../protocol/errors.js";
import { isLoopback } from "../addresses.js";
import type { AuthorizationServerClient } from "../authorization-server.js";
import { parseWebAddress } from "../web-address.js";
import type { GateLimits } from "./limits.js";

/** HTTP response with a metadata document. */
export interface DocumentReply {
  readonly status: number;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | undefined;
}

/** Metadata of a protected resource (RFC 9728). */
export interface ResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly string[];
  readonly [member: string]: unknown;
}

const MIRROR_PATH = "/.well-known/oauth-authorization-server";
const PUBLIC = { "access-control-allow-origin": "*" };
const JSON_HEADERS = { ...PUBLIC, "content-type": "application/json", "cache-control": "public, max-age=300" };
const ALLOWED = "GET, HEAD, OPTIONS";
const PREFLIGHT = {
  ...PUBLIC,
  "access-control-allow-methods": ALLOWED,
  "access-control-allow-headers": "accept, authorization, content-type, mcp-protocol-version",
  "access-control-max-age": "7200",
};

/** Serializes the metadata. Members with the value undefined are left out. */
export function toMetadata(members: ResourceMetadata): string {
  return JSON.stringify(members);
}

/**
 * Throws unless there is an issuer, and each is a normalized https URL, or http URL on this machine, without query and
 * fragment.
 */
export function assertIssuers(issuers: readonly string[]): void {
  if (issuers.length === 0) throw new DefinitionError("protect: authorizationServers must name at least one issuer");
  for (const issuer of issuers) {
    const url = parseWebAddress(issuer);
    const secure = url !== undefined && (url.protocol === "https:" || isLoopback(url.hostname));
    if (secure && !/[?#]/.test(issuer)) continue;
    throw new DefinitionError(
      `protect: authorizationServers: ${JSON.stringify(issuer)} is not a normalized https URL without query and fragment`,
    );
  }
}

/** Public metadata documents of a protected resource. */
export class ResourceDocuments {
  readonly paths: readonly string[];
  readonly #metadataPaths: readonly string[];
  readonly #metadata: string;
  readonly #mirror: (() => Promise<string>) | undefined;

  constructor(url: URL, metadata: string, mirror: (() => Promise<string>) | undefined) {
    // A resource is the same with and without a trailing slash, so its document is served at both URLs.
    const bare = url.pathname.replace(/\/$/, "");
    this.#metadataPaths = [bare, `${bare}/`];
    this.#metadata = metadata;
    this.#mirror = mirror;
    this.paths = mirror === undefined ? this.#metadataPaths : [...this.#metadataPaths, MIRROR_PATH];
  }

  /** Answers a request for a document. Returns undefined for requests to other paths. */
  answer(method: string, url: string): DocumentReply | Promise<DocumentReply> | undefined {
    const path = url.split("?", 1)[0] ?? "";
    const isMetadata = this.#metadataPaths.includes(path);
    const mirror = path === MIRROR_PATH ? this.#mirror : undefined;
    if (!isMetadata && mirror === undefined) return undefined;
    if (method === "OPTIONS") return { status: 204, headers: PREFLIGHT };
    if (method !== "GET" && method !== "HEAD") return { status: 405, headers: { ...PUBLIC, allow: ALLOWED } };
    if (mirror === undefined) return found(method, this.#metadata);
    return mirror().then(
      (text) => found(method, text),
      () => ({ status: 502, headers: PUBLIC }),
    );
  }
}

function found(method: string, text: string): DocumentReply {
  return { status: 200, headers: JSON_HEADERS, body: method === "HEAD" ? undefined : text };
}

/** Returns a function that fetches the metadata of an authorization server on demand and caches it. */
export function createMirror(
  issuer: string,
  server: AuthorizationServerClient,
  now: () => number,
  { mirrorMs, keysCooldownMs }: GateLimits,
): () => Promise<string> {
  let kept: { readonly text: Promise<string>; untilMs: number } | undefined;
  return () => {
    if (kept === undefined || now() >= kept.untilMs) {
      const text = server.metadata(issuer).then((json) => JSON.stringify(json));
      const made = { text, untilMs: now() + mirrorMs };
      kept = made;
      // Caches a failure too, so that repeated requests do not each cause a request to the authorization server.
      text.catch(() => {
        made.untilMs = now() + keysCooldownMs;
      });
    }
    return kept.text;
  };
}
