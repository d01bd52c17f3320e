import { AbortSwitch, tellAll } from "./abort-switch.js";
import type { Clock } from "./clock.js";

/** Followers of a signal. They share one listener, since platforms warn of a leak when a signal has more than a few. */
interface Following {
  readonly followers: Set<() => void>;
  readonly onAbort: () => void;
}

const followed = new WeakMap<AbortSignal, Following>();

/**
 * Calls the follower once when the signal fires, or at once if it has fired. Returns a function that removes the
 * follower.
 */
export function followSignal(signal: AbortSignal, follower: () => void): () => void {
  if (signal.aborted) {
    follower();
    return () => {};
  }
  const { followers, onAbort } = followed.get(signal) ?? start(signal);
  followers.add(follower);
  return () => {
    if (!followers.delete(follower) || followers.size > 0) return;
    followed.delete(signal);
    signal.removeEventListener("abort", onAbort);
  };
}

function start(signal: AbortSignal): Following {
  const followers = new Set<() => void>();
  const onAbort = () => {
    followed.delete(signal);
    tellAll(followers, undefined);
  };
  const following = { followers, onAbort };
  followed.set(signal, following);
  signal.addEventListener("abort", onAbort, { once: true });
  return following;
}

/**
 * Settles with the work, or rejects with the reason when `end` fires. The work continues, since others may wait for it.
 */
export function untilAborted<T>(work: T | Promise<T>, end: AbortSwitch | AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = onAbortOf(end, reject);
    Promise.resolve(work).then(resolve, reject).finally(callOff);
  });
}

function onAbortOf(end: AbortSwitch | AbortSignal, listener: (reason: unknown) => void): () => void {
  if (!(end instanceof AbortSwitch)) return followSignal(end, () => listener(end.reason));
  end.onAbort(listener);
  return () => end.offAbort(listener);
}

/** Resolves after `ms`, or at once when the signal fires. Leaves no timer or follower behind. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let unfollow: (() => void) | undefined;
    const done = () => {
      clock.cancel(timer);
      unfollow?.();
      resolve();
    };
    const timer = clock.schedule(done, ms);
    unfollow = signal && followSignal(signal, done);
  });
}

/** Limits of {@link runWithin}. */
export interface WorkLimits {
  readonly clock: Clock;
  /** Signal of the caller. If it fires before the work ends, `runWithin` rejects with its reason. */
  readonly signal: AbortSignal | undefined;
  /** Maximum duration of the work. `Infinity` means no limit. */
  readonly ms: number;
  /** Creates the error for work that takes too long. */
  readonly late: () => Error;
}

/**
 * Runs work. Rejects when the caller's signal fires or `ms` have passed, even if the work ignores the signal that it
 * receives.
 */
export async function runWithin<T>(limits: WorkLimits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, signal, ms, late } = limits;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.schedule(() => stop.abort(late()), ms);
  const unfollow = signal && followSignal(signal, () => stop.abort(signal.reason));
  try {
    return await untilAborted(work(stop.signal), stop.signal);
  } finally {
    if (timer !== undefined) clock.cancel(timer);
    unfollow?.();
  }
}

/**
 * Resolves with true if a promise that never rejects settles within `ms`, otherwise with false. Leaves no timer behind.
 */
export function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
