/** Where time comes from. Everything that waits takes a clock, so that tests can own time. */
export interface Clock {
  /** Milliseconds on a scale that never goes backwards. */
  now(): number;
  /** Runs the callback once, after at least `ms`. */
  schedule(callback: () => void, ms: number): unknown;
  cancel(handle: unknown): void;
  /** The time of day in milliseconds since 1970, for what several processes compare; `Date.now` where it is not given. */
  timeOfDay?(): number;
}

/** The longest delay timers can take; longer ones are re-armed. */
export const LONGEST_DELAY = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  schedule: (callback, ms) => setTimeout(callback, Math.min(ms, LONGEST_DELAY)),
  cancel: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** How long until a time on the clock, and `mostMs` at most; undefined for no end at all. Never negative. */
export function timeLeft(
  clock: Clock,
  until = Number.POSITIVE_INFINITY,
  mostMs = Number.POSITIVE_INFINITY,
): number | undefined {
  const leftMs = Math.min(Math.max(0, until - clock.now()), mostMs);
  return leftMs === Number.POSITIVE_INFINITY ? undefined : leftMs;
}

/** Lets the process end while this timer waits, where that can be said. */
export function unref(timer: unknown): void {
  (timer as { unref?: () => void } | undefined)?.unref?.();
}

/** Resolves after `ms`, or at once when the signal fires; either way nothing is left behind. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = () => {
      clock.cancel(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = clock.schedule(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** Whether this runs on node, or on what passes for it: it has a `fetch` of its own, and timers that outlive requests. */
export const isOnNode = typeof process === "object" && process.versions?.undici !== undefined;
