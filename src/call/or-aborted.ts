import { followSignal, unfollowSignal } from "./abortable.js";
import type { Clock } from "./clock.js";

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
