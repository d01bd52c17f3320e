/**
 * Limits of a server. `Infinity` disables a limit. The table in docs/operating.md states for each limit its default,
 * its effect and the response that the client receives.
 */
export interface ServerLimits {
  /**
   * Maximum size of a request body, in bytes.
   * @default 4_194_304
   */
  readonly maxBodyBytes: number;
  /**
   * Maximum total size of the request bodies that are being received, in bytes. A body that arrives in one piece does
   * not count.
   * @default 134_217_728
   */
  readonly maxBodiesBytes: number;
  /**
   * Maximum time until the first piece of a request body, and between two pieces.
   * @default 30_000
   */
  readonly bodyTimeoutMs: number;
  /**
   * Maximum time until a request body has arrived.
   * @default 300_000
   */
  readonly maxBodyMs: number;
  /**
   * Maximum number of concurrent calls, including calls that wait for their tool. The same number of notifications may
   * be handled at the same time. Subscriptions have their own limit.
   * @default 10_000
   */
  readonly maxCalls: number;
  /**
   * Maximum number of concurrent calls in one session or on one channel.
   * @default 1000
   */
  readonly maxCallsPerSession: number;
  /**
   * Maximum number of concurrent calls of one principal, if a gate names principals. Of the address of callers without one,
   * the maximum of calls beyond half of those that all such callers may run.
   * @default 256
   */
  readonly maxCallsPerPrincipal: number;
  /**
   * Maximum number of open sessions.
   * @default 10_000
   */
  readonly maxSessions: number;
  /**
   * Maximum number of open sessions of one principal, if a gate names principals. Without a cluster, of the address of
   * callers without one, the maximum of sessions beyond half of those that all such callers may have.
   * @default 1_000
   */
  readonly maxSessionsPerPrincipal: number;
  /**
   * Lifetime of a session whose client has sent only the handshake.
   * @default 30_000
   */
  readonly sessionSetupMs: number;
  /**
   * Lifetime of an unused session.
   * @default 1_800_000
   */
  readonly sessionIdleMs: number;
  /**
   * Time for which a process serves a session before it reads the session's record again, if processes share sessions.
   * @default 1_000
   */
  readonly sessionCacheMs: number;
  /**
   * Time after which a process that shows no sign of life is declared dead, if processes share sessions.
   * @default 10_000
   */
  readonly nodeLeaseMs: number;
  /**
   * Maximum size of the client description that a session keeps, and of a subscription request without its URIs, in
   * characters of JSON.
   * @default 8_192
   */
  readonly maxClientChars: number;
  /**
   * Maximum length of a request id and of a progress token, in characters.
   * @default 1_024
   */
  readonly maxIdChars: number;
  /**
   * Maximum length of a URI that a client subscribes to, in characters.
   * @default 16_384
   */
  readonly maxUriChars: number;
  /**
   * Maximum number of messages in a batch, with version 2025-03-26.
   * @default 64
   */
  readonly maxBatchItems: number;
  /**
   * Maximum number of notifications of one connection that wait for their checks or handlers.
   * @default 1_000
   */
  readonly maxWaitingNotifications: number;
  /**
   * Maximum number of open subscriptions over all connections. Each watched resource counts as one.
   * @default 10_000
   */
  readonly maxSubscriptions: number;
  /**
   * Maximum number of open subscriptions of one principal, or of one connection if no gate names principals.
   * @default 1_000
   */
  readonly maxSubscriptionsPerPrincipal: number;
  /**
   * Maximum number of characters of all URIs to which one session of 2025-11-25 or earlier has subscribed.
   * @default 262_144
   */
  readonly maxSubscribedChars: number;
  /**
   * Part of `maxSubscriptions`, and of `maxTasks` and `maxRunning` of tasks, that all callers without a principal may use
   * together. The rest is left to callers that a gate names. 1 leaves nothing to them. With a gate, also the part of
   * `maxCalls` and, without a cluster, of `maxSessions`.
   * @default 0.75
   */
  readonly anonymousShare: number;
  /**
   * Lifetime of a subscription, and of the GET stream of a session.
   * @default Infinity
   */
  readonly maxSubscriptionMs: number;
  /**
   * Maximum time until a client that opens a second GET stream answers a ping on the first one. Without an answer, the
   * second stream takes the place of the first.
   * @default 5_000
   */
  readonly streamPingMs: number;
  /**
   * Maximum number of different changes that wait for a subscriber that does not read.
   * @default 1024
   */
  readonly maxWaitingChanges: number;
  /**
   * Maximum number of events of one session in the event log in memory.
   * @default 1_000
   */
  readonly maxLoggedEventsPerSession: number;
  /**
   * Maximum number of characters of one session in the event log in memory.
   * @default 4_194_304
   */
  readonly maxLoggedCharsPerSession: number;
  /**
   * Maximum number of characters of all sessions in the event log in memory.
   * @default 67_108_864
   */
  readonly maxLoggedChars: number;
  /**
   * Maximum number of incomplete URL elicitations over all sessions.
   * @default 10_000
   */
  readonly maxUrlElicitations: number;
  /**
   * Maximum number of characters that are buffered for a client that reads a stream too slowly.
   * @default 8_388_608
   */
  readonly maxBehind: number;
  /**
   * Maximum time for which the reader of a stream or response may stay behind.
   * @default 60_000
   */
  readonly stallMs: number;
  /**
   * Maximum number of rounds of questions in one call.
   * @default 16
   */
  readonly maxRounds: number;
  /**
   * Maximum time until a question to the client is answered.
   * @default 300_000
   */
  readonly askTimeoutMs: number;
  /**
   * Lifetime of the sealed state of a call.
   * @default 600_000
   */
  readonly stateTtlMs: number;
  /**
   * Maximum number of sealed states that are remembered as used. Without effect if there is a cluster.
   * @default 10_000
   */
  readonly maxUsedStates: number;
  /**
   * Time for which the outcome of a round is kept for a client that presents the same state again.
   * @default 60_000
   */
  readonly stateOutcomeMs: number;
  /**
   * Maximum number of characters of the outcomes that are kept, over all calls. With a cluster, of each outcome.
   * @default 67_108_864
   */
  readonly maxOutcomeChars: number;
  /**
   * Maximum number of errors that a server without `logger` and `onError` prints in an hour. Then it says so once.
   * Warnings of a server without `logger` count, too. 0 prints nothing.
   * @default 100
   */
  readonly maxPrintedErrors: number;
}

