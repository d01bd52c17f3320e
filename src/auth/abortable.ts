/** Maximum delay of a JavaScript timer. A longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** Returns a signal that fires after a time. With `Infinity` it never fires. */
export function timeoutSignal(ms: number): AbortSignal {
  if (ms === Number.POSITIVE_INFINITY) return new AbortController().signal;
  return AbortSignal.timeout(Math.min(Math.ceil(ms), MAX_TIMER_MS));
}

/**
 * Settles with `work`, or rejects with the signal's reason if the signal fires first. Works even if `work` ignores the
 * signal.
 */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    work.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
  });
}

/** Runs `work` with a signal that fires when the caller's signal fires, or after `ms` milliseconds. */
export async function withinTime<T>(
  signal: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const onAbort = () => limit.abort(signal.reason);
  const onLate = () => limit.abort(new DOMException(`timed out after ${ms} ms`, "TimeoutError"));
  const timer = setTimeout(onLate, ms);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}
