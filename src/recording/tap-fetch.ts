import { type Fetch, type FetchInit, globalFetch } from "../http/client/send.js";
import type { ConnectionRecorder, ExchangeRecorder } from "./connection.js";
import type { RecordedHeaders } from "./events.js";

/**
 * Wraps the `fetch` of a client so that its exchanges are recorded. Without `inner`, it sends by the connections of the
 * client, or by the global `fetch`.
 */
export function tapFetch(inner: Fetch | undefined, connection: ConnectionRecorder, maxBytes: number): Fetch {
  const origin = originOf(connection.info.server?.url);
  return async (url, init) => {
    const headers = toRecord(new Headers(init.headers ?? {}));
    const path = url.origin === origin ? url.pathname + url.search : url.href;
    const exchange = connection.exchange(init.method ?? "GET", path, headers);
    if (typeof init.body === "string") exchange.requestBody(init.body);
    let response: Response;
    try {
      response = await (inner ?? init.ownFetch ?? globalFetch)(url, init);
    } catch (error) {
      exchange.end(...endOf(init, error));
      throw error;
    }
    exchange.response(response.status, toRecord(response.headers));
    if (response.body !== null) return withBody(response, tapBody(response.body, exchange, init, maxBytes));
    exchange.end("server");
    return response;
  };
}

/** Passes a body on, chunk by chunk, as its reader asks for it. */
function tapBody(
  body: ReadableStream<Uint8Array>,
  exchange: ExchangeRecorder,
  init: FetchInit,
  maxBytes: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const text = exchange.isStream ? undefined : new BodyText(exchange, maxBytes);
  return new ReadableStream(
    {
      async pull(controller) {
        let next: ReadableStreamReadResult<Uint8Array>;
        try {
          next = await reader.read();
        } catch (error) {
          exchange.end(...endOf(init, error));
          throw error;
        }
        if (next.value !== undefined) {
          if (text === undefined) exchange.push(next.value);
          else text.push(next.value);
          controller.enqueue(next.value);
        }
        if (!next.done) return;
        text?.end();
        exchange.end("server");
        controller.close();
      },
      cancel(reason) {
        text?.end();
        exchange.end("client");
        return reader.cancel(reason);
      },
    },
    // Reads nothing before it is asked for, as without the tap.
    { highWaterMark: 0 },
  );
}

/** Collects the text of a body. */
class BodyText {
  readonly #decoder = new TextDecoder();
  #text = "";

  constructor(
    readonly exchange: ExchangeRecorder,
    readonly maxBytes: number,
  ) {}

  push(chunk: Uint8Array): void {
    if (this.#text.length < this.maxBytes) this.#text += this.#decoder.decode(chunk, { stream: true });
  }

  end(): void {
    if (this.#text.length < this.maxBytes) this.exchange.body(this.#text + this.#decoder.decode());
    else this.exchange.skip("the body of a response was too long");
  }
}

function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url } = response;
  const copy = new Response(body, { status, statusText, headers });
  // A response that is made has no URL, which tells where it came from.
  Object.defineProperty(copy, "url", { value: url });
  return copy;
}

function endOf(init: FetchInit, error: unknown): ["client" | "lost", string] {
  return [init.signal?.aborted === true ? "client" : "lost", error instanceof Error ? error.message : String(error)];
}

function toRecord(headers: Headers): RecordedHeaders {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toLowerCase(), value]));
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined;
}
