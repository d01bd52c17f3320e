import type { GateAdmission, GateRefusal, HttpExchange } from "../../http/exchange.js";
import type { HttpGate } from "../../http/gate.js";
import { DefinitionError } from "../../protocol/errors.js";
import { resolveLimits } from "../../protocol/known-options.js";
import { AuthorizationServerClient, type AuthorizationServerOptions } from "../authorization-server.js";
import { DpopCheck, type DpopOptions } from "../dpop/check.js";
import { assertResource, resourceMetadataUrl } from "../resource.js";
import type { AuthInfo, TokenVerifier } from "./auth-info.js";
import { assertIssuers, createMirror, type DocumentReply, ResourceDocuments, toMetadata } from "./documents.js";
import { BearerGate } from "./gate.js";
import { GATE_LIMITS, type GateLimits } from "./limits.js";
import { offlineWarning, type ScopeOptions, ScopeRules, toScopes } from "./scopes.js";

export interface ProtectOptions extends ScopeOptions, Pick<AuthorizationServerOptions, "fetch" | "now"> {
  /** Tells what tokens stand for: `jwtVerifier`, `introspectionVerifier` or the author's own. */
  readonly verify: TokenVerifier;
  /**
   * The address of this MCP server as its clients know it. It is the audience that tokens must have, the resource in the
   * metadata, and where challenges say that the metadata is. Without it tokens for anything are taken, with a warning.
   */
  readonly resource?: string;
  /** The issuers whose tokens are good here, exactly as they write themselves. At least one with a resource. */
  readonly authorizationServers?: readonly string[];
  /** The verifier answers for the audience of tokens that state none. Those that state another are refused all the same. */
  readonly verifierChecksAudience?: boolean;
  /** Refuses tokens that do not say when they expire. */
  readonly requireExpiry?: boolean;
  /** Who is calling, in one word; by issuer, client and subject unless given. */
  readonly principal?: (info: AuthInfo) => string | undefined;
  readonly dpop?: DpopOptions | true;
  /** The scopes that the metadata names, for clients that are told none; `scopes` unless given. */
  readonly scopesSupported?: readonly string[];
  /** What people call this server. */
  readonly name?: string;
  /** A page for developers. */
  readonly documentation?: string;
  /** Further members of the metadata. */
  readonly metadata?: { readonly [member: string]: unknown };
  /** Repeats the metadata of the first authorization server at this origin, for clients older than resource metadata. */
  readonly mirrorMetadata?: boolean;
  /** The bounds of the gate, each with a default. */
  readonly limits?: Partial<GateLimits>;
}

/** A gate for `http.gate`, and its parts for those who serve in another way. */
export interface Protection extends HttpGate {
  (exchange: HttpExchange): Promise<GateAdmission | GateRefusal>;
  readonly paths: readonly string[];
  readonly warnings: readonly string[];
  readonly route: (exchange: HttpExchange) => boolean;
  /** Answers requests for the metadata; undefined for everything else. */
  respond(request: Request): Promise<Response> | undefined;
  /** Who sends a request, or the answer to give instead. */
  check(request: Request): Promise<GateAdmission | Response>;
}

/** Protects a server by access tokens: `new McpServer(info, { http: { gate: protect({ ... }) } })`. */
export function protect(options: ProtectOptions = {} as ProtectOptions): Protection {
  const { resource, now = Date.now } = options;
  if (typeof options.verify !== "function")
    throw new DefinitionError("protect: verify is missing; give jwtVerifier({ issuer }), or a function of your own");
  if (resource === undefined && options.authorizationServers !== undefined) {
    throw new DefinitionError(
      "authorizationServers needs the resource: without it there is no metadata to name them in",
    );
  }
  const limits = resolveLimits("protect", options.limits, GATE_LIMITS);
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
  "protect: without a resource, tokens that were made for other servers are taken too; verifierChecksAudience says that the verifier refuses them";

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

/** Undefined where the token says nothing of who it is for. A user may have a name alone (RFC 7662). */
function principalOf({ issuer, clientId, subject, claims }: AuthInfo): string | undefined {
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
