import { ForwardingExchange } from "../http/decorated-exchange.js";
import type { HttpExchange, HttpHeaders, HttpStream } from "../http/exchange.js";
import { SSE_HEADERS } from "../http/sse/writer.js";
import { isObject } from "../protocol/json.js";
import type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";

/** JSON-RPC message of any kind, typed loosely for tests. */
export interface RecordedMessage {
  readonly jsonrpc: "2.0";
  readonly id?: RequestId | null;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Message of a channel, or of the body of an HTTP request or response. */
export interface RecordedFrame {
  readonly from: "client" | "server";
  readonly text: string;
  /** Undefined if the text is not a JSON object. */
  readonly message: RecordedMessage | undefined;
}

/** HTTP request and its response. */
export interface RecordedExchange {
  readonly method: string;
  readonly header: (name: string) => string | undefined;
  body: string | undefined;
  status: number | undefined;
  headers: HttpHeaders | undefined;
  /** True if the client disconnected before the response was complete. */
  gone: boolean;
  /** True if the response is complete. */
  ended: boolean;
  /** Messages of the request and the response, in order. */
  readonly frames: RecordedFrame[];
}

/** Records all frames between a client and a server, over channels and HTTP. */
export class WireRecorder {
  readonly frames: RecordedFrame[] = [];
  readonly exchanges: RecordedExchange[] = [];
  readonly #watchers = new Set<() => void>();

  /** Returns the requests of the client, of one method or of all. */
  requests(method?: string): RecordedMessage[] {
    return this.#messages("client").filter((m) => m.method !== undefined && m.id !== undefined && isMethod(m, method));
  }

  /** Returns the server's responses to requests of a method. */
  responsesTo(method: string): RecordedMessage[] {
    const ids = new Set(this.requests(method).map(({ id }) => id));
    return this.#messages("server").filter((m) => m.method === undefined && ids.has(m.id));
  }

  /** Returns the notifications of one side, of one method or of all. */
  notifications(from: "client" | "server", method?: string): RecordedMessage[] {
    return this.#messages(from).filter((m) => m.method !== undefined && m.id === undefined && isMethod(m, method));
  }

  /** Returns the requests of the server, of one method or of all. */
  serverRequests(method?: string): RecordedMessage[] {
    return this.#messages("server").filter((m) => m.method !== undefined && m.id !== undefined && isMethod(m, method));
  }

  /** Resolves when `fits` returns true. Checks it now and after each recorded event. */
  until(fits: (recorder: this) => boolean): Promise<void> {
    if (fits(this)) return Promise.resolve();
    return new Promise((resolve) => {
      const look = () => {
        if (!fits(this)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  /** Adds a frame. Called by the recorded channels and exchanges. */
  record(from: "client" | "server", text: string, exchange?: RecordedExchange): void {
    const frame = { from, text, message: parse(text) };
    this.frames.push(frame);
    exchange?.frames.push(frame);
    this.changed();
  }

  /** Checks the conditions of `until` again. */
  changed(): void {
    for (const look of [...this.#watchers]) look();
  }

  /** Wraps a client's channel so that its frames are recorded. */
  channel(inner: Channel): Channel {
    return {
      open: (events: ChannelEvents) =>
        inner.open({
          onFrame: (text) => {
            this.record("server", text);
            events.onFrame(text);
          },
          onProblem: (problem) => events.onProblem(problem),
          onClose: (reason) => events.onClose(reason),
        }),
      send: (text) => {
        this.record("client", text);
        return inner.send(text);
      },
      close: () => inner.close(),
    };
  }

  /** Wraps a server's HTTP exchange so that it is recorded. */
  exchange(inner: HttpExchange): HttpExchange {
    const entry: RecordedExchange = {
      method: inner.method,
      header: (name) => inner.header(name),
      body: undefined,
      status: undefined,
      headers: undefined,
      gone: false,
      ended: false,
      frames: [],
    };
    this.exchanges.push(entry);
    inner.onGone(() => {
      entry.gone = true;
      this.changed();
    });
    return new RecordedHttpExchange(inner, entry, this);
  }

  #messages(from: "client" | "server"): RecordedMessage[] {
    return this.frames.flatMap((frame) => (frame.from === from && frame.message !== undefined ? [frame.message] : []));
  }
}

class RecordedHttpExchange extends ForwardingExchange {
  readonly #entry: RecordedExchange;
  readonly #recorder: WireRecorder;

  constructor(inner: HttpExchange, entry: RecordedExchange, recorder: WireRecorder) {
    super(inner);
    this.#entry = entry;
    this.#recorder = recorder;
  }

  override async text(limit: number): Promise<string> {
    const text = await super.text(limit);
    this.#entry.body = text;
    this.#recorder.record("client", text, this.#entry);
    return text;
  }

  override reply(status: number, headers: HttpHeaders, body?: string): void {
    Object.assign(this.#entry, { status, headers, ended: true });
    if (headers["content-type"] === SSE_HEADERS["content-type"]) this.#recordEvents(body ?? "");
    else if (body !== undefined && body !== "") this.#recorder.record("server", body, this.#entry);
    super.reply(status, headers, body);
    this.#recorder.changed();
  }

  override stream(status: number, headers: HttpHeaders): HttpStream {
    Object.assign(this.#entry, { status, headers });
    const inner = super.stream(status, headers);
    this.#recorder.changed();
    return {
      write: (text) => {
        this.#recordEvents(text);
        return inner.write(text);
      },
      onDrain: (listener) => inner.onDrain(listener),
      end: () => {
        this.#entry.ended = true;
        inner.end();
        this.#recorder.changed();
      },
      destroy: () => {
        this.#entry.ended = true;
        inner.destroy();
        this.#recorder.changed();
      },
    };
  }

  #recordEvents(text: string): void {
    for (const line of text.split("\n")) {
      if (line.startsWith("data: ") && line.length > 6) this.#recorder.record("server", line.slice(6), this.#entry);
    }
  }
}

function isMethod(message: RecordedMessage, method: string | undefined): boolean {
  return method === undefined || message.method === method;
}

function parse(text: string): RecordedMessage | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? (value as unknown as RecordedMessage) : undefined;
  } catch {
    return undefined;
  }
}
