import type { HttpExchange, HttpHeaders } from "../http/exchange.js";
import { isObject } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import type { ConnectionRecorder } from "../recording/connection.js";
import type { FrameEvent, RecordingEvent } from "../recording/events.js";
import { Recording } from "../recording/recording.js";
import { tapExchange } from "../recording/tap-exchange.js";

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

/** Everything is recorded, as it is, and kept as frames only. */
const AS_IT_IS = {
  redaction: false,
  limits: { maxKeptLines: 0, maxLineBytes: Number.POSITIVE_INFINITY },
} as const;

/** Records all frames between a client and a server, over channels and HTTP. It replaces nothing, and writes nothing. */
export class WireRecorder {
  readonly frames: RecordedFrame[] = [];
  readonly exchanges: RecordedExchange[] = [];
  readonly #recording = new Recording(AS_IT_IS);
  readonly #byNumber = new Map<number, RecordedExchange>();
  readonly #watchers = new Set<() => void>();
  #http: ConnectionRecorder | undefined;

  constructor() {
    this.#recording.subscribe((event) => this.#take(event));
  }

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
    return this.#recording.channel(inner);
  }

  /** Wraps a server's HTTP exchange so that it is recorded. */
  exchange(inner: HttpExchange): HttpExchange {
    this.#http ??= this.#recording.connection({ wire: "http", role: "server" });
    const tapped = tapExchange(inner, this.#http);
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
    this.#byNumber.set(tapped.x, entry);
    return tapped;
  }

  #take(event: RecordingEvent): void {
    const entry = "x" in event && event.x !== undefined ? this.#byNumber.get(event.x) : undefined;
    switch (event.k) {
      case "frame": {
        const text = textOf(event);
        // An event without data only tells its id.
        if (text === "") return;
        if (entry !== undefined && event.d === ">") entry.body = text;
        return this.record(event.d === ">" ? "client" : "server", text, entry);
      }
      case "noise":
        return this.record("server", event.text);
      case "response":
        if (entry !== undefined) Object.assign(entry, { status: event.status, headers: event.headers });
        return this.changed();
      case "end":
        if (entry !== undefined) entry[event.by === "client" ? "gone" : "ended"] = true;
        this.#byNumber.delete(event.x);
        return this.changed();
    }
  }

  #messages(from: "client" | "server"): RecordedMessage[] {
    return this.frames.flatMap((frame) => (frame.from === from && frame.message !== undefined ? [frame.message] : []));
  }
}

/** Returns the text of a frame, which is what its message is serialized to. */
function textOf({ m, raw }: FrameEvent): string {
  return raw ?? JSON.stringify(m);
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
