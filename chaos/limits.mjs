/** Lease of a node in a run. */
export const LEASE_MS = 3_000;

/** Time for which a handler waits for the answer to a question. The client may have lost it. */
export const ASK_MS = 3_500;

/** Maximum recovery of 99 of 100 clients and calls after a fault. */
export const RECOVERY_MS = LEASE_MS + 2_000;

/** Minimum numbers of a run on a machine with enough time. Its zeros mean nothing with less. */
const LONG = {
  calls: 20_000,
  results: 13_000,
  official: 500,
  cancelled: 200,
  questions: 500,
  takeovers: 200,
  resumed: 40,
  kills: 20,
  stops: 10,
  engineKills: 5,
  fulls: 3,
  rollbacks: 2,
  recoveries: 600,
};
const SHORT = {
  calls: 1_200,
  results: 720,
  official: 20,
  cancelled: 10,
  questions: 40,
  takeovers: 15,
  resumed: 1,
  kills: 1,
  stops: 1,
  engineKills: 1,
  fulls: 1,
  rollbacks: 1,
  recoveries: 50,
};

/** Minimum numbers that come of the calls, and count in proportion to those that were made. */
export const PER_WORK = {
  results: "calls",
  official: "calls",
  cancelled: "calls",
  questions: "calls",
  takeovers: "calls",
  resumed: "calls",
};

/** Time after which the load and the faults end, whatever they do. */
const LONG_MS = 360_000;
const SHORT_MS = 35_000;

/** Returns the size of a run on an engine. Only some engines can be filled, or can lose their last writes alone. */
export function sizeOf(isShort, { fill, rollBack } = {}) {
  const { fulls, rollbacks, ...floors } = isShort ? SHORT : LONG;
  if (fill !== undefined) floors.fulls = fulls;
  if (rollBack !== undefined) floors.rollbacks = rollbacks;
  return { floors, limitMs: isShort ? SHORT_MS : LONG_MS };
}
