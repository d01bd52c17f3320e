const KIB = 1024;

/**
 * The bounds of every server of a run. Counts are small enough to be flooded in a moment, and large enough for the load that
 * is not a flood. Times are long enough for a machine that has other work too.
 */
export const serverLimits = {
  maxBodyBytes: 128 * KIB,
  maxBodiesBytes: 256 * KIB,
  bodyTimeoutMs: 240_000,
  maxCalls: 48,
  maxCallsPerSession: 32,
  maxCallsPerPrincipal: 24,
  maxSessions: 24,
  sessionSetupMs: 1_000,
  sessionIdleMs: 10_000,
  maxBatchItems: 8,
  maxWaitingNotifications: 16,
  maxSubscriptions: 24,
  maxSubscriptionsPerPrincipal: 24,
  maxWaitingChanges: 16,
  maxLoggedEventsPerSession: 256,
  maxBehind: 256 * KIB,
  stallMs: 10_000,
  maxRounds: 4,
  askTimeoutMs: 20_000,
  stateTtlMs: 60_000,
  maxUsedStates: 64,
  stateOutcomeMs: 20_000,
};

/** The bounds of every client of a run. */
export const clientLimits = { maxQuestions: 16, maxRounds: 8, maxBatchItems: 8, maxConnections: 1_000 };

/** Cancellations that a session keeps for requests that have not come. */
export const EARLY_CANCELS = 256;

/** How far a flood goes above a bound. */
export const TIMES = 10;
