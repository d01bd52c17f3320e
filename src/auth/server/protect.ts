import type { GateAdmission, GateRefusal, HttpExchange } from "../../http/exchange.js";
import type { HttpGate } from "../../http/gate.js";
import { atCaller } from "../../protocol/at-caller.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { AuthorizationServerClient, type AuthorizationServerOptions } from "../authorization-server.js";
import { DPOP_OPTIONS, DpopCheck, type DpopOptions } from "../dpop/check.js";
import { assertResource, resourceMetadataUrl } from "../resource.js";
import type { TokenInfo, TokenVerifier } from "./auth-info.js";
import { assertIssuers, createMirror, type DocumentReply, ResourceDocuments, toMetadata } from "./documents.js";
import { BearerGate } from "./gate.js";
import { GATE_LIMITS, type GateLimits, MOVED_LIMITS } from "./limits.js";
import { offlineWarning, SCOPE_OPTIONS, type ScopeOptions, ScopeRules, toScopes } from "./scopes.js";

/** Options of `protect`. */
export interface ProtectOptions extends ScopeOptions, Pick<AuthorizationServerOptions, "fetch" | "now"> {
  /** Verifies access tokens: `jwtVerifier`, `introspectionVerifier` or a function of your own. */
  readonly verify: TokenVerifier;
  /**
   * URL of this MCP server as clients know it. It is the audience that tokens must have and the resource in the
   * metadata, and it determines the URL of the metadata in challenges. Without it the gate accepts tokens with any
   * audience, with a warning unless `verifierChecksAudience` is set.
   */
  readonly resource?: string | URL | undefined;
  /**
   * Issuers that the metadata names to clients, spelt exactly as they name themselves. With `resource`, at least one is
   * required. `verify` decides whose tokens are accepted.
   */
  readonly authorizationServers?: readonly string[] | undefined;
  /**
   * Accepts tokens without an audience, because the verifier checks it. A token with another audience is still
   * rejected.
   * @default false
   */
  readonly verifierChecksAudience?: boolean | undefined;
  /**
   * Rejects tokens without expiry.
   * @default false
   */
  readonly requireExpiry?: boolean | undefined;
  /**
   * Returns the principal, a string that identifies the caller.
   * @default issuer, client id and subject
   */
  readonly principal?: ((info: TokenInfo) => string | undefined) | undefined;
  /** Accepts access tokens that are bound to a key of the client (RFC 9449). Off by default. */
  readonly dpop?: DpopOptions | true | undefined;
  /**
   * Scopes that the metadata lists. Clients request them if a challenge names no scope.
   * @default `scopes`
   */
  readonly scopesSupported?: readonly string[] | undefined;
  /** Name of this server for users. */
  readonly name?: string | undefined;
  /** URL of documentation for developers. */
  readonly documentation?: string | undefined;
  /** Additional members of the metadata. */
  readonly metadata?: { readonly [member: string]: unknown } | undefined;
  /**
   * Serves the metadata of the first authorization server at this origin too, for clients of revision 2025-03-26, which
   * do not know resource metadata.
   * @default false
   */
  readonly mirrorMetadata?: boolean | undefined;
  /** Limits of the gate, each with a default. */
  readonly limits?: Optional<GateLimits> | undefined;
}

const OPTIONS: Known<ProtectOptions> = {
  ...SCOPE_OPTIONS,
  fetch: "function",
  now: "function",
  verify: "any",
  resource: [{ string: "any", object: "any" }],
  authorizationServers: [{ array: "string" }],
  verifierChecksAudience: "boolean",
  requireExpiry: "boolean",
  principal: "function",
  dpop: [{ boolean: [true], object: DPOP_OPTIONS }],
  scopesSupported: [{ array: "string" }],
  name: "string",
  documentation: "string",
  metadata: "object",
  mirrorMetadata: "boolean",
  limits: GATE_LIMITS,
};

/** Gate for `http.gate`, and its parts for other HTTP servers. */
export interface Protection extends HttpGate {
  (exchange: HttpExchange): Promise<GateAdmission | GateRefusal>;
  readonly paths: readonly string[];
  readonly warnings: readonly string[];
  readonly route: (exchange: HttpExchange) => boolean;
  /** Answers requests for metadata; undefined for all other requests. */
  respond(request: Request): Promise<Response> | undefined;
  /** Authorizes a request. Returns the admission, or the response to send instead. */
  check(request: Request): Promise<GateAdmission | Response>;
}

/**
 * Protects a server by access tokens.
 *
 * @example
 * ```ts
 * const issuer = "https://login.example.com";
 * const gate = protect({
 *   resource: "https://mcp.example.com/mcp",
 *   authorizationServers: [issuer],
 *   verify: jwtVerifier({ issuer }),
 * });
 * const server = new McpServer({ name: "weather", version: "1.0.0" }, { http: { gate } });
 * ```
 */
