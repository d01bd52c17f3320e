import { AbortSwitch, tellAll } from "./abort-switch.js";
import type { Clock } from "./clock.js";

/** Who ends with a signal. One listener per signal serves them all: platforms take more than a few for a leak. */
interface Following {
  readonly followers: Set<() => void>;
  readonly onAbort: () => void;
}

const followed = new WeakMap<AbortSignal, Following>();

/** Calls the follower once when the signal fires, at once if it has. Gives the way to call that off. */
export function followSignal(signal: AbortSignal, follower: () => void): () => void {
  if (signal.aborted) {
    follower();
    return () => {};
  }
  let following = followed.get(signal);
  if (following === undefined) {
    following = start(signal);
    followed.set(signal, following);
  }
  following.followers.add(follower);
  return () => unfollow(signal, follower);
}

function unfollow(signal: AbortSignal, follower: () => void): void {
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

/** Settles with the work, or rejects with the reason as soon as `end` fires. The work goes on: others may wait for it. */
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

export interface WorkLimits {
  readonly clock: Clock;
  /** The caller's own: its reason wins. */
  readonly signal: AbortSignal | undefined;
  readonly ms: number;
  readonly late: () => Error;
}

/** Runs work that ends with the caller's signal or after `ms`, whether or not it listens to the signal it gets. */
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

/** Tells whether a promise that never rejects resolves within the time. Leaves no timer behind. */
export function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    promise.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
