import type { StreamTrace } from "../../../http/client/read.js";
import type { ReconnectOptions } from "../../link.js";

export const RECONNECT_DEFAULTS: ReconnectOptions = { maxFruitless: 3, firstDelayMs: 1000, maxDelayMs: 30_000 };

const GROWTH = 1.5;

/** Where a stream stands across its connections, and when the next one is due. */
export class StreamCursor {
  /** The id to read on from; empty if the stream cannot be read on. */
  lastEventId = "";
  /** Why the last connection failed or broke; undefined when it ended by itself. */
  lastError: unknown;
  readonly #options: ReconnectOptions;
  #retryMs: number | undefined;
  #fruitless = 0;

  constructor(options: ReconnectOptions) {
    this.#options = options;
  }

  /** A connection is over. It was of use if it brought a message, a new event id or a wish for when to come back. */
  ended(trace: StreamTrace): void {
    const moved = trace.lastEventId !== "" && trace.lastEventId !== this.lastEventId;
    if (moved) this.lastEventId = trace.lastEventId;
    if (trace.retryMs !== undefined) this.#retryMs = trace.retryMs;
    this.#fruitless = moved || trace.spoke || trace.retryMs !== undefined ? 0 : this.#fruitless + 1;
    this.lastError = trace.error;
  }

  /** No connection came about. */
  failed(error: unknown): void {
    this.#fruitless++;
    this.lastError = error;
  }

  get attempt(): number {
    return this.#fruitless;
  }

  get exhausted(): boolean {
    return this.#fruitless >= this.#options.maxFruitless;
  }

  /** The server's last wish, or else a wait that grows while nothing comes. */
  get delayMs(): number {
    const { firstDelayMs, maxDelayMs } = this.#options;
    return this.#retryMs ?? Math.min(maxDelayMs, firstDelayMs * GROWTH ** this.#fruitless);
  }
}
