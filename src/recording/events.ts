/** Version of the format that this package writes. A reader refuses a higher one. */
export const RECORDING_VERSION = 1;

/** How a recording was redacted, so that a replay can redact what it compares in the same way. */
export interface RedactionNote {
  readonly profile: "default" | "off";
  /** Names of members whose values are replaced in addition to the default ones. */
  readonly redact?: readonly string[] | undefined;
  /** Names of members whose values are kept. */
  readonly keep?: readonly string[] | undefined;
}

/** First line of a recording. */
export interface RecordingHeader {
  readonly mcpRecording: number;
  /** Program that wrote the recording, with its version. */
  readonly by: string;
  /** Time of day at which the recording began, as an ISO 8601 date. */
  readonly at: string;
  /** Unit of `t`: microseconds. */
  readonly unit: "us";
  readonly redaction: RedactionNote;
}

/** `>` is a message to the server, `<` one to the client. */
export type FrameDirection = ">" | "<";

/** Kind of a wire. */
export type RecordedWire = "stdio" | "http" | "memory" | "custom";

/** Headers of an HTTP message by lower-case name. */
export interface RecordedHeaders {
  readonly [name: string]: string;
}

/** Server of a connection, as far as the recorder knows it. */
export interface RecordedServer {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly command?: string | undefined;
  readonly args?: readonly string[] | undefined;
}

/** A connection begins. */
export interface OpenEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "open";
  /** Number of the connection. */
  readonly c: number;
  readonly wire: RecordedWire;
  /** Side at which the recorder stood. A tap stands between both. */
  readonly role: "client" | "server" | "tap";
  readonly server?: RecordedServer | undefined;
}

/** A connection has ended. */
export interface CloseEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "close";
  /** Number of the connection. */
  readonly c: number;
  /** Exit code or signal of the server's process. */
  readonly exit?: number | string | undefined;
  /** Reason, unless the end was orderly. */
  readonly error?: string | undefined;
}

/** Message of a channel, of an HTTP body, or of an event stream. It has either `m` or `raw`. */
export interface FrameEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "frame";
  /** Number of the connection. */
  readonly c: number;
  readonly d: FrameDirection;
  /** Exchange that carried the message. */
  readonly x?: number | undefined;
  /** Id of the event of the stream. */
  readonly id?: string | undefined;
  /** Type of the event of the stream, unless it is `message`. */
  readonly event?: string | undefined;
  /** Reconnection time that the stream has requested, in milliseconds, where it changed. */
  readonly retry?: number | undefined;
  /** The message. Serialized again, it is the text that was sent, but for replaced values. */
  readonly m?: unknown;
  /** Text of a body or frame that is not JSON, or that would be serialized differently. */
  readonly raw?: string | undefined;
}

/** Head of an HTTP request. */
export interface RequestEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "request";
  /** Number of the connection. */
  readonly c: number;
  /** Number of the HTTP exchange. */
  readonly x: number;
  readonly method: string;
  /** Path and query; the whole URL if the request goes elsewhere than to the server of the connection. */
  readonly path: string;
  readonly headers: RecordedHeaders;
}

/** Head of an HTTP response. */
export interface ResponseEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "response";
  /** Number of the connection. */
  readonly c: number;
  /** Number of the HTTP exchange. */
  readonly x: number;
  readonly status: number;
  readonly headers: RecordedHeaders;
}

/** End of an HTTP exchange. `lost` is an end that neither side wanted. */
export interface EndEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "end";
  /** Number of the connection. */
  readonly c: number;
  /** Number of the HTTP exchange. */
  readonly x: number;
  readonly by: "server" | "client" | "lost";
  readonly error?: string | undefined;
}

/** Comments of an event stream that keep it alive, summed up. */
export interface CommentEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "comment";
  /** Number of the connection. */
  readonly c: number;
  /** Number of the HTTP exchange. */
  readonly x: number;
  readonly count: number;
}

