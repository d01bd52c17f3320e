import { ConnectionError, RpcError } from "../protocol/errors.js";
import { followSignal } from "./abortable.js";
import type { Clock } from "./clock.js";

/** How long to wait between attempts that fail. */
export interface Backoff {
  /** After the first failure; twice as long after each further one. */
  readonly delayMs: number;
  /** The longest wait. */
  readonly maxDelayMs: number;
}

/** The wait after so many failures before the last one. */
export function backoffMs(failures: number, { delayMs, maxDelayMs }: Backoff): number {
  return jitter(Math.min(maxDelayMs, delayMs * 2 ** failures));
}

/** Takes away up to half of a wait, at random, so that many clients of one server do not come back together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** The wait that a server asks for by an error, up to the longest. */
export function askedMs(error: unknown, { maxDelayMs }: Pick<Backoff, "maxDelayMs">): number {
  const asks = error instanceof ConnectionError || error instanceof RpcError;
  return Math.min((asks ? error.retryAfterMs : undefined) ?? 0, maxDelayMs);
}

/** The waits of a client before it tries again to reach its server. An answer of the server ends them early. */
export class RetryWaits {
  readonly #waiting = new Set<() => void>();

  /** The server has answered a call: whatever waits tries again now. */
  end(): void {
    if (this.#waiting.size > 0) for (const go of [...this.#waiting]) go();
  }

  /**
   * Resolves after `ms`, with `end` but not before `leastMs`, or at once when the signal fires. Tells whether `end` came: who
   * tries in vain then, although the server answers calls, is to wait longer the next time.
   */
  pause(clock: Clock, ms: number, leastMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let isHurried = false;
      const soonest = clock.now() + Math.min(ms, leastMs);
      const done = () => {
        clock.cancel(timer);
        this.#waiting.delete(hurry);
        unfollow();
        resolve(isHurried);
      };
      const hurry = () => {
        isHurried = true;
        const leftMs = soonest - clock.now();
        if (leftMs <= 0) return done();
        clock.cancel(timer);
        timer = clock.schedule(done, leftMs);
      };
      let timer = clock.schedule(done, ms);
      let unfollow = () => {};
      this.#waiting.add(hurry);
      unfollow = followSignal(signal, done);
    });
  }
}
