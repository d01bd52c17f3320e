import type { Clock } from "../../call/clock.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "../exchange.js";
import { SSE_HEADERS, sseComment } from "./writer.js";

/** How far, and for how long, a reader may be behind. */
export interface ReaderLimits {
  /** Characters that wait for the reader. */
  readonly maxBehind: number;
  /** How long the reader may stay behind without catching up. */
  readonly stallMs: number;
}

/** An exchange that is answered by an event stream. Bounds how much waits, and how long, for a reader that has stopped reading. */
export class SseStream {
  readonly #stream: HttpStream;
  readonly #clock: Clock;
  readonly #limits: ReaderLimits;
  readonly #onLost: () => void;
  /** Characters written since the reader fell behind. */
  #behind = 0;
  #drained: Promise<void> | undefined;
  /** Cuts off a reader that stays behind. */
  #stalled: unknown;

  /** Sends the headers at once. `onLost` is called when a reader reaches a limit and is cut off. */
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

  /** Settles when a reader that is behind has caught up or gone; undefined while none is behind. */
  get drained(): Promise<void> | undefined {
    return this.#drained;
  }

  /** Writes an event. Gives a promise where the reader is behind. */
  write(event: string): void | Promise<void> {
    if (this.#stream.write(event)) return;
    this.#behind += event.length;
    this.#drained ??= this.#untilDrained();
    if (this.#behind <= this.#limits.maxBehind) return this.#drained;
    this.#lose();
  }

  /** Shows that the connection lives. A reader that is behind has bytes on the way already. */
  comment(): void {
    if (this.#drained === undefined) this.#stream.write(sseComment());
  }

  /** Writes the last event, however far the reader is behind, and ends the stream. */
  finish(event: string): void {
    this.#stream.write(event);
    this.end();
  }

  /** From here on the exchange bounds how long the rest may stay unread: a slow reader that goes on reading gets it all. */
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
