import type { HttpExchange, HttpStream } from "../../../http/exchange.js";
import { formatSseEvent, SSE_HEADERS, sseComment } from "../../../http/sse/writer.js";
import { formatNotification } from "../../../protocol/jsonrpc/format.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";

/** The answer to one request as a stream of events, of which the answer proper is the last. */
export class ReplyStream {
  readonly #stream: HttpStream;
  readonly #maxBehind: number;
  readonly #onLost: () => void;
  /** How many characters were written since the reader fell behind. */
  #behind = 0;
  #drained: Promise<void> | undefined;

  /** `onLost` hears of a reader that is too far behind to be waited for; it has been cut off then. */
  constructor(exchange: HttpExchange, maxBehind: number, onLost: () => void) {
    this.#stream = exchange.stream(200, SSE_HEADERS);
    this.#maxBehind = maxBehind;
    this.#onLost = onLost;
  }

  /** A promise where the reader is behind. */
  notify(method: string, params: Params | undefined): void | Promise<void> {
    return this.#write(formatSseEvent({ data: formatNotification(method, params) }));
  }

  /** Keeps the connection alive. A reader that is behind has enough to read. */
  comment(): void {
    if (this.#behind === 0) this.#write(sseComment());
  }

  answer(text: string): void {
    this.#stream.write(formatSseEvent({ data: text }));
    this.end();
  }

  end(): void {
    this.#stream.end();
  }

  #write(text: string): void | Promise<void> {
    if (this.#stream.write(text)) {
      this.#behind = 0;
      return;
    }
    this.#behind += text.length;
    if (this.#behind > this.#maxBehind) {
      this.#onLost();
      return this.#stream.destroy();
    }
    this.#drained ??= this.#untilDrained();
    return this.#drained;
  }

  #untilDrained(): Promise<void> {
    return new Promise((resolve) => {
      this.#stream.onDrain(() => {
        this.#behind = 0;
        this.#drained = undefined;
        resolve();
      });
    });
  }
}

/** Answers with a stream that has nothing but the answer. */
export function replyAsEvent(exchange: HttpExchange, text: string): void {
  exchange.reply(200, SSE_HEADERS, formatSseEvent({ data: text }));
}
