import type { AbortSwitch } from "./abort-switch.js";

/** Waits for work until the scope ends, which ends the waiting alone: others may wait for the same work. */
export function withinScope<T>(work: T | Promise<T>, scope: AbortSwitch): Promise<T> {
  return new Promise((resolve, reject) => {
    scope.onAbort(reject);
    Promise.resolve(work)
      .then(resolve, reject)
      .finally(() => scope.offAbort(reject));
  });
}
