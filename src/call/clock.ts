/** Source of time. Everything that waits takes a clock, so that tests can control time. */
export interface Clock {
  /** Returns milliseconds on a monotonic scale. */
  now(): number;
  /**
   * Runs the callback once, after at least `ms`. The system clock runs it earlier if `ms` exceeds about 24.8 days.
   * Returns a handle for `cancel`.
   */
  schedule(callback: () => void, ms: number): unknown;
  cancel(handle: unknown): void;
  /**
   * Returns the time of day in milliseconds since 1970, for times that several processes compare.
   * @default Date.now
   */
  readonly timeOfDay?: (() => number) | undefined;
}

/**
 * Maximum difference of the clocks of processes that share state. What one of them must not forget before it expires
 * elsewhere is kept longer by it.
 */
export const MAX_SKEW_MS = 60_000;

/**
 * Returns the time of day in milliseconds since 1970.
 * @internal
 */
export function timeOfDay(clock: Clock): number {
  return clock.timeOfDay?.() ?? Date.now();
}

/** Maximum delay of a timer, about 24.8 days. The system clock shortens longer delays to it. */
export const LONGEST_DELAY = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  schedule: (callback, ms) => setTimeout(callback, Math.min(ms, LONGEST_DELAY)),
  cancel: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** Returns the milliseconds until a time on the clock, from 0 to `mostMs`. Returns undefined if there is no limit. */
export function timeLeft(
  clock: Clock,
  until = Number.POSITIVE_INFINITY,
  mostMs = Number.POSITIVE_INFINITY,
): number | undefined {
  const leftMs = Math.min(Math.max(0, until - clock.now()), mostMs);
  return leftMs === Number.POSITIVE_INFINITY ? undefined : leftMs;
}

/** Allows the process to exit while this timer waits, on runtimes that support it. */
export function unref(timer: unknown): void {
  (timer as { unref?: () => void } | undefined)?.unref?.();
}

/** True on Node and compatible runtimes, whose `fetch` is undici's and whose timers outlive requests. */
export const isOnNode = typeof process === "object" && process.versions?.undici !== undefined;
