import { ConnectionError, TimeoutError } from "../protocol/errors.js";
import { type Clock, unref } from "./clock.js";
import { CallLifetime } from "./lifetime.js";
import type { PingOptions } from "./ping-options.js";

/** Pings the peer repeatedly, one ping at a time. Reports each ping that times out. */
export class PingLoop {
  readonly #clock: Clock;
  readonly #options: PingOptions;
  readonly #ping: (lifetime: CallLifetime) => Promise<unknown>;
  readonly #onFailure: (error: ConnectionError, missed: number) => void;
  #timer: unknown;
  #lifetime: CallLifetime | undefined;
  #stopped = false;
  /** Number of consecutive pings that timed out. */
  #missed = 0;

  constructor(
    clock: Clock,
    options: PingOptions,
    ping: (lifetime: CallLifetime) => Promise<unknown>,
    onFailure: (error: ConnectionError, missed: number) => void,
  ) {
    this.#clock = clock;
    this.#options = options;
    this.#ping = ping;
    this.#onFailure = onFailure;
    this.#wait();
  }

  stop(): void {
    this.#stopped = true;
    this.#clock.cancel(this.#timer);
    this.#lifetime?.close();
  }

  #wait(): void {
    this.#timer = this.#clock.schedule(() => void this.#ask(), this.#options.intervalMs);
    unref(this.#timer);
  }

  /** Sends a ping. Only a timeout counts as missed. A response or another failure resets the count. Never rejects. */
  async #ask(): Promise<void> {
    const { timeoutMs } = this.#options;
    this.#lifetime = new CallLifetime("ping", { timeoutMs }, this.#clock);
    try {
      await this.#ping(this.#lifetime);
      this.#missed = 0;
    } catch (cause) {
      this.#missed = cause instanceof TimeoutError ? this.#missed + 1 : 0;
      if (!this.#stopped && this.#missed > 0) {
        const message = `The connection seems lost: a ping was not answered within ${timeoutMs} ms`;
        this.#onFailure(new ConnectionError(message, { delivery: "sent", cause }), this.#missed);
      }
    } finally {
      this.#lifetime.close();
    }
    if (!this.#stopped) this.#wait();
  }
}
