import { ConnectionError, RpcError } from "../protocol/errors.js";
import { followSignal } from "./abortable.js";
import type { Clock } from "./clock.js";

/** Delays between failed attempts. */
export interface Backoff {
  /** Delay after the first failure. It doubles with each further failure. */
  readonly delayMs: number;
  /** Maximum delay. */
  readonly maxDelayMs: number;
}

/** Returns the delay after `failures` earlier failures and one more. */
export function backoffMs(failures: number, { delayMs, maxDelayMs }: Backoff): number {
  return jitter(Math.min(maxDelayMs, delayMs * 2 ** failures));
}

/** Subtracts a random part of up to half from a delay, so that many clients of one server do not reconnect together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** Returns the delay that a server requests by `Retry-After`, up to the maximum. */
export function askedMs(error: unknown, { maxDelayMs }: Pick<Backoff, "maxDelayMs">): number {
  const asks = error instanceof ConnectionError || error instanceof RpcError;
  return Math.min((asks ? error.retryAfterMs : undefined) ?? 0, maxDelayMs);
}

/** Delays of a client before it tries again to reach its server. A response of the server ends them early. */
export class RetryWaits {
  readonly #waiting = new Set<() => void>();

  /** Ends the delays: the server has answered a call, so that everything that waits can try again. */
  end(): void {
    if (this.#waiting.size > 0) for (const go of [...this.#waiting]) go();
  }

  /**
   * Resolves after `ms`. `end` shortens the delay to `leastMs`; the signal ends it at once. Resolves with true if `end`
   * was called: an attempt that fails then, although the server answers calls, should wait longer next time.
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
