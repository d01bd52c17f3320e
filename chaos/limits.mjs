/** Lease of a node in a run. */
export const LEASE_MS = 3_000;

/** Maximum recovery of 99 of 100 clients and calls after a fault. */
export const RECOVERY_MS = LEASE_MS + 2_000;

/** Minimum numbers of a run. Its zeros mean nothing with less. */
const LONG = { calls: 20_000, questions: 500, takeovers: 200, kills: 20, stops: 10, engineKills: 5 };
const SHORT = { calls: 1_200, questions: 40, takeovers: 15, kills: 1, stops: 1, engineKills: 1 };

/** Time after which the load and the faults end, whatever they do. */
const LONG_MS = 360_000;
const SHORT_MS = 35_000;

export function sizeOf(isShort) {
  return isShort ? { floors: SHORT, limitMs: SHORT_MS } : { floors: LONG, limitMs: LONG_MS };
}
