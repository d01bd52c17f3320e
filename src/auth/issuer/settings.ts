import type { Fetch } from "../../http/client/send.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions, type Resolved, withDefaults } from "../../protocol/known-options.js";
import { normalizeResource } from "../resource.js";
import { isScope } from "../scopes.js";
import { parseWebAddress } from "../web-address.js";
import { privateKeyJwt } from "./clients/assertion.js";
import { secretBasic, secretPost } from "./clients/authentication.js";
import { CODE_GRANT, REFRESH_GRANT } from "./clients/client.js";
import { Clients } from "./clients/clients.js";
import { DocumentClients } from "./clients/document.js";
import { ClientKeys, DocumentFetcher } from "./clients/fetch.js";
import type { MetadataRules } from "./clients/metadata.js";
import type { GrantHandler, IssuerCore, IssuerExtension, Login } from "./core.js";
import { createDpop } from "./dpop.js";
import { createAssertions, JWT_BEARER } from "./grants/assertion.js";
import { clientCredentials } from "./grants/client-credentials.js";
import { codeGrant } from "./grants/code.js";
import { refreshGrant } from "./grants/refresh.js";
import { Tokens } from "./grants/tokens.js";
import { ISSUER_LIMITS, type IssuerLimits, MOVED_LIMITS } from "./limits.js";
import { Consents } from "./login/consents.js";
import { createLocalLogin } from "./login/local.js";
import { createUpstreamLogin } from "./login/upstream.js";
import { ISSUER_OPTIONS, type IssuerOptions, type Lifetimes, type RateLimit } from "./options.js";
import { rateLimiter } from "./rate-limiter.js";
import { isSecureUri } from "./redirect-uri.js";
import { Seal } from "./seal.js";
import { memoryIssuerStore } from "./store/memory.js";
import { type IssuerStore, storeOf } from "./store/store.js";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Returns the default rate limit. It limits registrations, because these could evict all clients without a grant. */
function defaultLimit({ maxRegistrationsPerMinute: requests }: IssuerLimits, now: () => number): RateLimit {
  return rateLimiter({ allow: { register: { requests } }, now });
}

/** Validates the options and creates everything that the endpoints share. Throws for options that cannot work. */
export function createCore(options: IssuerOptions, guardedFetch: Fetch): IssuerCore {
  if (typeof options?.issuer !== "string")
    throw new DefinitionError('createIssuer: issuer is missing or not a string, such as "https://login.example.com"');
  assertOptions("createIssuer", options, ISSUER_OPTIONS, MOVED_LIMITS);
  assertIssuer(options.issuer);
  const { issuer, now = Date.now } = options;
  const limits = withDefaults(options.limits, ISSUER_LIMITS);
  const store = storeOf(issuer, options.store ?? memoryIssuerStore({ limits, now }));
  const seal = new Seal(options.secrets, now);
  const lifetimes = toLifetimes(options.lifetimes);
  const scopes = toScopes(options.scopes);
  const resources = toResources(options.resources);
  const base = issuer.replace(/\/$/, "");
  const extensions = extensionsOf(options, base, limits);
  const grants = toGrants(extensions);
  const authenticators = [
    secretBasic,
    secretPost,
    privateKeyJwt,
    ...extensions.flatMap(({ authentication = [] }) => authentication),
  ];
  const tokens = new Tokens(issuer, options.keys, store, now, { ...limits, ...lifetimes });
  const rules = {
    methods: ["none", ...authenticators.map(({ method }) => method)],
    grantTypes: [CODE_GRANT, REFRESH_GRANT],
    reservedGrantTypes: [...new Set([...grants.keys(), JWT_BEARER])].filter((type) => !OPEN_GRANTS.has(type)),
    scopes: [...scopes.keys()],
    maxItems: limits.maxMetadataItems,
    maxChars: limits.maxMetadataChars,
  };
  return {
    issuer,
    base,
    name: options.name ?? new URL(issuer).host,
    resources,
    defaultResource: toDefaultResource(options, resources),
    scopes,
    defaultScopes: options.defaultScopes ?? [...scopes.keys()],
    options,
    rateLimit: options.rateLimit === false ? undefined : (options.rateLimit ?? defaultLimit(limits, now)),
    limits,
    lifetimes,
    rules,
    store,
    seal,
    ...createClients(options, rules, store, limits, now, guardedFetch),
    tokens,
    consents: new Consents(issuer, seal, now, { ...limits, ...lifetimes }),
    login: toLogin(options),
    grants,
    authenticators,
    extensions,
    endGrant: async (grantId, expiresAt, owner) => {
      await tokens.revoke(grantId, expiresAt, owner);
      await store.delete(`upstream-tokens:${grantId}`);
    },
    approves: async (question) => (await options.approve?.(question)) === true,
    onError: (error) => options.onError?.(error),
    now,
  };
}

