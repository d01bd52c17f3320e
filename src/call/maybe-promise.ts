/** What is there at once where nothing takes time. A call that needs no waiting is answered in the turn in which it came. */
export type MaybePromise<T> = T | Promise<T>;

/** For what authors return: their promises need not be this realm's. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
