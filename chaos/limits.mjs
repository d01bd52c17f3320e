/** Lease of a node in a run. */
export const LEASE_MS = 3_000;

/** Time for which a handler waits for the answer to a question. The client may have lost it. */
export const ASK_MS = 3_500;

/** Maximum recovery of 99 of 100 clients and calls after a fault. */
export const RECOVERY_MS = LEASE_MS + 2_000;

/** Minimum numbers of a run. Its zeros mean nothing with less. */
const LONG = {
  calls: 20_000,
  results: 15_000,
  questions: 500,
  takeovers: 200,
  resumed: 40,
  kills: 20,
  stops: 10,
  engineKills: 5,
  recoveries: 600,
};
const SHORT = {
  calls: 1_200,
  results: 900,
  questions: 40,
  takeovers: 15,
  resumed: 1,
  kills: 1,
  stops: 1,
  engineKills: 1,
  recoveries: 50,
};

/** Time after which the load and the faults end, whatever they do. */
const LONG_MS = 360_000;
const SHORT_MS = 35_000;

export function sizeOf(isShort) {
  return isShort ? { floors: SHORT, limitMs: SHORT_MS } : { floors: LONG, limitMs: LONG_MS };
}
