import type { Clock } from "../../call/clock.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "../exchange.js";
import { SSE_HEADERS, sseComment } from "./writer.js";

/** Limits of a client that reads too slowly. */
export interface ReaderLimits {
  /** Maximum number of unread characters. */
  readonly maxBehind: number;
  /** Maximum time that the client may be behind. */
  readonly stallMs: number;
}

/**
 * Response to an exchange as an event stream. Limits the amount of unread data, and the time that a client may be
 * behind.
 */
export class SseStream {
  readonly #stream: HttpStream;
  readonly #clock: Clock;
  readonly #limits: ReaderLimits;
  readonly #onLost: () => void;
  /** Number of characters written since the client fell behind. */
  #behind = 0;
  #drained: Promise<void> | undefined;
  /** Timer that disconnects a client that stays behind. */
  #stalled: unknown;

  /** Sends the headers at once. `onLost` is called when a client reaches a limit and is disconnected. */
  constructor(
    exchange: HttpExchange,
    headers: HttpHeaders | undefined,
    clock: Clock,
    limits: ReaderLimits,
    onLost: () => void,
  ) {
    this.#stream = exchange.stream(200, headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers });
    this.#clock = clock;
    this.#limits = limits;
    this.#onLost = onLost;
  }

  /**
   * Promise that resolves when a client that is behind has caught up or disconnected. Undefined if the client is not
   * behind.
   */
  get drained(): Promise<void> | undefined {
    return this.#drained;
  }

  /**
   * Writes an event. Returns a promise if the client is behind. Disconnects a client that is more than `maxBehind`
   * characters behind.
   */
  write(event: string): void | Promise<void> {
    if (this.#stream.write(event)) return;
    this.#behind += event.length;
    this.#drained ??= this.#untilDrained();
    if (this.#behind <= this.#limits.maxBehind) return this.#drained;
    this.#lose();
  }

  /**
   * Writes a comment to keep the connection alive. Does nothing if the client is behind, since data is already on its
   * way.
   */
  comment(): void {
    if (this.#drained === undefined) this.#stream.write(sseComment());
  }

  /** Writes the last event, however far the client is behind, and ends the stream. */
  finish(event: string): void {
    this.#stream.write(event);
    this.end();
  }

  /**
   * Ends the stream. From then on the exchange limits the time that data may stay unread, so that a slow client that
   * continues to read receives everything.
   */
  end(): void {
    this.#clock.cancel(this.#stalled);
    this.#stream.end();
  }

  #lose(): void {
    this.#onLost();
    this.#stream.destroy();
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => {
      this.#stalled = this.#clock.schedule(() => this.#lose(), this.#limits.stallMs);
      this.#stream.onDrain(() => {
        this.#clock.cancel(this.#stalled);
        this.#behind = 0;
        this.#drained = undefined;
        resolve();
      });
    });
  }
}
