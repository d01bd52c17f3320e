import type { Fetch } from "../../http/client/send.js";
import type { BoundClient, KnownClient } from "../client-auth.js";
import type { Callback } from "./code-flow.js";
import type { DiscoverOptions } from "./discover.js";
import type { DpopOptions } from "./dpop.js";
import type { Grant } from "./grants.js";
import type { ClientMetadata } from "./register.js";
import type { AuthStore } from "./store.js";

export interface AuthorizeContext {
  /** Fires when nobody waits for the user any more, or time is up. */
  readonly signal: AbortSignal;
}

/** Options of an authorization, whether or not its author names the authorization server. */
export interface CommonOAuthOptions extends Omit<DiscoverOptions, "issuer"> {
  /**
   * Sends the user to the address and returns what came back: the address that the browser was sent to, or its parameters.
   * Returns nothing when this program cannot wait for that; `finish` takes what comes back later.
   */
  readonly authorize?: (url: URL, context: AuthorizeContext) => Callback | undefined | Promise<Callback | undefined>;
  /** Where the browser is sent back to. */
  readonly redirectUrl?: string;
  /** The https address of this client's metadata document. */
  readonly clientMetadataUrl?: string;
  /** The key named in that document, for clients that have one. */
  readonly clientKey?: Pick<KnownClient, "key" | "keyId" | "alg" | "assertion">;
  /** The name that users see. */
  readonly clientName?: string;
  /**
   * What to say about the client where it registers itself, beside what is filled in.
   * @deprecated by PR 2858 of the protocol; may go with the first revision that is released on or after 28 July 2027. A
   * metadata document (`clientMetadataUrl`) takes its place.
   */
  readonly registration?: ClientMetadata;
  /** Whether the runtime warns, once per process, of features that the protocol has deprecated. */
  readonly warnDeprecated?: boolean;
  /** The scope to ask for where the server names none. */
  readonly scope?: string;
  /** Further parameters of authorization and token requests, such as `audience` where `resource` is not understood. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Where tokens are kept; in memory unless told otherwise. */
  readonly store?: AuthStore;
  /** Bind tokens to a key. */
  readonly dpop?: boolean | DpopOptions;
  /** How often one message may ask for more scope (once, unless told otherwise, and twice at most); `"throw"` never asks. */
  readonly stepUp?: number | "throw";
  /** The longest that one authorization may take, the user included. Five minutes unless told otherwise. */
  readonly deadlineMs?: number;
  /** Carries all requests, those to the MCP server included. */
  readonly fetch?: Fetch;
  /** Servers, metadata and endpoints over plain HTTP on other machines. Weakens security. */
  readonly allowInsecure?: boolean;
  /** Metadata and endpoints at private addresses, though the MCP server itself is at a public one. */
  readonly allowPrivateAddresses?: boolean;
  /** Resolves names, so that private addresses behind them are refused as well. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
  /** The time, in milliseconds since 1970. */
  readonly now?: () => number;
}

/** The author names the one authorization server. Credentials go there and nowhere else. */
export interface PinnedOAuthOptions extends CommonOAuthOptions {
  /** The only issuer to trust, exactly as it publishes itself. A server that is guarded by another one gets nothing. */
  readonly issuer: string;
  /** A way to tokens without a user: `clientCredentials()`, `workloadIdentity()`, `identityAssertion()`. */
  readonly grant?: Grant;
  /** The client that the issuer already knows. */
  readonly client?: KnownClient | readonly KnownClient[];
}

/** The MCP server names its authorization server: each client that is known beforehand names its own. */
export interface OpenOAuthOptions extends CommonOAuthOptions {
  readonly issuer?: undefined;
  /** A grant sends a credential, so it needs `issuer`. */
  readonly grant?: undefined;
  /** Clients that authorization servers already know, each with its issuer. */
  readonly client?: BoundClient | readonly BoundClient[];
}

export type OAuthOptions = PinnedOAuthOptions | OpenOAuthOptions;
