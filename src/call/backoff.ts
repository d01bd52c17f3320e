import { ConnectionError, RpcError } from "../protocol/errors.js";
import { followSignal } from "./abortable.js";
import type { Clock } from "./clock.js";

/** Delays between failed attempts. */
export interface Backoff {
  /** Delay after the first failure, before jitter. It doubles with each further failure. */
  readonly delayMs: number;
  /** Maximum delay. */
  readonly maxDelayMs: number;
}

/** Returns the delay after a failure, with jitter. `failures` is the number of consecutive failures before it. */
export function backoffMs(failures: number, { delayMs, maxDelayMs }: Backoff): number {
  return jitter(Math.min(maxDelayMs, delayMs * 2 ** failures));
}

/** Subtracts a random part of up to half from a delay, so that many clients of one server do not reconnect together. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}

/** Returns the delay that the server requested by `Retry-After`, up to `maxDelayMs`, or 0 if it requested none. */
export function askedMs(error: unknown, { maxDelayMs }: Pick<Backoff, "maxDelayMs">): number {
  const asks = error instanceof ConnectionError || error instanceof RpcError;
  return Math.min((asks ? error.retryAfterMs : undefined) ?? 0, maxDelayMs);
}

/** Delays of a client before it tries again to reach its server. A response of the server shortens them. */
export class RetryWaits {
  /** Delays in progress. */
  readonly pending = new Set<() => void>();

  /** Shortens all delays to their minimum, since the server has answered a call and can be reached. */
  end(): void {
    for (const go of [...this.pending]) go();
  }

  /**
   * Resolves after `ms`. `end` shortens the delay to `leastMs`; the signal ends it at once. Resolves with true if `end`
   * was called. The caller then raises `leastMs` if its attempt fails, since the server answers calls but not this
   * request.
   */
  pause(clock: Clock, ms: number, leastMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      let isHurried = false;
      const soonest = clock.now() + Math.min(ms, leastMs);
      const done = () => {
        clock.cancel(timer);
        this.pending.delete(hurry);
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
      this.pending.add(hurry);
      unfollow = followSignal(signal, done);
    });
  }
}
