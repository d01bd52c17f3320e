import { type AbortSwitch, tellAll } from "./abort-switch.js";
import type { Clock } from "./clock.js";

/** Who ends with a signal. One listener per signal serves them all: platforms take more than a few for a leak. */
interface Following {
  readonly followers: Set<() => void>;
  readonly onAbort: () => void;
}

const followed = new WeakMap<AbortSignal, Following>();

/** Calls the follower once when the signal fires, at once if it has, unless it is taken away before. */
export function followSignal(signal: AbortSignal, follower: () => void): void {
  if (signal.aborted) return follower();
  let following = followed.get(signal);
  if (following === undefined) {
    following = start(signal);
    followed.set(signal, following);
  }
  following.followers.add(follower);
}

export function unfollowSignal(signal: AbortSignal, follower: () => void): void {
  const following = followed.get(signal);
  if (following?.followers.delete(follower) !== true || following.followers.size > 0) return;
  followed.delete(signal);
  signal.removeEventListener("abort", following.onAbort);
}

function start(signal: AbortSignal): Following {
  const followers = new Set<() => void>();
  const onAbort = () => {
    followed.delete(signal);
    tellAll(
      [...followers].map((follower) => () => {
        if (followers.delete(follower)) follower();
      }),
      undefined,
    );
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return { followers, onAbort };
}

/** What work comes to, or the signal's reason as soon as it fires. The work itself goes on. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    const done = () => unfollowSignal(signal, onAbort);
    if (signal.aborted) onAbort();
    else followSignal(signal, onAbort);
    work.then(resolve, reject).finally(done);
  });
}

export interface WorkLimits {
  readonly clock: Clock;
  /** The caller's own: its reason wins. */
  readonly signal: AbortSignal | undefined;
  readonly ms: number;
  readonly late: () => Error;
}

/** Runs work that ends with the caller's signal or after `ms`, whether or not it listens to the signal it gets. */
export async function within<T>(limits: WorkLimits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, signal, ms, late } = limits;
  signal?.throwIfAborted();
  const stop = new AbortController();
  const onAbort = () => stop.abort(signal?.reason);
  const timer = ms === Number.POSITIVE_INFINITY ? undefined : clock.schedule(() => stop.abort(late()), ms);
  if (signal !== undefined) followSignal(signal, onAbort);
  try {
    return await orAborted(work(stop.signal), stop.signal);
  } finally {
    if (timer !== undefined) clock.cancel(timer);
    if (signal !== undefined) unfollowSignal(signal, onAbort);
  }
}

/** Waits for work until the scope ends, which ends the waiting alone: others may wait for the same work. */
export function untilAborted<T>(work: T | Promise<T>, lifetime: AbortSwitch): Promise<T> {
  return new Promise((resolve, reject) => {
    lifetime.onAbort(reject);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => lifetime.offAbort(reject));
  });
}

/** Whether a promise that never rejects resolves within the time. Leaves no timer behind. */
export function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
