import { PROOF_LIMITS, type ProofLimits } from "../dpop/check.js";
import { KEY_LIMITS, type KeyLimits } from "../issuer-keys.js";

/** The bounds of an issuer: `createIssuer({ limits })`. */
export interface IssuerLimits extends KeyLimits, Pick<ProofLimits, "proofWindowMs" | "maxProofBytes"> {
  /**
   * Registered clients that the memory store keeps. The oldest that has no grant makes room; where each has one,
   * registration is refused.
   * @default 10_000
   */
  readonly maxClients: number;
  /**
   * How long a registered client is kept that no user has approved, and after its last grant has ended.
   * @default 86_400_000
   */
  readonly unusedClientMs: number;
  /**
   * Registrations that are taken in a minute, from all together, where `limit` is not given.
   * @default 60
   */
  readonly maxRegistrationsPerMinute: number;
  /**
   * Codes, and grants with refresh tokens, that the memory store keeps. While it is full no more are made.
   * @default 10_000
   */
  readonly maxGrants: number;
  /**
   * Codes and grants of one user in the memory store. The user's oldest makes room.
   * @default 1_000
   */
  readonly maxGrantsPerUser: number;
  /**
   * Marks of one kind in the memory store, for what was used up or revoked. While it is full nothing more is used up.
   * @default 100_000
   */
  readonly maxMarks: number;
  /**
   * Marks of one kind that one user, or one client without a user, can cause.
   * @default 10_000
   */
  readonly maxMarksPerUser: number;
  /**
   * How long a user may take to answer the consent page, and to log in upstream.
   * @default 600_000
   */
  readonly loginMs: number;
  /**
   * Logins upstream that one browser can have under way. The first makes room.
   * @default 5
   */
  readonly maxLoginsPerBrowser: number;
  /**
   * How long a browser is known between two pages of a login.
   * @default 86_400_000
   */
  readonly browserMs: number;
  /**
   * How long a request to the provider upstream may take.
   * @default 15_000
   */
  readonly upstreamMs: number;
  /**
   * The size of an answer of the provider upstream.
   * @default 262_144
   */
  readonly maxUpstreamBytes: number;
  /**
   * The size of a posted form.
   * @default 65_536
   */
  readonly maxFormBytes: number;
  /**
   * The size of a registration.
   * @default 16_384
   */
  readonly maxRegistrationBytes: number;
  /**
   * Items of a list, such as redirect URIs, that a client may state about itself.
   * @default 20
   */
  readonly maxMetadataItems: number;
  /**
   * Characters of a text or an address that a client may state about itself.
   * @default 2_000
   */
  readonly maxMetadataChars: number;
  /**
   * Keys that `createRateLimiter` remembers. The one that asked longest ago makes room.
   * @default 10_000
   */
  readonly maxRateKeys: number;
  /**
   * Metadata documents of clients, and key sets of clients, that are kept. The oldest of a client that no user has
   * approved makes room first.
   * @default 1_000
   */
  readonly maxDocuments: number;
  /**
   * The size of a metadata document, or of the keys, of a client.
   * @default 5_120
   */
  readonly maxDocumentBytes: number;
  /**
   * How long fetching a document of a client may take.
   * @default 5_000
   */
  readonly documentMs: number;
  /**
   * The longest that a metadata document is reused. Its own headers may shorten that.
   * @default 86_400_000
   */
  readonly documentAgeMs: number;
  /**
   * How long a document that could not be had or used is not fetched again.
   * @default 30_000
   */
  readonly failedDocumentMs: number;
  /**
   * Documents that are fetched at a time for clients that no user has approved.
   * @default 20
   */
  readonly maxDocumentFetches: number;
  /**
   * Documents that are fetched at a time from one host.
   * @default 2
   */
  readonly maxDocumentFetchesPerHost: number;
  /**
   * Documents that are fetched in a minute for all clients that no user has approved, and from each host for the others.
   * @default 300
   */
  readonly maxDocumentsPerMinute: number;
  /**
   * Documents that are fetched in a minute from one host for clients that no user has approved.
   * @default 30
   */
  readonly maxDocumentsPerHostPerMinute: number;
  /**
   * How far the clocks of others may differ from this one.
   * @default 10_000
   */
  readonly clockSkewMs: number;
  /**
   * The length of an assertion.
   * @default 16_384
   */
  readonly maxAssertionBytes: number;
  /**
   * The longest that the assertion by which a client authenticates may be good for.
   * @default 600_000
   */
  readonly clientAssertionMs: number;
  /**
   * The longest that the assertion of an identity provider or a platform may be good for.
   * @default 86_400_000
   */
  readonly grantAssertionMs: number;
}

export const ISSUER_LIMITS: IssuerLimits = {
  ...KEY_LIMITS,
  proofWindowMs: PROOF_LIMITS.proofWindowMs,
  maxProofBytes: PROOF_LIMITS.maxProofBytes,
  maxClients: 10_000,
  unusedClientMs: 86_400_000,
  maxRegistrationsPerMinute: 60,
  maxGrants: 10_000,
  maxGrantsPerUser: 1_000,
  maxMarks: 100_000,
  maxMarksPerUser: 10_000,
  loginMs: 600_000,
  maxLoginsPerBrowser: 5,
  browserMs: 86_400_000,
  upstreamMs: 15_000,
  maxUpstreamBytes: 262_144,
  maxFormBytes: 65_536,
  maxRegistrationBytes: 16_384,
  maxMetadataItems: 20,
  maxMetadataChars: 2_000,
  maxRateKeys: 10_000,
  maxDocuments: 1_000,
  maxDocumentBytes: 5_120,
  documentMs: 5_000,
  documentAgeMs: 86_400_000,
  failedDocumentMs: 30_000,
  maxDocumentFetches: 20,
  maxDocumentFetchesPerHost: 2,
  maxDocumentsPerMinute: 300,
  maxDocumentsPerHostPerMinute: 30,
  clockSkewMs: 10_000,
  maxAssertionBytes: 16_384,
  clientAssertionMs: 600_000,
  grantAssertionMs: 86_400_000,
};