/** Step of authorization: an exchange with an authorization server, without its bodies. */
export interface AuthEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "auth";
  readonly c?: number | undefined;
  readonly step: string;
  readonly url: string;
  readonly status?: number | undefined;
  /** Duration in microseconds. */
  readonly us?: number | undefined;
  readonly error?: string | undefined;
}

/** Text that the server's process wrote to stderr. */
export interface StderrEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "stderr";
  /** Number of the connection. */
  readonly c: number;
  readonly text: string;
}

/** Text on the wire that is no message, such as a log line on stdout. */
export interface NoiseEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "noise";
  /** Number of the connection. */
  readonly c: number;
  readonly text: string;
}

/** Question to the user, as the client's handler received it. */
export interface AskEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "ask";
  /** Number of the connection. */
  readonly c: number;
  /** Number of the question. */
  readonly n: number;
  readonly method: string;
  readonly params?: unknown;
}

/** Answer to a question, as the client's handler gave it. */
export interface AnswerEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "answer";
  /** Number of the connection. */
  readonly c: number;
  readonly n: number;
  readonly result?: unknown;
  readonly error?: string | undefined;
}

/** Failure of a call, as its caller sees it. */
export interface RecordedFailure {
  readonly code: string;
  readonly message: string;
  readonly rpcCode?: number | undefined;
  readonly delivery?: string | undefined;
  readonly retrySafe?: boolean | undefined;
}

/** Outcome of a call for its caller. Only a recorder at the client knows it. */
export interface OutcomeEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "outcome";
  /** Number of the connection. */
  readonly c: number;
  readonly method: string;
  /** Name or URI of what was called. */
  readonly name?: string | undefined;
  /** Time at which the call began. */
  readonly from: number;
  /** Absent if the call succeeded. */
  readonly error?: RecordedFailure | undefined;
}

/** A fault was injected. */
export interface FaultEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "fault";
  readonly c?: number | undefined;
  readonly what: string;
  readonly d?: FrameDirection | undefined;
  readonly x?: number | undefined;
}

/** Lines are missing here. */
export interface GapEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "gap";
  readonly lines: number;
  readonly reason: string;
}

/** Text of a person. */
export interface NoteEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "note";
  readonly text: string;
}

/** Finding about the server. */
export interface VerdictEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "verdict";
  readonly rule: string;
  readonly level: "error" | "warning" | "note";
  /** Lines that prove it. The header is line 1. */
  readonly lines?: readonly number[] | undefined;
  readonly text: string;
  readonly remedy?: string | undefined;
}

/** Last line. A recording without it was cut. */
export interface DoneEvent {
  /** Microseconds since the recording began, on a monotonic clock. */
  readonly t: number;
  readonly k: "done";
  /** Number of lines before this one. */
  readonly lines: number;
  /** Number of their bytes. */
  readonly bytes: number;
  /** Number of replaced values by kind. */
  readonly redacted?: { readonly [kind: string]: number } | undefined;
}

/** Line of a recording after the header. */
export type RecordingEvent =
  | OpenEvent
  | CloseEvent
  | FrameEvent
  | RequestEvent
  | ResponseEvent
  | EndEvent
  | CommentEvent
  | AuthEvent
  | StderrEvent
  | NoiseEvent
  | AskEvent
  | AnswerEvent
  | OutcomeEvent
  | FaultEvent
  | GapEvent
  | NoteEvent
  | VerdictEvent
  | DoneEvent;

/** Kind of a line. */
export type EventKind = RecordingEvent["k"];

type WithoutTime<E> = E extends unknown ? Omit<E, "t"> : never;

/** Event to which the recorder adds the time. */
export type NewEvent = WithoutTime<RecordingEvent>;

/** Returns the message of a frame. Undefined if it is not JSON. */
export function messageOf(frame: Pick<FrameEvent, "m" | "raw">): unknown {
  if (frame.raw === undefined) return frame.m;
  try {
    return JSON.parse(frame.raw);
  } catch {
    return undefined;
  }
}
