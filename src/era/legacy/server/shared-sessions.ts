// The modern era has no such file: nothing is kept between modern requests.

import type { Clock } from "../../../call/clock.js";
import type { MaybePromise } from "../../../call/maybe-promise.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { ReaderLimits } from "../../../http/sse/stream.js";
import type { RequestId, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { LoggingLevel } from "../../../protocol/types/index.js";
import type { Change } from "../../../store/change-bus.js";
import type { EventLog } from "../../../store/event-log.js";
import type { HttpRefusal } from "../../refuse.js";
import type { CallOrigin, ClientDescription, LogMessage, ServerRuntime } from "../../server-era.js";

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

/**
 * Event log of sessions that several processes serve. A stream has one writer. Another process that becomes its writer
 * makes `append` of the former writer fail.
 */
export interface SharedLog extends EventLog {
  /** Makes this process the writer of a new stream, and names the requests that it answers. Returns the first id. */
  open(sessionId: string, streamId: string, requests: readonly RequestId[]): Promise<string>;
  append(sessionId: string, streamId: string, data: string, last?: boolean): Promise<string>;
  /** Appends the last messages of a stream, unless its end is marked. */
  end(sessionId: string, streamId: string, frames: readonly string[]): void;
}

/** Local part of a session that other processes serve as well. */
export interface SharedSession {
  readonly sessionId: string;
  readonly principal: string | undefined;
  /** True if a request runs or a stream is connected. */
  readonly busy: boolean;
  /** True if a response is about to begin. */
  readonly opening: boolean;
  readonly protocol: {
    readonly state: SessionState;
    readonly isReady: boolean;
    /** True if a page that the client was asked to open is not complete. */
    readonly awaitsPage: boolean;
    /** Resources that the client watches. Created for the first. */
    readonly subscriptions: {
      listener: CallOrigin;
      readonly uris: readonly string[];
      /** Replaces the resources by those that are stored. */
      restore(uris: ReadonlySet<string>): void;
      /** Takes a change of another process. */
      change(uri: string, isWatched: boolean): void;
      send(change: Change): void;
    };
    /** True if the client watches, or has watched, a resource. */
    readonly hasSubscriptions: boolean;
    restore(state: SessionState): void;
    log(message: LogMessage): void;
  };
  /** Stream for messages outside calls. */
  readonly standalone: {
    /** True if this process writes the stream. */
    held: boolean;
    /** True if the client listens in this process. */
    readonly connected: boolean;
    send(frame: string): void | Promise<void>;
    detach(retryMs: number | undefined): void;
    release(): void;
  };
  /** Tells the client that everything it asked about may have changed. */
  resync(): void;
  /** Processes a message of the client that arrived in another process. */
  receiveFromPeer(message: RpcNotification): void;
  /** Settles a question whose response arrived in another process. */
  settle(response: RpcResponse): void;
  failQuestion(id: RequestId, problem: string): void;
  end(why: HttpRefusal): void;
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
export interface StreamPlace {
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

/** Connects the sessions of this process with the other processes that serve them. */
export interface SessionSharing {
  /** Log of streams that can be resumed, if the endpoint has one. */
  readonly log: SharedLog | undefined;
  /** Stores a change of the state of a session. */
  save(session: SharedSession, change: SessionChange): Promise<void>;
  /** Passes a message of the client on, since its call or question may be in another process. */
  forward(session: SharedSession, message: RpcNotification): void;
  /** Gives a response of the client to the process that waits for it. */
  answer(session: SharedSession, response: RpcResponse): Promise<void>;
  /** Tells the process that waits for a response that it is malformed. */
  fail(session: SharedSession, id: RequestId | undefined, problem: string): void;
  /** Stores a question to the client. Returns its id. */
  openQuestion(session: SharedSession): Promise<string>;
  closeQuestion(id: string): void;
  /** Makes this process the writer of the standalone stream. */
  takeOver(session: SharedSession): Promise<Takeover>;
  /** Called when the standalone stream of a session is connected in this process. */
  onListening(session: SharedSession): void;
  /** Returns false for a message to all clients that another process has passed on already. */
  isNew(session: SharedSession, frame: string): boolean;
  /** Passes a message on to the process that writes the standalone stream now. */
  passOn(session: SharedSession, frame: string): void;
  /** Called when this process writes the standalone stream no longer, since it could not store a message. */
  onLost(session: SharedSession, frame: string): void;
  /** Answers an exchange with the events of a stream that another process writes. The response has then begun. */
  follow(session: FollowingSession, exchange: HttpExchange, place: StreamPlace): Promise<void>;
}

/** Sessions that an endpoint can serve. */
export interface Sessions<Session> {
  /** Number of sessions in this process. */
  readonly size: number;
  values(): Iterable<Session>;
  /** Reserves a place for a session of this principal. Returns a refusal if there is none. */
  reserve(principal: string | undefined): MaybePromise<HttpRefusal | undefined>;
  /** Releases a reserved place that holds no session. */
  free(principal: string | undefined): void;
  /** Adds a session for which a place was reserved. */
  add(id: string, session: Session): MaybePromise<void>;
  /** Returns the session with this id if it belongs to the principal, otherwise a refusal. */
  find(id: string, principal: string | undefined): MaybePromise<Session | HttpRefusal>;
  has(id: string): boolean;
  /** Restarts the idle time of a session. */
  touch(session: Session): void;
  /** Ends a session. */
  end(session: Session, why: HttpRefusal): MaybePromise<void>;
  /** Ends all sessions of this process, since it shuts down. */
  close(why: HttpRefusal): void | Promise<void>;
}

/** Endpoint whose sessions are shared. */
export interface SessionPlace<Session> {
  readonly runtime: ServerRuntime;
  /** True if streams can be resumed. */
  readonly resumable: boolean;
  /** Creates the local part of a session that another process opened. */
  create(id: string, principal: string | undefined): Session;
  /** Calls the author's function for the end of a session. */
  onEnd(id: string): void;
}
