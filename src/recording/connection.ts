import { type SseEvent, SseReader } from "../http/sse/reader.js";
import { isObject } from "../protocol/json.js";
import type { Known } from "../protocol/known-options.js";
import type {
  EndEvent,
  FrameDirection,
  FrameEvent,
  NewEvent,
  RecordedHeaders,
  RecordedServer,
  RecordedWire,
} from "./events.js";
import type { KnownContent } from "./frame.js";

/** Frame without its time and content. */
export type FrameHead = Omit<FrameEvent, "t" | "m" | "raw">;

/** What a connection needs of the recording that it belongs to. */
export interface Recorder {
  readonly maxLineBytes: number;
  /** Returns microseconds since the recording began. */
  now(): number;
  add(event: NewEvent): void;
  content(text: string): KnownContent;
  /** Adds a frame with its content, which is redacted. */
  addFrame(head: FrameHead, content: KnownContent): void;
  nextExchange(): number;
}

/** What a recorder tells of a connection. */
export interface ConnectionInfo {
  readonly wire: RecordedWire;
  /** Side at which the recorder stands. */
  readonly role: "client" | "server" | "tap";
  readonly server?: RecordedServer | undefined;
}

const SERVER: Known<RecordedServer> = { name: "string", url: "string", command: "string", args: [{ array: "string" }] };

export const CONNECTION_INFO: Known<ConnectionInfo> = {
  wire: [{ string: ["stdio", "http", "memory", "custom"] }, "required"],
  role: [{ string: ["client", "server", "tap"] }, "required"],
  server: SERVER,
};

type FrameDetails = { readonly x?: number; readonly id?: string; readonly event?: string; readonly retry?: number };

/** Time for which comments of a stream are summed up. */
const COMMENTS_US = 1_000_000;

/** Writes what happens on a connection. A tap calls it with what it sees. */
export class ConnectionRecorder {
  readonly #recorder: Recorder;
  #closed = false;

  /** @internal */
  constructor(
    recorder: Recorder,
    /** Number of the connection. */
    readonly c: number,
    readonly info: ConnectionInfo,
  ) {
    this.#recorder = recorder;
    const { wire, role, server } = info;
    recorder.add({ k: "open", c, wire, role, ...(server !== undefined && { server }) });
  }

  /** Records a frame of a channel. Text of a server that is no message is noise. */
  frame(d: FrameDirection, text: string): void {
    const content = this.#recorder.content(text);
    const isMessage = "raw" in content ? isMessageText(content.raw) : isObject(content.m) || Array.isArray(content.m);
    if (isMessage || d === ">") this.#recorder.addFrame({ k: "frame", c: this.c, d }, content);
    else this.noise(text);
  }

  /** Records text on the wire that is no message. */
  noise(text: string): void {
    this.#recorder.add({ k: "noise", c: this.c, text });
  }

  /** Notes that a part of the traffic is not recorded. */
  skip(reason: string): void {
    this.#recorder.add({ k: "gap", lines: 1, reason });
  }

  /** Records what the server's process wrote to stderr. */
  stderr(text: string): void {
    this.#recorder.add({ k: "stderr", c: this.c, text });
  }

  /** Begins an HTTP exchange. Names of headers are in lower case. */
  exchange(method: string, path: string, headers: RecordedHeaders): ExchangeRecorder {
    return new ExchangeRecorder(this.#recorder, this.c, method, path, headers);
  }

  /** Records the end of the connection, once. */
  close(error?: string, exit?: number | string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#recorder.add({
      k: "close",
      c: this.c,
      ...(exit !== undefined && { exit }),
      ...(error !== undefined && { error }),
    });
  }
}

/** Writes what happens in an HTTP exchange. */
export class ExchangeRecorder {
  /** Number of the exchange. */
  readonly x: number;
  readonly #recorder: Recorder;
  readonly #c: number;
  #sse: SseReader | undefined;
  #isStream = false;
  #retry: number | undefined;
  #comments = 0;
  #commentsFrom = Number.NEGATIVE_INFINITY;
  #ended = false;

  /** @internal */
  constructor(recorder: Recorder, c: number, method: string, path: string, headers: RecordedHeaders) {
    this.#recorder = recorder;
    this.#c = c;
    this.x = recorder.nextExchange();
    recorder.add({ k: "request", c, x: this.x, method, path, headers });
  }

  /** True if the response is an event stream, whose text goes to `push`. */
  get isStream(): boolean {
    return this.#isStream;
  }

  /** Records the body of the request. */
  requestBody(text: string): void {
    if (text !== "") this.#frame(">", text, {});
  }

  /** Records the head of the response. */
  response(status: number, headers: RecordedHeaders): void {
    this.#recorder.add({ k: "response", c: this.#c, x: this.x, status, headers });
    this.#isStream = /^text\/event-stream\b/i.test(headers["content-type"] ?? "");
    if (this.#isStream)
      this.#sse = new SseReader((event) => this.#event(event), { maxEventSize: this.#recorder.maxLineBytes });
  }

  /** Records the whole body of a response that is no stream. */
  body(text: string): void {
    if (text !== "") this.#frame("<", text, {});
  }

  /** Records a piece of an event stream. */
  push(piece: string | Uint8Array): void {
    if (this.#sse === undefined) return;
    const before = this.#sse.comments;
    try {
      this.#sse.push(piece);
    } catch {
      this.skip("an event of a stream was too long");
      this.#sse = undefined;
      return;
    }
    this.#comments += this.#sse.comments - before;
    if (this.#comments > 0 && this.#recorder.now() - this.#commentsFrom >= COMMENTS_US) this.#writeComments();
  }

  /** Notes that a part of the exchange is not recorded. */
  skip(reason: string): void {
    this.#recorder.add({ k: "gap", lines: 1, reason });
  }

  /** Records the end of the exchange, once. */
  end(by: EndEvent["by"], error?: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#comments > 0) this.#writeComments();
    this.#sse?.end();
    this.#recorder.add({ k: "end", c: this.#c, x: this.x, by, ...(error !== undefined && { error }) });
  }

  #event({ data, id, event }: SseEvent): void {
    const retry = this.#sse?.retryMs;
    const hasRetry = retry !== undefined && retry !== this.#retry;
    this.#retry = retry;
    this.#frame("<", data, {
      ...(id !== undefined && { id }),
      ...(event !== "message" && { event }),
      ...(hasRetry && { retry }),
    });
  }

  #frame(d: FrameDirection, text: string, details: FrameDetails): void {
    this.#recorder.addFrame({ k: "frame", c: this.#c, d, x: this.x, ...details }, this.#recorder.content(text));
  }

  #writeComments(): void {
    this.#recorder.add({ k: "comment", c: this.#c, x: this.x, count: this.#comments });
    this.#comments = 0;
    this.#commentsFrom = this.#recorder.now();
  }
}

/** True for JSON of a message that is not written as JavaScript would write it. */
function isMessageText(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