export function protect(options: ProtectOptions): Protection {
  return atCaller(protect, () => createProtection(options ?? ({} as ProtectOptions)));
}

function createProtection(options: ProtectOptions): Protection {
  assertOptions("protect", options, OPTIONS, MOVED_LIMITS);
  const { now = Date.now } = options;
  const resource = options.resource?.toString();
  if (typeof options.verify !== "function")
    throw new DefinitionError(
      "protect: verify is missing or not a function; set jwtVerifier({ issuer }) or a function of your own",
    );
  if (resource === undefined && options.authorizationServers !== undefined) {
    throw new DefinitionError("protect: authorizationServers requires resource, the URL of this server");
  }
  const limits = withDefaults(options.limits, GATE_LIMITS);
  const canonical = resource === undefined ? undefined : assertResource(resource);
  const scopes = new ScopeRules(options);
  const dpop = options.dpop === undefined ? undefined : new DpopCheck(toDpop(options.dpop), canonical, limits, now);
  const documents = resource === undefined ? undefined : createDocuments(resource, options, scopes, dpop, limits);
  const gate = new BearerGate({
    verify: options.verify,
    scopes,
    dpop,
    metadataUrl: resource === undefined ? undefined : resourceMetadataUrl(resource).href,
    maxTokenBytes: limits.maxTokenBytes,
    principalOf: options.principal ?? principalOf,
    rules: {
      resource: canonical,
      verifierChecksAudience: options.verifierChecksAudience === true,
      requireExpiry: options.requireExpiry === true,
      now,
    },
  });
  const route = (exchange: HttpExchange): boolean => {
    const answer = documents?.answer(exchange.method, exchange.url);
    if (answer === undefined) return false;
    const reply = ({ status, headers, body }: DocumentReply) => exchange.reply(status, headers, body);
    if (answer instanceof Promise) answer.then(reply);
    else reply(answer);
    return true;
  };
  return Object.assign((exchange: HttpExchange) => gate.check(exchange), {
    paths: documents?.paths ?? [],
    warnings: [
      ...(resource === undefined && options.verifierChecksAudience !== true ? [ANY_AUDIENCE] : []),
      ...offlineWarning("scopes", options.scopes),
      ...offlineWarning("scopesSupported", options.scopesSupported),
    ],
    route,
    respond: (request: Request) => respond(documents, request),
    check: (request: Request) => checkRequest(gate, request),
  });
}

const ANY_AUDIENCE =
  "protect: without resource, tokens for any audience are accepted; set resource, or verifierChecksAudience if the verifier checks it";

function toDpop(dpop: DpopOptions | true): DpopOptions {
  return dpop === true ? {} : dpop;
}

function createDocuments(
  resource: string,
  options: ProtectOptions,
  scopes: ScopeRules,
  dpop: DpopCheck | undefined,
  limits: GateLimits,
): ResourceDocuments {
  const { authorizationServers = [], scopesSupported, mirrorMetadata, now = Date.now } = options;
  assertIssuers(authorizationServers);
  const supported = scopesSupported === undefined ? scopes.base : toScopes("scopesSupported", scopesSupported);
  const metadata = toMetadata({
    ...options.metadata,
    resource,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
    scopes_supported: supported.length === 0 ? undefined : supported,
    resource_name: options.name,
    resource_documentation: options.documentation,
    dpop_signing_alg_values_supported: dpop?.algorithms,
    dpop_bound_access_tokens_required: dpop?.required === true ? true : undefined,
  });
  const [issuer = ""] = authorizationServers;
  const server = new AuthorizationServerClient(options, limits);
  const mirror = mirrorMetadata === true ? createMirror(issuer, server, now, limits) : undefined;
  return new ResourceDocuments(resourceMetadataUrl(resource), metadata, mirror);
}

/**
 * Returns the default principal; undefined if the token names neither client nor user. Introspection may name the user
 * only by `username` (RFC 7662).
 */
function principalOf({ issuer, clientId, subject, claims }: TokenInfo): string | undefined {
  const user = subject ?? claims?.username;
  if (clientId === undefined && user === undefined) return undefined;
  return JSON.stringify([issuer ?? null, clientId ?? null, user ?? null]);
}

function respond(documents: ResourceDocuments | undefined, request: Request): Promise<Response> | undefined {
  const { pathname, search } = new URL(request.url);
  const answer = documents?.answer(request.method, `${pathname}${search}`);
  return answer === undefined ? undefined : Promise.resolve(answer).then(toResponse);
}

async function checkRequest(gate: BearerGate, request: Request): Promise<GateAdmission | Response> {
  const { pathname, search } = new URL(request.url);
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const verdict = await gate.check({ method: request.method, url: `${pathname}${search}`, header });
  return "status" in verdict ? toResponse(verdict) : verdict;
}

function toResponse({ status, headers = {}, body }: GateRefusal | DocumentReply): Response {
  return new Response(body ?? null, { status, headers });
}
