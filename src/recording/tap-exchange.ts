import { ForwardingExchange } from "../http/decorated-exchange.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "../http/exchange.js";
import type { RequestBodies } from "../http/request-bodies.js";
import type { ConnectionRecorder, ExchangeRecorder } from "./connection.js";

/** Headers of a request that are recorded at a server. An exchange tells a header only by its name. */
const REQUEST_HEADERS = [
  ...["host", "origin", "user-agent", "accept", "content-type", "content-length", "referer", "traceparent"],
  ...["authorization", "cookie", "dpop", "x-api-key", "x-forwarded-for", "x-forwarded-proto", "forwarded"],
  ...["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id"],
];

/** Wraps the exchange of a server so that it is recorded. */
export function tapExchange(inner: HttpExchange, connection: ConnectionRecorder): RecordingExchange {
  return new RecordingExchange(inner, connection);
}

class RecordingExchange extends ForwardingExchange {
  readonly #recorder: ExchangeRecorder;

  constructor(inner: HttpExchange, connection: ConnectionRecorder) {
    super(inner);
    const headers: { [name: string]: string } = {};
    for (const name of REQUEST_HEADERS) {
      const value = inner.header(name);
      if (value !== undefined) headers[name] = value;
    }
    this.#recorder = connection.exchange(inner.method, inner.url, headers);
    inner.onGone(() => this.#recorder.end("client"));
  }

  /** Number of the exchange in the recording. */
  get x(): number {
    return this.#recorder.x;
  }

  override async text(limit: number, bodies?: RequestBodies): Promise<string> {
    const text = await super.text(limit, bodies);
    this.#recorder.requestBody(text);
    return text;
  }

  override reply(status: number, headers: HttpHeaders, body?: string): void {
    this.#recorder.response(status, headers);
    if (this.#recorder.isStream) this.#recorder.push(body ?? "");
    else this.#recorder.body(body ?? "");
    this.#recorder.end("server");
    super.reply(status, headers, body);
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    this.#recorder.response(status, headers);
    const inner = super.stream(status, headers);
    return {
      write: (text) => {
        this.#recorder.push(text);
        return inner.write(text);
      },
      onDrain: (listener) => inner.onDrain(listener),
      end: () => {
        this.#recorder.end("server");
        inner.end();
      },
      destroy: () => {
        this.#recorder.end("lost");
        inner.destroy();
      },
    };
  }
}
