import type { Job } from "./cluster.js";

/** Maximum number of jobs that are taken at once, so that other processes get some too. */
const MAX_AT_ONCE = 8;

/** Number of jobs that a worker takes at once. It grows while the queue has as many as the worker asks for. */
export class JobsAtOnce {
  readonly #most: () => number;
  #next = 1;
  #asked = 1;

  /** `most` returns the number of jobs that can be worked on now. */
  constructor(most: () => number = () => 1) {
    this.#most = most;
  }

  /** Returns the number of jobs to ask for. */
  ask(): number {
    this.#asked = Math.max(1, Math.min(this.#next, this.#most()));
    return this.#asked;
  }

  /** Notes the number of jobs that were found. */
  found(count: number): void {
    this.#next = count < this.#asked ? 1 : Math.min(this.#asked * 2, MAX_AT_ONCE);
  }
}

/** Yields jobs that were taken at once until `isEnded`. The others are returned to the queue. */
export async function* eachJob<J extends { readonly job: Pick<Job, "lost"> }>(
  taken: readonly J[],
  isEnded: () => boolean,
  giveBack: (taken: J) => Promise<unknown>,
): AsyncGenerator<J["job"]> {
  const left = new Set(taken);
  try {
    for (const one of taken) {
      if (isEnded()) return;
      left.delete(one);
      if (!one.job.lost.aborted) yield one.job;
    }
  } finally {
    await Promise.allSettled([...left].map(giveBack));
  }
}
