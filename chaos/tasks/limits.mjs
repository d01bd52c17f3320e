/** Lease of a worker in a run. */
export const LEASE_MS = 3_000;

/** Time between two kills of a worker. */
export const KILL_MS = 5_000;

/** Minimum numbers of a run on a machine with enough time. Its zeros mean nothing with less. */
const LONG = {
  tasks: 1_000,
  kills: 10,
  questions: 200,
  takeovers: 100,
  cancelled: 30,
  told: 50,
  lostFragile: 10,
  resultsElsewhere: 5,
};
const SHORT = {
  tasks: 100,
  kills: 1,
  questions: 20,
  takeovers: 5,
  cancelled: 2,
  told: 5,
  lostFragile: 0,
  resultsElsewhere: 1,
};

/** Minimum numbers that come of other work, and count in proportion to it. */
export const PER_WORK = {
  questions: "tasks",
  cancelled: "tasks",
  takeovers: "kills",
  lostFragile: "kills",
  resultsElsewhere: "kills",
};

/** Time after which a run takes no more tasks, whatever it does. */
const LONG_MS = 240_000;
const SHORT_MS = 60_000;

export function sizeOf(isShort) {
  return isShort ? { floors: SHORT, limitMs: SHORT_MS } : { floors: LONG, limitMs: LONG_MS };
}
