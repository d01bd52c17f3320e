// The modern era has no such file: nothing is kept between modern requests.

import type { Clock } from "../../../call/clock.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { ReaderLimits } from "../../../http/sse/stream.js";
import type { RequestId, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { LoggingLevel } from "../../../protocol/types/index.js";
import type { Change } from "../../../store/change-bus.js";
import type { EventLog } from "../../../store/event-log.js";
import type { ClientDescription } from "../../server-era.js";

/** Id of the stream for messages outside calls. */
export const STANDALONE = "get";

/** List whose changes a server announces. */
export type List = Exclude<Change["kind"], "resource">;

/** State of a session that every process needs to serve it. */
export interface SessionState {
  readonly client: ClientDescription;
  /** True after `notifications/initialized`. */
  readonly ready: boolean;
  /** Lists whose changes the server promised to announce. */
  readonly promised: readonly List[];
  readonly level?: LoggingLevel | undefined;
}

/** Change of the state of a session. */
export type StateChange = { readonly ready: true } | { readonly level: LoggingLevel };

/** Change of a session that other processes have to know. */
export type SessionChange = StateChange | { readonly watch: string } | { readonly unwatch: string };

/** Id of a message to all clients: the process that sends it, and its number there. */
export interface BroadcastId {
  readonly from: string;
  readonly number: number;
}

/**
 * Event log of sessions that several processes serve. A stream has one writer. Another process that becomes its writer
 * makes `append` of the former writer fail.
 */
export interface SharedLog extends EventLog {
  /** Makes this process the writer of a new stream, and names the requests that it answers. Returns the first id. */
  open(sessionId: string, streamId: string, requests: readonly RequestId[]): Promise<string>;
  append(sessionId: string, streamId: string, data: string, last?: boolean, broadcast?: BroadcastId): Promise<string>;
  /** Appends the last messages of a stream, unless its end is marked. */
  end(sessionId: string, streamId: string, frames: readonly string[]): void;
}

/** Session whose client resumes a stream that another process writes. */
export interface FollowingSession {
  readonly sessionId: string;
  /** True if clients of its version accept events without data. */
  readonly primes: boolean;
  readonly clock: Clock;
  readonly limits: ReaderLimits;
  readonly keepAlive: KeepAlive<SseConnection>;
  /** Functions that end these connections, by stream. */
  readonly followers: Map<string, () => void>;
  /** Returns the maximum lifetime of a connection, or undefined for no limit. */
  followLifeOf(exchange: HttpExchange): number | undefined;
  report(error: unknown): void;
  onConnected(): void;
  onDisconnected(): void;
}

/** Event of a stream after which a client resumes it. */
export interface StreamPosition {
  readonly streamId: string;
  readonly after: string;
}

/** State of a standalone stream when a process becomes its writer. */
export interface Takeover {
  /** True if changes may not have been written. */
  readonly missed: boolean;
  /** Last event that another process may have sent, if it may have sent any message. */
  readonly sentId?: string | undefined;
}

/** Connects the sessions of this process, each named by its id, with the other processes that serve them. */
export interface SessionSharing {
  /** Log of streams that can be resumed, if the endpoint has one. */
  readonly log: SharedLog | undefined;
  readonly questions: SharedQuestions;
  /** Stores a change of a session. */
  save(session: string, change: SessionChange): Promise<void>;
  /** Forwards a cancellation, or progress of a question, which may concern another process. */
  forward(session: string, message: RpcNotification): void;
  /** Makes this process the writer of the standalone stream. */
  takeOver(session: string): Promise<Takeover>;
  /** Called when the standalone stream of a session is connected in this process. */
  onListening(session: string): void;
  /** Hands a message that this process cannot write to the writer of the standalone stream. */
  handOver(session: string, frame: string, broadcast: BroadcastId | undefined): void;
  /** Called when this process no longer writes the standalone stream, since it could not store a message. */
  onLost(session: string): void;
  /** Answers an exchange with the events of a stream that another process writes. The response has then begun. */
  follow(session: FollowingSession, exchange: HttpExchange, place: StreamPosition): Promise<void>;
}

/** Questions to clients whose responses may arrive in another process. */
export interface SharedQuestions {
  /** Stores a question to the client of a session. Returns its id. */
  open(session: string): Promise<string>;
  close(id: string): void;
  /** Gives a response of the client to the process that waits for it. */
  answer(session: string, response: RpcResponse): Promise<void>;
  /** Tells the process that waits for a response that it is malformed. */
  fail(session: string, id: RequestId | undefined, problem: string): void;
}
