const KIB = 1024;

/**
 * Limits of every server of a run. Counts are small enough for a quick flood, and large enough for the other load.
 * Times are long enough for a busy machine.
 */
export const serverLimits = {
  maxBodyBytes: 128 * KIB,
  maxBodiesBytes: 256 * KIB,
  bodyTimeoutMs: 240_000,
  maxBodyMs: 240_000,
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

/** Limits of every client of a run. */
export const clientLimits = { maxQuestions: 16, maxRounds: 8, maxBatchItems: 8, maxConnections: 1_000 };

/** Number of cancellations that a session keeps for requests that have not arrived. */
export const EARLY_CANCELS = 256;

/** Factor by which a flood exceeds a limit. */
export const TIMES = 10;
