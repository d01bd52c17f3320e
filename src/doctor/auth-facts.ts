import type { TokenChallenge } from "../auth/client/challenge.js";
import type { Heard } from "./http-facts.js";

/** How a server at a URL asks for tokens, and the token at hand. */
export interface AuthFacts {
  readonly url: URL;
  /** Refusal of a request without a token. Undefined if the server needs none. */
  readonly refused?: RefusalFacts | undefined;
  readonly token?: TokenFacts | undefined;
}

export interface RefusalFacts {
  readonly heard: Heard;
  readonly challenge: TokenChallenge | undefined;
  /** Addresses at which the metadata of the resource was looked for. */
  readonly tried: readonly Tried[];
  readonly resource?: ResourceFacts | undefined;
  readonly issuers: readonly IssuerFacts[];
}

/** Request for a document of metadata. */
export interface Tried {
  readonly url: string;
  readonly status: number | undefined;
  /** Why there is no document. Undefined if there is one. */
  readonly problem: string | undefined;
  /** True if the address was not requested, since it is private, or not secure. */
  readonly isRefused: boolean;
  readonly ms: number;
  readonly lines: readonly number[];
}

/** Metadata of the resource. */
export interface ResourceFacts {
  readonly at: string;
  readonly resource: unknown;
  readonly issuers: readonly unknown[];
  readonly scopes: readonly unknown[];
  readonly lines: readonly number[];
}

/** An authorization server that the metadata names. */
export interface IssuerFacts {
  readonly named: string;
  readonly tried: readonly Tried[];
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly lines: readonly number[];
}

/** The token that is sent, as far as it can be read. */
export interface TokenFacts {
  readonly scheme: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Seconds until it expires. */
  readonly secondsLeft: number | undefined;
  /** True if the server serves requests with it. */
  readonly isAccepted: boolean;
}