export const SERVER_LIMITS: ServerLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxBodiesBytes: 128 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  maxBodyMs: 300_000,
  maxCalls: 10_000,
  maxCallsPerSession: 1_000,
  maxCallsPerPrincipal: 256,
  maxSessions: 10_000,
  maxSessionsPerPrincipal: 1_000,
  sessionSetupMs: 30_000,
  sessionIdleMs: 30 * 60_000,
  sessionCacheMs: 1_000,
  nodeLeaseMs: 10_000,
  maxClientChars: 8_192,
  maxIdChars: 1_024,
  maxUriChars: 16_384,
  maxBatchItems: 64,
  maxWaitingNotifications: 1_000,
  maxSubscriptions: 10_000,
  maxSubscriptionsPerPrincipal: 1_000,
  maxSubscribedChars: 262_144,
  anonymousShare: 0.75,
  maxSubscriptionMs: Number.POSITIVE_INFINITY,
  streamPingMs: 5_000,
  maxWaitingChanges: 1024,
  maxLoggedEventsPerSession: 1_000,
  maxLoggedCharsPerSession: 4 * 1024 * 1024,
  maxLoggedChars: 64 * 1024 * 1024,
  maxUrlElicitations: 10_000,
  maxBehind: 8 * 1024 * 1024,
  stallMs: 60_000,
  maxRounds: 16,
  askTimeoutMs: 300_000,
  stateTtlMs: 600_000,
  maxUsedStates: 10_000,
  stateOutcomeMs: 60_000,
  maxOutcomeChars: 64 * 1024 * 1024,
  maxPrintedErrors: 100,
};
