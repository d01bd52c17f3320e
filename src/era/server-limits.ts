/**
 * Every bound that a server keeps. `Infinity` lifts one. The table in docs/operating.md tells of each: its default, what
 * happens at the bound, and what the client sees.
 */
export interface ServerLimits {
  /**
   * The largest request body, in bytes.
   * @default 4_194_304
   */
  readonly maxBodyBytes: number;
  /**
   * Bytes of request bodies that are under way, over all requests. A body that comes in one piece does not count.
   * @default 134_217_728
   */
  readonly maxBodiesBytes: number;
  /**
   * How long a body that has begun may go without a byte.
   * @default 30_000
   */
  readonly bodyTimeoutMs: number;
  /**
   * Calls that run at once, those that wait for their tool included, and beside them notifications that are being handled.
   * Subscriptions have a bound of their own.
   * @default 10_000
   */
  readonly maxCalls: number;
  /**
   * Calls that run at once in one session or on one channel.
   * @default 1000
   */
  readonly maxCallsPerSession: number;
  /**
   * Calls that run at once for one principal, where a gate names it.
   * @default 256
   */
  readonly maxCallsPerPrincipal: number;
  /**
   * Sessions that are open at once.
   * @default 10_000
   */
  readonly maxSessions: number;
  /**
   * Sessions that one principal has open at once, where a gate names principals.
   * @default 1_000
   */
  readonly maxSessionsPerPrincipal: number;
  /**
   * How long a session lives before its client has sent anything but the handshake.
   * @default 30_000
   */
  readonly sessionSetupMs: number;
  /**
   * How long a session lives without being used.
   * @default 1_800_000
   */
  readonly sessionIdleMs: number;
  /**
   * Characters of JSON that a session keeps of its client's description, and that a subscription brings beside its URIs.
   * @default 8_192
   */
  readonly maxClientChars: number;
  /**
   * Characters of the id of a request and of its progress token.
   * @default 1_024
   */
  readonly maxIdChars: number;
  /**
   * Characters of a URI that a client watches.
   * @default 16_384
   */
  readonly maxUriChars: number;
  /**
   * Messages of one batch, in the version that has batches.
   * @default 64
   */
  readonly maxBatchItems: number;
  /**
   * Notifications of one connection whose checks or handlers are not done.
   * @default 1_000
   */
  readonly maxWaitingNotifications: number;
  /**
   * Subscriptions that are open at once, over all connections. Each watched resource counts as one.
   * @default 10_000
   */
  readonly maxSubscriptions: number;
  /**
   * Subscriptions of one principal, or of one connection where no gate names a principal.
   * @default 1_000
   */
  readonly maxSubscriptionsPerPrincipal: number;
  /**
   * How long a subscription, or the stream of a session for messages that belong to no call, stays open.
   * @default Infinity
   */
  readonly maxSubscriptionMs: number;
  /**
   * Different changes that wait for one subscriber that does not read.
   * @default 1024
   */
  readonly maxWaitingChanges: number;
  /**
   * Events of one session that the event log in memory keeps.
   * @default 1_000
   */
  readonly maxLoggedEventsPerSession: number;
  /**
   * Characters of one session that the event log in memory keeps.
   * @default 4_194_304
   */
  readonly maxLoggedCharsPerSession: number;
  /**
   * Characters of all sessions that the event log in memory keeps.
   * @default 67_108_864
   */
  readonly maxLoggedChars: number;
  /**
   * Pages that users were sent to and that are not done, over all sessions.
   * @default 10_000
   */
  readonly maxUrlElicitations: number;
  /**
   * Characters that the reader of a stream may be behind.
   * @default 8_388_608
   */
  readonly maxBehind: number;
  /**
   * How long the reader of a stream or an answer may stay behind without catching up.
   * @default 60_000
   */
  readonly stallMs: number;
  /**
   * Rounds of questions in one call.
   * @default 16
   */
  readonly maxRounds: number;
  /**
   * How long a question may stay unanswered.
   * @default 300_000
   */
  readonly askTimeoutMs: number;
  /**
   * How long the sealed state of a call is good for.
   * @default 600_000
   */
  readonly stateTtlMs: number;
  /**
   * Sealed states that are remembered as used.
   * @default 10_000
   */
  readonly maxUsedStates: number;
  /**
   * How long the outcome of a round is kept for a client that presents the same state again.
   * @default 60_000
   */
  readonly stateOutcomeMs: number;
  /**
   * Characters of the outcomes of rounds that are kept, over all calls.
   * @default 67_108_864
   */
  readonly maxOutcomeChars: number;
}

export const SERVER_LIMITS: ServerLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxBodiesBytes: 128 * 1024 * 1024,
  bodyTimeoutMs: 30_000,
  maxCalls: 10_000,
  maxCallsPerSession: 1_000,
  maxCallsPerPrincipal: 256,
  maxSessions: 10_000,
  maxSessionsPerPrincipal: 1_000,
  sessionSetupMs: 30_000,
  sessionIdleMs: 30 * 60_000,
  maxClientChars: 8_192,
  maxIdChars: 1_024,
  maxUriChars: 16_384,
  maxBatchItems: 64,
  maxWaitingNotifications: 1_000,
  maxSubscriptions: 10_000,
  maxSubscriptionsPerPrincipal: 1_000,
  maxSubscriptionMs: Number.POSITIVE_INFINITY,
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
};
