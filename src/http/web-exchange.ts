import type { AuthInfo } from "./auth-info.js";
import { type BodyFailure, BodyIncomplete, BodyNotText, BodyTaken, BodyTooLarge } from "./body-failure.js";
import { BODILESS, type HttpExchange, type HttpHeaders, type HttpStream, toBodyText } from "./exchange.js";
import { IncomingBody, RequestBodies } from "./request-bodies.js";

/** Options of {@link createWebExchange}. */
export interface WebExchangeOptions {
  /** Information about the caller from the authorization gate. */
  readonly auth?: AuthInfo | undefined;
  /** Body that the surrounding application has already read: its text, or the parsed JSON value. */
  readonly body?: unknown;
  /**
   * Number of unread bytes of a stream at which `write` returns false.
   * @default 65_536
   */
  readonly highWaterMark?: number;
}

/**
 * Status of a response after the client has disconnected. No client receives it, but the caller that awaits the
 * response must not wait forever.
 */
const GONE_STATUS = 499;
const DEFAULT_HIGH_WATER_MARK = 64 * 1024;
const encoder = new TextEncoder();

/**
 * Creates an exchange for a web-standard `Request`. The response resolves on `reply`, on `stream`, or when the client
 * disconnects.
 */
export function createWebExchange(
  request: Request,
  options: WebExchangeOptions = {},
): { exchange: HttpExchange; response: Promise<Response> } {
  const exchange = new WebExchange(request, options);
  return { exchange, response: exchange.response };
}

class WebExchange implements HttpExchange {
  readonly method: string;
  readonly url: string;
  readonly auth: AuthInfo | undefined;
  readonly response: Promise<Response>;

  readonly #request: Request;
  readonly #options: WebExchangeOptions;
  #respond!: (response: Response) => void;
  #goneListeners: Array<() => void> = [];
  #watching = false;
  #stream: WebStream | undefined;
  #state: "open" | "complete" | "gone" = "open";

  constructor(request: Request, options: WebExchangeOptions) {
    this.#request = request;
    this.#options = options;
    this.method = request.method;
    this.url = toPath(request.url);
    this.auth = options.auth;
    this.response = new Promise((resolve) => {
      this.#respond = resolve;
    });
  }

  get answered(): boolean {
    return this.#stream !== undefined || this.#state !== "open";
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name);
    if (value !== null) return value;
    return name === "host" ? new URL(this.#request.url).host : undefined;
  }

  async text(limit: number, bodies = new RequestBodies()): Promise<string> {
    if (this.#options.body !== undefined) return toBodyText(this.#options.body);
    if (this.#request.bodyUsed) throw new BodyTaken();
    const declared = Number(this.header("content-length") ?? Number.NaN);
    if (declared > limit) throw new BodyTooLarge(limit);
    const { body } = this.#request;
    const text = body === null ? "" : await readText(body, bodies, limit, declared);
    if (!this.#request.signal.aborted) return text;
    this.#leave();
    throw new BodyIncomplete({ cause: this.#request.signal.reason });
  }

  onGone(listener: () => void): void {
    if (this.#state === "complete") return;
    if (this.#state === "gone") {
      queueMicrotask(listener);
      return;
    }
    this.#goneListeners.push(listener);
    this.#watch();
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    if (this.#state !== "open") return;
    this.#complete();
    const bytes = body === undefined || BODILESS.has(status) ? null : encoder.encode(body);
    const length = BODILESS.has(status) ? {} : { "content-length": String(bytes?.byteLength ?? 0) };
    this.#respond(new Response(bytes, { status, headers: { ...headers, ...length } }));
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    const stream = new WebStream(
      () => this.#complete(),
      this.#leave,
      this.#options.highWaterMark ?? DEFAULT_HIGH_WATER_MARK,
    );
    if (this.#state === "gone") stream.leave();
    else this.#respond(new Response(stream.body, { status, headers }));
    this.#stream = stream;
    this.#watch();
    return stream;
  }

  /**
   * Watches for a disconnect. A plain reply needs this only if there is a listener. A stream always does, so that its
   * writer does not wait for a client that has left.
   */
  #watch(): void {
    if (this.#watching || this.#state !== "open") return;
    this.#watching = true;
    const { signal } = this.#request;
    if (signal.aborted) queueMicrotask(this.#leave);
    else signal.addEventListener("abort", this.#leave, { once: true });
  }

  readonly #leave = (): void => {
    if (this.#state !== "open") return;
    this.#state = "gone";
    this.#respond(new Response(null, { status: GONE_STATUS }));
    this.#stream?.leave();
    for (const listener of this.#takeListeners()) listener();
  };

  #complete(): void {
    if (this.#state !== "open") return;
    this.#state = "complete";
    this.#takeListeners();
  }

  #takeListeners(): Array<() => void> {
    const listeners = this.#goneListeners;
    this.#goneListeners = [];
    if (this.#watching) this.#request.signal.removeEventListener("abort", this.#leave);
    return listeners;
  }
}

class WebStream implements HttpStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #onEnd: () => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #waiting: Array<() => void> = [];
  #closed = false;

  constructor(onEnd: () => void, onCancel: () => void, highWaterMark: number) {
    this.#onEnd = onEnd;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#release(),
        cancel: () => {
          this.#closed = true;
          onCancel();
          this.#release();
        },
      },
      { highWaterMark, size: (chunk) => chunk.byteLength },
    );
  }

  write(text: string): boolean {
    if (this.#closed) return true;
    if (text !== "") this.#controller.enqueue(encoder.encode(text));
    return this.#hasRoom();
  }

  onDrain(listener: () => void): void {
    if (this.#closed || this.#hasRoom()) queueMicrotask(listener);
    else this.#waiting.push(listener);
  }

  end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#controller.close();
    this.#onEnd();
    this.#release();
  }

  /** Breaks the body, so that its reader does not take it for complete. */
  destroy(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#controller.error(new DOMException("The response was cut off by the server", "AbortError"));
    this.#onEnd();
    this.#release();
  }

  /**
   * Ends the body after the client has disconnected. That is no error of the stream: frameworks that still read it would
   * print it for each client that leaves.
   */
  leave(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#controller.close();
    this.#release();
  }

  #hasRoom(): boolean {
    return (this.#controller.desiredSize ?? 0) > 0;
  }

  #release(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const listener of waiting) listener();
  }
}

async function readText(
  stream: ReadableStream<Uint8Array>,
  bodies: RequestBodies,
  limit: number,
  declared: number,
): Promise<string> {
  const reader = stream.getReader();
  let failure: BodyFailure | undefined;
  const stop = (error: BodyFailure) => {
    failure = error;
    reader.cancel(error).catch(() => {});
  };
  const body = new IncomingBody(bodies, limit, declared, stop);
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new BodyIncomplete({ cause });
      });
      if (done) break;
      const refused = body.add(value);
      if (refused !== undefined) stop(refused);
    }
    if (failure !== undefined) throw failure;
    const text = body.text();
    if (text === undefined) throw new BodyNotText();
    return text;
  } finally {
    body.close();
  }
}

function toPath(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const hash = url.indexOf("#", start);
  return url.slice(start, hash === -1 ? undefined : hash);
}
