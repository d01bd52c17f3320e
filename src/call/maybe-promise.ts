/**
 * Value that is available synchronously unless it requires waiting. A call that needs no waiting is answered in the
 * same turn of the event loop.
 * Measured: test/hot-path counts 5 promises for a call within one process. Without this type and several later changes
 * there were 13.
 */
export type MaybePromise<T> = T | Promise<T>;

/** True for any object with a method `then`, since handlers may return promises of another realm or library. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}

/** Continues with a value, synchronously if it is available. `fail` receives the rejection of a promise. */
export function andThen<T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
  fail?: (error: unknown) => MaybePromise<R>,
): MaybePromise<R> {
  return value instanceof Promise ? value.then(next, fail) : next(value);
}

/**
 * Continues with the value of `run`. `fail` receives an exception of `run` or the rejection of its promise, but no
 * error of `next`.
 */
export function attempt<T, R>(
  run: () => MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
  fail: (error: unknown) => MaybePromise<R>,
): MaybePromise<R> {
  let value: MaybePromise<T>;
  try {
    value = run();
  } catch (error) {
    return fail(error);
  }
  return andThen(value, next, fail);
}

/** Calls a function whose errors must not affect the caller, such as a logger or a hook. It may return a promise. */
export function ignoreErrors(tell: () => unknown): void {
  try {
    const told = tell();
    if (isThenable(told)) told.then(undefined, () => {});
  } catch {
    // There is no other place to report the error.
  }
}
