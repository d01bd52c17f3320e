import type { JWTPayload } from "jose";
import type { IssuerKeyOptions } from "../server/issuer-keys.js";
import type { IssuerClient } from "./clients/client.js";

/** Somebody whose assertions are believed. */
export type TrustedIssuer = Pick<
  IssuerKeyOptions,
  "issuer" | "jwksUri" | "keys" | "algorithms" | "fetch" | "timeoutMs" | "maxAgeMs" | "cooldownMs"
>;

/** Takes the word of a company's identity provider for its users (an ID-JAG). */
export interface IdentityAssertionOptions {
  readonly providers: readonly TrustedIssuer[];
  /**
   * Whom an assertion is about, in this server's own words; nobody refuses it. Its `sub` unless given: with
   * several providers it has to be, since two of them may have users of the same name.
   */
  readonly subject?: (claims: JWTPayload, client: IssuerClient) => string | undefined | Promise<string | undefined>;
}

/** What a workload may have. */
export interface WorkloadGrant {
  /** The client that its tokens name; its `sub` unless given. */
  readonly clientId?: string;
  /** What its tokens say they are about; its `sub` unless given. */
  readonly subject?: string;
  /** The scopes that it may ask for; all there are unless given. */
  readonly scopes?: readonly string[];
}

/** A platform that gives JWTs to its workloads, and which of them may have tokens. */
export interface WorkloadIssuer extends TrustedIssuer {
  readonly allow: (
    claims: JWTPayload,
  ) => WorkloadGrant | boolean | undefined | Promise<WorkloadGrant | boolean | undefined>;
}

/** Takes the word of platforms for the workloads that run on them. */
export interface WorkloadIdentityOptions {
  readonly issuers: readonly WorkloadIssuer[];
}
