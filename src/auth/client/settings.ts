import type { Fetch } from "../../http/client/send.js";
import { AuthError } from "../../protocol/auth-error.js";
import { assertOptions } from "../../protocol/known-options.js";
import { quoted } from "../../protocol/text.js";
import { isLoopback, isPrivate } from "../addresses.js";
import { assertIssuer } from "../authorization-server.js";
import type { BoundClient } from "../client-auth.js";
import { OAuthHttp } from "../http.js";
import type { DiscoverOptions } from "./discover.js";
import { type ClientDpopOptions, DpopKeys } from "./dpop.js";
import type { Grant } from "./grants.js";
import type { IdentityOptions } from "./identify.js";
import { assertMetadataUrl } from "./metadata-document.js";
import { OAUTH_OPTIONS, type OAuthOptions } from "./options.js";
import { namesSender } from "./redirect.js";
import { AuthRecords, memoryStore } from "./store.js";

/** Validated options with their defaults. */
export interface Settings {
  readonly discoverOptions: DiscoverOptions;
  readonly identity: IdentityOptions;
  readonly grant: Grant | undefined;
  readonly authorize: OAuthOptions["authorize"];
  readonly redirectUrl: string | undefined;
  /** False if the option `registration` lists grant types without `refresh_token`. */
  readonly refreshes: boolean;
  readonly scope: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly records: AuthRecords;
  readonly keys: DpopKeys;
  readonly dpop: ClientDpopOptions | undefined;
  readonly maxStepUps: number;
  readonly throwsOnScope: boolean;
  readonly deadlineMs: number;
  readonly fetch: Fetch;
  readonly now: () => number;
  httpFor(server: URL): OAuthHttp;
}

/** Functions that depend on the platform. */
export interface AuthPlatform {
  readonly fetch: Fetch;
  /** Like `fetch`, but refuses to connect to private addresses where the platform shows the address (Node.js). */
  readonly guardedFetch: Fetch;
  /** Headers of requests for metadata. */
  readonly discoveryHeaders: Readonly<Record<string, string>>;
}

/** Maximum of `stepUp`. With the first authorization, a message redirects the user at most three times. */
const MAX_STEP_UPS = 2;

/** Validates the options and fills in defaults. Throws for options that cannot work. */
export function toSettings(owner: string, options: OAuthOptions, platform: AuthPlatform): Settings {
  assertOptions(owner, options, OAUTH_OPTIONS);
  const { registration, clientName, stepUp = 1 } = options;
  const redirectUrl = options.redirectUrl?.toString();
  const clientMetadataUrl = options.clientMetadataUrl?.toString();
  if (clientMetadataUrl !== undefined) assertMetadataUrl(clientMetadataUrl);
  if (redirectUrl !== undefined) assertRedirectUrl(redirectUrl);
  const records = new AuthRecords(options.store ?? memoryStore());
  const dpop = typeof options.dpop === "object" ? options.dpop : options.dpop === true ? {} : undefined;
  const { fetch = platform.fetch } = options;
  const clients = boundClients(options);
  const named = clientName === undefined ? registration : { client_name: clientName, ...registration };
  return {
    discoverOptions: options,
    identity: {
      clients,
      clientMetadataUrl,
      clientKey: options.clientKey,
      registration: named,
      warnDeprecated: options.warnDeprecated,
      redirectUrl,
      interactive: options.grant === undefined,
      namesSender: (discovery) => namesSender(discovery, options, clients),
    },
    grant: options.grant,
    authorize: options.authorize,
    redirectUrl,
    refreshes: registration?.grant_types?.includes("refresh_token") ?? true,
    scope: options.scope,
    parameters: options.parameters ?? {},
    records,
    keys: new DpopKeys(records, dpop),
    dpop,
    maxStepUps: stepUp === "throw" ? 0 : Math.min(stepUp, MAX_STEP_UPS),
    throwsOnScope: stepUp === "throw",
    deadlineMs: options.deadlineMs ?? 300_000,
    // A `fetch` of the web platform refuses to be called as a method of another object.
    fetch: (url, init) => fetch(url, init),
    now: options.now ?? Date.now,
    httpFor: (server) => httpFor(server, options, platform),
  };
}

function httpFor(server: URL, options: OAuthOptions, platform: AuthPlatform): OAuthHttp {
  const { fetch = platform.fetch, issuer, allowInsecure = false, allowPrivateAddresses = false, resolve } = options;
  // An MCP server on a private network often has its authorization server there too.
  const allowPrivate = allowPrivateAddresses || isPrivate(server.hostname);
  const guarded = allowPrivate ? fetch : (options.fetch ?? platform.guardedFetch);
  // The MCP server and the issuer from the options may be at any address.
  const named = [server, ...(issuer === undefined ? [] : [new URL(issuer)])].map(({ origin }) => origin);
  const send: Fetch = (url, init) => (named.includes(url.origin) ? fetch : guarded)(url, init);
  return new OAuthHttp(send, { allowInsecure, allowPrivate, named, resolve }, platform.discoveryHeaders);
}

/**
 * Returns the clients, each with its issuer. Throws for a credential without an issuer, because it would be sent to any
 * authorization server that an MCP server names.
 */
function boundClients({ issuer, grant, client = [], clientKey }: OAuthOptions): readonly BoundClient[] {
  if (issuer !== undefined) assertIssuer(issuer);
  else if (grant !== undefined) throw unnamed("grant");
  else if (typeof clientKey?.assertion === "string") throw unnamed("clientKey.assertion");
  return [client].flat().map((each) => {
    const owner = each.issuer ?? issuer;
    if (owner === undefined) throw unnamed(`client ${quoted(each.id)}`);
    assertIssuer(owner);
    return { ...each, issuer: owner };
  });
}

function unnamed(option: string): AuthError {
  return new AuthError(
    "configuration",
    `${option} requires the option issuer, so that credentials are sent only there`,
  );
}

function assertRedirectUrl(redirectUrl: string): void {
  const url = URL.canParse(redirectUrl) ? new URL(redirectUrl) : undefined;
  if (url !== undefined && (url.protocol !== "http:" || isLoopback(url.hostname))) return;
  throw new AuthError(
    "configuration",
    `redirectUrl must be an https: URL or an http: URL on a loopback host, or have the app's own scheme, got ${quoted(redirectUrl)}`,
  );
}