function createClients(
  { clients = [], clientDocuments = true }: IssuerOptions,
  rules: MetadataRules,
  store: IssuerStore,
  limits: IssuerLimits,
  now: () => number,
  guardedFetch: Fetch,
): Pick<IssuerCore, "clients" | "clientKeys"> {
  const given = typeof clientDocuments === "object" ? clientDocuments : {};
  const options = { ...given, fetch: given.fetch ?? guardedFetch };
  const fetcher = new DocumentFetcher(options, limits, now);
  const documents = clientDocuments === false ? undefined : new DocumentClients(options, fetcher, rules, limits, now);
  const known = new Clients(clients, documents, fetcher, store, limits, now);
  return { clients: known, clientKeys: new ClientKeys(fetcher, limits, now) };
}

/** Grants that a client may obtain by registration or a metadata document. */
const OPEN_GRANTS = new Set([CODE_GRANT, REFRESH_GRANT]);

function assertIssuer(issuer: string): void {
  const href = isSecureUri(issuer) && !/[?#]/.test(issuer) ? new URL(issuer).href : "";
  // Clients compare the issuer as text, so only the normalized form is accepted.
  if (href !== "" && [href, href.replace(/\/$/, "")].includes(issuer)) return;
  throw new DefinitionError(
    `createIssuer: issuer must be a normalized URL, https or http on localhost, 127.0.0.1 or [::1], without query and fragment, got ${JSON.stringify(issuer)}`,
  );
}

function toLifetimes(given: Lifetimes = {}): Resolved<Lifetimes> {
  const { codeMs = MINUTE, accessTokenMs = 15 * MINUTE, grantMs = 30 * DAY, consentMs = 30 * DAY } = given;
  if (codeMs > 10 * MINUTE)
    throw new DefinitionError(`createIssuer: lifetimes.codeMs must be at most ${10 * MINUTE}, got ${codeMs}`);
  return { codeMs, accessTokenMs, grantMs, consentMs };
}

function toScopes(scopes: IssuerOptions["scopes"] = []): ReadonlyMap<string, string> {
  const entries = Array.isArray(scopes) ? scopes.map((scope: string) => [scope, ""] as const) : Object.entries(scopes);
  for (const [scope] of entries) {
    if (!isScope(scope))
      throw new DefinitionError(`createIssuer: scopes: ${JSON.stringify(scope)} is not a valid scope`);
  }
  return new Map(entries as [string, string][]);
}

function toResources(given: IssuerOptions["resources"]): readonly string[] {
  if (!Array.isArray(given))
    throw new DefinitionError("createIssuer: resources is missing or not a list; set the URLs of the MCP servers");
  const resources = given.map(toResource);
  for (const resource of resources) {
    if (normalizeResource(resource) === undefined || parseWebAddress(resource) === undefined)
      throw new DefinitionError(`createIssuer: resources: ${JSON.stringify(resource)} is not a normalized http(s) URL`);
  }
  if (resources.length === 0) throw new DefinitionError("createIssuer: resources must name at least one MCP server");
  return resources;
}

/** Returns a resource as text. A `URL` without path and query loses its trailing slash, as in resource metadata. */
function toResource(resource: string | URL): string {
  if (typeof resource === "string") return resource;
  return resource.pathname === "/" && resource.search === "" ? resource.origin : resource.href;
}

function toDefaultResource({ defaultResource }: IssuerOptions, resources: readonly string[]): string | undefined {
  if (defaultResource === undefined) return resources.length === 1 ? resources[0] : undefined;
  const key = normalizeResource(toResource(defaultResource));
  const found = resources.find((resource) => normalizeResource(resource) === key);
  if (found === undefined)
    throw new DefinitionError(
      `createIssuer: defaultResource must be one of resources, got ${JSON.stringify(defaultResource)}`,
    );
  return found;
}

function toGrants(extensions: IssuerCore["extensions"]): ReadonlyMap<string, GrantHandler> {
  const added = extensions.flatMap(({ grants = {} }) => Object.entries(grants));
  return new Map([[CODE_GRANT, codeGrant], [REFRESH_GRANT, refreshGrant], ...added]);
}

function toLogin({ user, upstream }: IssuerOptions): Login {
  if (user !== undefined && upstream === undefined) return createLocalLogin(user);
  if (user === undefined && upstream !== undefined) return createUpstreamLogin(upstream);
  throw new DefinitionError("createIssuer: set either user or upstream");
}

/** Creates the extensions that the options enable. */
function extensionsOf(options: IssuerOptions, base: string, limits: IssuerLimits): readonly IssuerExtension[] {
  const { dpop = false, identityAssertion, workloadIdentity, now = Date.now } = options;
  const extensions: IssuerExtension[] = [];
  if (dpop !== false) extensions.push(createDpop(dpop === true ? {} : dpop, `${base}/token`, limits, now));
  if (options.clientCredentials === true) extensions.push(clientCredentials);
  if (identityAssertion !== undefined || workloadIdentity !== undefined) {
    extensions.push(createAssertions(identityAssertion, workloadIdentity));
  }
  return extensions;
}
