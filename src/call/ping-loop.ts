import { ConnectionError, TimeoutError } from "../protocol/errors.js";
import { type Clock, unref } from "./clock.js";
import { CallScope } from "./lifetime.js";

export interface PingOptions {
  /** From one answer to the next question. */
  readonly intervalMs: number;
  /** How long an answer may take. */
  readonly timeoutMs: number;
}

/** Asks the other side for a sign of life, again and again, one question at a time; tells when there was none. */
export class PingLoop {
  readonly #clock: Clock;
  readonly #options: PingOptions;
  readonly #ping: (scope: CallScope) => Promise<unknown>;
  readonly #onFailure: (error: ConnectionError) => void;
  #timer: unknown;
  #scope: CallScope | undefined;
  #stopped = false;

  constructor(
    clock: Clock,
    options: PingOptions,
    ping: (scope: CallScope) => Promise<unknown>,
    onFailure: (error: ConnectionError) => void,
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
    this.#scope?.close();
  }

  #wait(): void {
    this.#timer = this.#clock.schedule(() => void this.#ask(), this.#options.intervalMs);
    unref(this.#timer);
  }

  /** Any answer is a sign of life, a refusal too. Never rejects. */
  async #ask(): Promise<void> {
    const { timeoutMs } = this.#options;
    this.#scope = new CallScope("ping", { timeoutMs }, this.#clock);
    try {
      await this.#ping(this.#scope);
    } catch (cause) {
      if (!this.#stopped && cause instanceof TimeoutError) {
        const message = `The connection seems lost: a ping was not answered within ${timeoutMs} ms`;
        this.#onFailure(new ConnectionError(message, { delivery: "sent", cause }));
      }
    } finally {
      this.#scope.close();
    }
    if (!this.#stopped) this.#wait();
  }
}
