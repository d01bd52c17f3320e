import { PROOF_LIMITS, type ProofLimits } from "../dpop/check.js";
import { KEY_LIMITS, type KeyLimits } from "../issuer-keys.js";

/** Limits of an issuer: `createIssuer({ limits })`. */
export interface IssuerLimits extends KeyLimits, Pick<ProofLimits, "proofWindowMs" | "maxProofBytes"> {
  /**
   * Maximum number of registered clients in the memory store. When it is full, the oldest client that no user has approved
   * is evicted, unless a login of it may be under way (`loginMs`). If there is none, registration is rejected. An approval
   * counts for as long as its grant may last (`lifetimes.grantMs`).
   * @default 10_000
   */
  readonly maxClients: number;
  /**
   * Milliseconds during which a registered client is kept that no user has approved, or whose last grant has ended.
   * @default 86_400_000
   */
  readonly unusedClientMs: number;
  /**
   * Maximum number of registrations per minute from all clients together. Applies if `rateLimit` is not given.
   * @default 60
   */
  readonly maxRegistrationsPerMinute: number;
  /**
   * Maximum number of codes, of grants with refresh tokens, and of upstream tokens, each, in the memory store. When it
   * is full, no more are issued.
   * @default 10_000
   */
  readonly maxGrants: number;
  /**
   * Maximum number of codes, of grants with refresh tokens, of upstream tokens, and of clients that the user was the first
   * to approve, each, of one user in the memory store. The user's oldest one is evicted; the client of the oldest approval
   * then counts as one that no user has approved.
   * @default 1_000
   */
  readonly maxGrantsPerUser: number;
  /**
   * Maximum number of marks of one kind in the memory store. A mark records a revocation, or the use of
   * a one-time credential. When the store is full, requests that need another mark are rejected.
   * @default 100_000
   */
  readonly maxMarks: number;
  /**
   * Maximum number of marks of one kind of one user, or of one client without a user, in the memory store. Further
   * requests of the user or client that need a mark are rejected.
   * @default 10_000
   */
  readonly maxMarksPerUser: number;
  /**
   * Milliseconds that a user has to answer the consent page, and to log in upstream.
   * @default 600_000
   */
  readonly loginMs: number;
  /**
   * Maximum number of pending upstream logins of one browser. The oldest is dropped.
   * @default 5
   */
  readonly maxLoginsPerBrowser: number;
  /**
   * Milliseconds for which the id of a browser is valid. A consent form is accepted only from the browser that showed
   * it.
   * @default 86_400_000
   */
  readonly browserMs: number;
  /**
   * Milliseconds until a request to the upstream provider times out.
   * @default 15_000
   */
  readonly upstreamMs: number;
  /**
   * Maximum size of a response of the upstream provider.
   * @default 262_144
   */
  readonly maxUpstreamBytes: number;
  /**
   * Maximum size of a posted form.
   * @default 65_536
   */
  readonly maxFormBytes: number;
  /**
   * Maximum size of a registration request.
   * @default 16_384
   */
  readonly maxRegistrationBytes: number;
  /**
   * Milliseconds until a posted form, or a registration request, has arrived.
   * @default 30_000
   */
  readonly formMs: number;
  /**
   * Maximum number of items in a list of client metadata, such as redirect URIs.
   * @default 20
   */
  readonly maxMetadataItems: number;
  /**
   * Maximum number of characters of a text or URL in client metadata.
   * @default 2_000
   */
  readonly maxMetadataChars: number;
  /**
   * Maximum number of cached metadata documents, and of cached key sets, of clients. The oldest one of a client that no
   * user has approved is evicted first.
   * @default 1_000
   */
  readonly maxDocuments: number;
  /**
   * Maximum size of a client's metadata document or key set.
   * @default 5_120
   */
  readonly maxDocumentBytes: number;
  /**
   * Milliseconds until the request for a client's document times out.
   * @default 5_000
   */
  readonly documentMs: number;
  /**
   * Maximum milliseconds during which a metadata document is reused. Its HTTP headers may shorten that. Without cache
   * headers it is reused for one minute.
   * @default 86_400_000
   */
  readonly documentAgeMs: number;
  /**
   * Milliseconds during which a document that was unavailable or invalid twice in a row is not fetched again.
   * @default 30_000
   */
  readonly failedDocumentMs: number;
  /**
   * Maximum number of concurrent requests for documents of clients that no user has approved.
   * @default 20
   */
  readonly maxDocumentFetches: number;
  /**
   * Maximum number of concurrent requests for documents to one host, counted separately for clients that a user has
   * approved and for others.
   * @default 2
   */
  readonly maxDocumentFetchesPerHost: number;
  /**
   * Maximum number of documents fetched per minute: in total for clients that no user has approved, and per host for
   * approved ones.
   * @default 300
   */
  readonly maxDocumentsPerMinute: number;
  /**
   * Maximum number of documents fetched per minute from one host for clients that no user has approved.
   * @default 30
   */
  readonly maxDocumentsPerHostPerMinute: number;
  /**
   * Maximum difference in milliseconds between this server's clock and those of clients, of trusted issuers, and of
   * other processes of the issuer.
   * @default 10_000
   */
  readonly clockSkewMs: number;
  /**
   * Maximum length of an assertion.
   * @default 16_384
   */
  readonly maxAssertionBytes: number;
  /**
   * Maximum lifetime in milliseconds of an assertion that authenticates a client.
   * @default 600_000
   */
  readonly clientAssertionMs: number;
  /**
   * Maximum lifetime in milliseconds of an assertion of an identity provider or a workload platform.
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
  formMs: 30_000,
  maxMetadataItems: 20,
  maxMetadataChars: 2_000,
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

/** Earlier names of limits, which were options, and of an option. */
export const MOVED_LIMITS = {
  maxBytes: "limits.maxDocumentBytes",
  timeoutMs: "limits.documentMs",
  maxAgeMs: "limits.documentAgeMs",
  windowSeconds: "limits.proofWindowMs",
  ttlSeconds: "ttlMs",
};
