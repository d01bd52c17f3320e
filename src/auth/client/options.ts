import type { Fetch } from "../../http/client/send.js";
import type { Known } from "../../protocol/known-options.js";
import { type BoundClient, CLIENT_CREDENTIALS, KNOWN_CLIENT, type KnownClient } from "../client-auth.js";
import type { Callback } from "./code-flow.js";
import { DISCOVER_OPTIONS, type DiscoverOptions } from "./discover.js";
import { type ClientDpopOptions, DPOP_OPTIONS } from "./dpop.js";
import type { Grant } from "./grants.js";
import type { ClientMetadata } from "./register.js";
import type { AuthStore } from "./store.js";

/** Context of an `authorize` call. */
export interface AuthorizeContext {
  /** Aborts when no caller waits for the user any more, at the deadline, or on `logout`. */
  readonly signal: AbortSignal;
}

/** Options of an authorization, with or without a fixed authorization server. */
export interface CommonOAuthOptions extends Omit<DiscoverOptions, "issuer"> {
  /**
   * Redirects the user to the URL. Returns the URL to which the browser was redirected back, or its parameters. Returns
   * undefined if the program cannot wait for the user; `finish` then takes the response later.
   */
  readonly authorize?:
    | ((url: URL, context: AuthorizeContext) => Callback | undefined | Promise<Callback | undefined>)
    | undefined;
  /** Redirect URI of the client. */
  readonly redirectUrl?: string | URL | undefined;
  /** HTTPS URL of the client's metadata document. */
  readonly clientMetadataUrl?: string | URL | undefined;
  /**
   * Private key that matches a public key in the metadata document, or an assertion in its place. Set it if the client
   * authenticates with `private_key_jwt`.
   */
  readonly clientKey?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion"> | undefined;
  /** Client name that users see on the consent page, if the client registers itself. */
  readonly clientName?: string | undefined;
  /**
   * Client metadata for dynamic registration, in addition to the members that are filled in.
   * @deprecated by PR 2858 of the protocol; may be removed in the first protocol revision released on or after 28 July
   * 2027. Use a metadata document (`clientMetadataUrl`) instead.
   */
  readonly registration?: ClientMetadata | undefined;
  /**
   * Warns, once per process, of features that the protocol has deprecated.
   * @default true
   */
  readonly warnDeprecated?: boolean | undefined;
  /** Scope to request if the server names none. */
  readonly scope?: string | undefined;
  /**
   * Additional parameters of authorization and token requests, such as `audience` for servers that ignore `resource`.
   */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /**
   * Store of tokens, clients and attempts.
   * @default a store in memory
   */
  readonly store?: AuthStore | undefined;
  /**
   * Binds tokens to a key (DPoP).
   * @default false
   */
  readonly dpop?: boolean | ClientDpopOptions | undefined;
  /**
   * Maximum number of times that one message may request more scope; at most 2. After that, or with `"throw"`, the
   * message is rejected with an error.
   * @default 1
   */
  readonly stepUp?: number | "throw" | undefined;
  /**
   * Maximum duration of an authorization in milliseconds, including the time the user takes.
   * @default 300_000
   */
  readonly deadlineMs?: number | undefined;
  /** Sends all requests, including those to the MCP server. */
  readonly fetch?: Fetch | undefined;
  /**
   * Allows plain HTTP to MCP servers, metadata and endpoints on other machines. Weakens security.
   * @default false
   */
  readonly allowInsecure?: boolean | undefined;
  /**
   * Allows metadata and endpoints at private addresses even if the MCP server is at a public address.
   * @default false
   */
  readonly allowPrivateAddresses?: boolean | undefined;
  /** Resolves host names, so that names of private addresses are rejected too. */
  readonly resolve?: ((hostname: string) => Promise<readonly string[]>) | undefined;
  /** Returns the current time in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Options with a fixed authorization server. Credentials are sent only there. */
export interface PinnedOAuthOptions extends CommonOAuthOptions {
  /**
   * Issuer of the only trusted authorization server, exactly as it is published. An MCP server with another
   * authorization server gets no token.
   */
  readonly issuer: string;
  /** Grant without a user: `clientCredentials()`, `workloadIdentity()` or `identityAssertion()`. */
  readonly grant?: Grant | undefined;
  /** Client, or clients, registered in advance at the issuer. */
  readonly client?: KnownClient | readonly KnownClient[] | undefined;
}

/** Options without a fixed authorization server: the MCP server names it. Each client in `client` names its issuer. */
export interface OpenOAuthOptions extends CommonOAuthOptions {
  readonly issuer?: undefined;
  /** Requires `issuer`, because a grant sends a credential. */
  readonly grant?: undefined;
  /** Clients registered in advance, each with its issuer. */
  readonly client?: BoundClient | readonly BoundClient[] | undefined;
}

export type OAuthOptions = PinnedOAuthOptions | OpenOAuthOptions;

/** Options of `oauth`, and a member of the object that `openLoopback` returns, which may be among them. */
export const OAUTH_OPTIONS: Known<PinnedOAuthOptions & { readonly close: () => void }> = {
  ...DISCOVER_OPTIONS,
  issuer: "string",
  authorize: "function",
  redirectUrl: [{ string: "any", object: "any" }],
  clientMetadataUrl: [{ string: "any", object: "any" }],
  clientKey: CLIENT_CREDENTIALS,
  clientName: "string",
  registration: "object",
  warnDeprecated: "boolean",
  scope: "string",
  parameters: [{ map: "string" }],
  store: "object",
  dpop: [{ boolean: "any", object: DPOP_OPTIONS }],
  stepUp: [{ number: "limit", string: ["throw"] }],
  deadlineMs: "ms",
  fetch: "function",
  allowInsecure: "boolean",
  allowPrivateAddresses: "boolean",
  resolve: "function",
  now: "function",
  grant: "object",
  client: [{ object: KNOWN_CLIENT, array: KNOWN_CLIENT }],
  close: "function",
};
