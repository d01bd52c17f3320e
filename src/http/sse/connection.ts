import type { Clock } from "../../call/clock.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "../exchange.js";
import type { KeepAlive, Quiet } from "./keep-alive.js";
import { formatSseEvent, SSE_HEADERS, type SseFields, sseComment } from "./writer.js";

export interface SseConnectionOptions {
  /** Headers beside those of every event stream. */
  readonly headers?: HttpHeaders | undefined;
  readonly clock: Clock;
  readonly keepAlive: KeepAlive<SseConnection>;
  /** How many characters may wait for a reader that has stopped reading, before the connection is given up. */
  readonly maxBehind: number;
  /** The reader has gone, or was given up. Not called after `end`. */
  onGone(): void;
}

/** An exchange that is being answered by an event stream. */
export class SseConnection implements Quiet {
  spokeAt: number;
  readonly #stream: HttpStream;
  readonly #options: SseConnectionOptions;
  #open = true;
  #behind = 0;
  #drained: Promise<void> | undefined;

  /** Sends the headers at once. */
  constructor(exchange: HttpExchange, options: SseConnectionOptions) {
    const { headers, clock, keepAlive } = options;
    this.#options = options;
    this.spokeAt = clock.now();
    this.#stream = exchange.stream(200, headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers });
    keepAlive.add(this);
    exchange.onGone(() => this.#lose());
  }

  /** Settles when a reader that is behind has caught up or gone; undefined while none is behind. */
  get drained(): Promise<void> | undefined {
    return this.#drained;
  }

  write(fields: SseFields): void {
    if (!this.#open) return;
    const text = formatSseEvent(fields);
    this.spokeAt = this.#options.clock.now();
    if (!this.#stream.write(text)) this.#fallBehind(text.length);
  }

  /** Shows that the connection lives; a reader that is behind has bytes on the way already. */
  onQuiet(now: number): void {
    this.spokeAt = now;
    if (this.#drained === undefined) this.#stream.write(sseComment());
  }

  end(): void {
    if (!this.#open) return;
    this.#close();
    this.#stream.end();
  }

  #fallBehind(length: number): void {
    this.#behind += length;
    this.#drained ??= new Promise((resolve) => {
      this.#stream.onDrain(() => {
        this.#behind = 0;
        this.#drained = undefined;
        resolve();
      });
    });
    if (this.#behind <= this.#options.maxBehind) return;
    this.#lose();
    this.#stream.destroy();
  }

  #lose(): void {
    if (!this.#open) return;
    this.#close();
    this.#options.onGone();
  }

  #close(): void {
    this.#open = false;
    this.#options.keepAlive.delete(this);
  }
}
