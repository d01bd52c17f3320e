import type { IdleQueue } from "../call/idle-queue.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "./exchange.js";
import { formatSseEvent, SSE_HEADERS, type SseFields, sseComment } from "./sse-writer.js";

export interface SseConnectionOptions {
  /** Headers beside those of every event stream. */
  readonly headers?: HttpHeaders | undefined;
  /** Where connections wait that want to be kept alive; its listener calls `ping`. */
  readonly quiet?: IdleQueue<SseConnection> | undefined;
  /** How much may be written for a reader that has stopped reading, before the connection is given up. */
  readonly maxQueued: number;
  /** The reader has gone, or was given up. Not called after `end`. */
  onGone(): void;
}

/** An exchange that is being answered by an event stream. */
export class SseConnection {
  readonly #stream: HttpStream;
  readonly #options: SseConnectionOptions;
  #open = true;
  #queued = 0;
  #drained: Promise<void> | undefined;

  /** Sends the headers at once. */
  constructor(exchange: HttpExchange, options: SseConnectionOptions) {
    this.#options = options;
    this.#stream = exchange.stream(
      200,
      options.headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...options.headers },
    );
    options.quiet?.touch(this);
    exchange.onGone(() => this.#lose());
  }

  /** Settles when a reader that is behind has caught up or gone; undefined while none is behind. */
  get drained(): Promise<void> | undefined {
    return this.#drained;
  }

  write(fields: SseFields): void {
    if (!this.#open) return;
    this.#options.quiet?.touch(this);
    const text = formatSseEvent(fields);
    if (this.#stream.write(text)) return;
    this.#queued += text.length;
    if (this.#queued > this.#options.maxQueued) return this.#giveUp();
    this.#drained ??= new Promise((resolve) => {
      this.#stream.onDrain(() => {
        this.#queued = 0;
        this.#drained = undefined;
        resolve();
      });
    });
  }

  /** Shows that the connection lives. A reader that is behind has bytes on the way already. */
  ping(): void {
    if (!this.#open) return;
    if (this.#drained === undefined) this.#stream.write(sseComment());
    this.#options.quiet?.touch(this);
  }

  end(): void {
    if (!this.#open) return;
    this.#close();
    this.#stream.end();
  }

  #giveUp(): void {
    this.#lose();
    this.#stream.end();
  }

  #lose(): void {
    if (!this.#open) return;
    this.#close();
    this.#options.onGone();
  }

  #close(): void {
    this.#open = false;
    this.#options.quiet?.remove(this);
  }
}
