import type { Clock } from "../../call/clock.js";
import type { HttpExchange, HttpHeaders } from "../exchange.js";
import type { KeepAlive, Quiet } from "./keep-alive.js";
import { type ReaderLimits, SseStream } from "./stream.js";
import { formatSseEvent, type SseFields } from "./writer.js";

/** Options of an {@link SseConnection}. */
export interface SseConnectionOptions {
  /** Headers in addition to those of every event stream. */
  readonly headers?: HttpHeaders | undefined;
  readonly clock: Clock;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly limits: ReaderLimits;
  /** Called when the client disconnects, or is disconnected at a limit. Not called after `end`. */
  onGone(): void;
}

/** Event stream to which `keepAlive` writes comments while it is idle, until it ends or its client disconnects. */
export class SseConnection implements Quiet {
  spokeAt: number;
  readonly #stream: SseStream;
  readonly #options: SseConnectionOptions;
  #open = true;

  /** Sends the headers at once. */
  constructor(exchange: HttpExchange, options: SseConnectionOptions) {
    const { headers, clock, keepAlive, limits } = options;
    this.#options = options;
    this.spokeAt = clock.now();
    this.#stream = new SseStream(exchange, headers, clock, limits, () => this.#lose());
    keepAlive.add(this);
    exchange.onGone(() => this.#lose());
  }

  /**
   * Promise that resolves when a client that is behind has caught up or disconnected. Undefined if the client is not
   * behind.
   */
  get drained(): Promise<void> | undefined {
    return this.#stream.drained;
  }

  write(fields: SseFields): void {
    if (!this.#open) return;
    this.spokeAt = this.#options.clock.now();
    this.#stream.write(formatSseEvent(fields));
  }

  onQuiet(now: number): void {
    this.spokeAt = now;
    this.#stream.comment();
  }

  end(): void {
    if (!this.#open) return;
    this.#close();
    this.#stream.end();
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
