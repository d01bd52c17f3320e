// The modern era has no such file: a modern stream belongs to one exchange and cannot be resumed.

import { type Clock, timeLeft } from "../../../call/clock.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";
import { SmallMap } from "../../../protocol/jsonrpc/small-map.js";
import type { EventLog } from "../../../store/event-log.js";
import type { ServerRuntime } from "../../server-era.js";
import type { ServerLimits } from "../../server-limits.js";
import { readEventId } from "./event-id.js";
import {
  type BroadcastId,
  type FollowingSession,
  type SessionSharing,
  type SharedLog,
  STANDALONE,
  type Takeover,
} from "./shared-sessions.js";
import { replyOver, SessionStream, type StreamOwner } from "./stream.js";

/** First version whose clients accept an event without a message, and reconnect when the server closes a stream. */
const POLLING_VERSION = "2025-11-25";

/** A reader is silent if it does not answer in time, and gone if its connection was closed or replaced meanwhile. */
export type ReaderState = "reading" | "silent" | "gone";

/** Session to which the streams belong. */
export interface StreamingSession {
  readonly sessionId: string;
  readonly version: string;
  readonly runtime: ServerRuntime;
  /** Called when a connection of a stream has ended. */
  onCallOver(): void;
  /** Ends the calls of a stream that another process writes now. */
  abandon(stream: SessionStream, reason: unknown): void;
  /** Takes the request that opens the standalone stream. Access to what the client watches is checked with it. */
  onListener(exchange: HttpExchange): void;
  /** Asks the client on the standalone stream whether it reads the stream. */
  askReader(): Promise<ReaderState>;
  /** Tells the client that everything it asked about may have changed. */
  resync(): void;
}

/** Streams of one session: one per call that is answered by a stream, and one for messages outside calls. */
export class SessionStreams implements StreamOwner, FollowingSession {
  readonly sessionId: string;
  readonly clock: Clock;
  readonly log: EventLog | undefined;
  readonly sharedLog: SharedLog | undefined;
  readonly retryMs: number | undefined;
  readonly limits: ServerLimits;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly standalone: SessionStream;
  readonly #session: StreamingSession;
  readonly #shared: SessionSharing | undefined;
  /** Start of the ids of streams. Other processes use other ones. */
  readonly #prefix: string;
  /** Streams of unfinished calls, connected or not. */
  readonly #ofCalls = new SmallMap<string, SessionStream>();
  readonly followers = new Map<string, () => void>();
  /** True while an exchange without a position opens the standalone stream. */
  #isOpening = false;
  #count = 0;
  /** Number of open connections. */
  connections = 0;

  constructor(
    session: StreamingSession,
    log: EventLog | undefined,
    retryMs: number | undefined,
    keepAlive: KeepAlive<SseConnection>,
    shared: SessionSharing | undefined,
  ) {
    this.#session = session;
    this.#shared = shared;
    this.#prefix = shared === undefined ? "p" : `${crypto.randomUUID().slice(0, 8)}.`;
    this.sharedLog = shared?.log;
    this.sessionId = session.sessionId;
    this.clock = session.runtime.clock;
    this.log = log;
    this.retryMs = retryMs;
    this.limits = session.runtime.limits;
    this.keepAlive = keepAlive;
    this.standalone = new SessionStream(STANDALONE, this);
  }

  get primes(): boolean {
    return this.log !== undefined && this.#session.version >= POLLING_VERSION;
  }

  /** Number of streams that can still carry a message to the client. */
  get size(): number {
    return this.#ofCalls.size + (this.standalone.connected ? 1 : 0);
  }

  createForCall(requests: readonly RequestId[]): SessionStream {
    const stream = new SessionStream(
      `${this.#prefix}${++this.#count}`,
      this,
      this.sharedLog === undefined ? undefined : requests,
    );
    this.#ofCalls.set(stream.id, stream);
    return stream;
  }

  /**
   * Answers an exchange with the standalone stream, and with the messages that were not written yet. Resolves with false,
   * without a response, if the client reads the stream on another connection of this process, or is opening it.
   */
  async listen(exchange: HttpExchange): Promise<boolean> {
    if (this.#isOpening) return false;
    this.#isOpening = true;
    try {
      const before = await this.#lastReader();
      if (before === "reading") return false;
      if (exchange.answered) return true;
      const taken = await this.#takeOver(exchange);
      await this.standalone.catchUp(exchange);
      // The client does not tell which of the messages have arrived that another process stored, or that this process
      // wrote to a connection that was dead.
      this.#onListening(before === "silent" || taken?.missed === true || taken?.sentId !== undefined);
    } finally {
      this.#isOpening = false;
    }
    return true;
  }

  /** Resumes a lost stream after `lastEventId`. */
  async resume(exchange: HttpExchange, log: EventLog, lastEventId: string): Promise<void> {
    const { id, isOfCall } = readEventId(lastEventId);
    const streamId = id === undefined ? undefined : await log.find(this.sessionId, id);
    if (!isOfCall) return this.#resumeStandalone(exchange, streamId === STANDALONE ? id : undefined);
    if (id === undefined || streamId === undefined || streamId === STANDALONE) return replyOver(exchange);
    const live = this.#ofCalls.get(streamId);
    if (live === undefined && this.#shared?.log === log)
      return this.#shared.follow(this, exchange, { streamId, after: id });
    if (!(await (live ?? this.#createEnded(streamId)).resume(exchange, id))) replyOver(exchange);
  }

  /** Returns the state of the last reader of the standalone stream in this process. */
  async #lastReader(): Promise<ReaderState> {
    // A gone reader may have been replaced by one that resumes the stream.
    while (this.standalone.connected) {
      const state = await this.#session.askReader();
      if (state !== "gone") return state;
    }
    return "gone";
  }

  /** Resumes the standalone stream. After an event that is not kept, tells that everything may have changed. */
  async #resumeStandalone(exchange: HttpExchange, id: string | undefined): Promise<void> {
    const taken = await this.#takeOver(exchange);
    const isKept = id !== undefined && (await this.standalone.resume(exchange, id));
    if (!isKept) await this.standalone.catchUp(exchange);
    this.#onListening(!isKept || taken?.missed === true);
  }

  /** Ends the connection if a newer one of another process has taken the stream over. */
  #onListening(missed: boolean): void {
    if (!this.standalone.held) return this.standalone.release();
    this.#shared?.onListening(this.sessionId);
    if (missed) this.#session.resync();
  }

  /** Makes this process the writer of the standalone stream, if another one may be. */
  async #takeOver(exchange: HttpExchange): Promise<Takeover | undefined> {
    const shared = this.#shared;
    return (
      shared &&
      this.standalone.takeOver(() => {
        this.#session.onListener(exchange);
        return shared.takeOver(this.sessionId);
      })
    );
  }

  endAll(): void {
    this.standalone.end();
    for (const stop of this.followers.values()) stop();
    for (const stream of this.#ofCalls.values()) {
      if (this.sharedLog === undefined)
        this.report(new Error("The session ended before the event log had stored a response"));
      stream.end();
    }
  }

  /** Removes all events of the session from the log. */
  forget(): void {
    const { log, sessionId } = this;
    if (log === undefined) return;
    (async () => log.drop(sessionId))().catch((error: unknown) => this.report(error));
  }

  /**
   * Limits the lifetime of connections. The standalone stream ends after `maxSubscriptionMs` and when the authorization
   * of its exchange expires. The stream of a call ends with the authorization if its client can reconnect.
   */
  lifeOf(stream: SessionStream, exchange: HttpExchange): number | undefined {
    const { maxSubscriptionMs } = this.#session.runtime.limits;
    if (stream === this.standalone) return timeLeft(this.clock, exchange.endsAt, maxSubscriptionMs);
    return this.followLifeOf(exchange);
  }

  followLifeOf({ endsAt }: HttpExchange): number | undefined {
    return this.primes ? timeLeft(this.clock, endsAt) : undefined;
  }

  report(error: unknown): void {
    this.#session.runtime.report(error, { where: "event log" });
  }

  onConnected(): void {
    this.connections++;
  }

  onDisconnected(): void {
    this.connections--;
    this.#session.onCallOver();
  }

  onLost(stream: SessionStream, reason: unknown, frame: string, broadcast: BroadcastId | undefined): void {
    this.report(reason);
    if (stream === this.standalone) {
      this.#shared?.handOver(this.sessionId, frame, broadcast);
      this.#shared?.onLost(this.sessionId);
      return;
    }
    this.#session.abandon(stream, reason);
    stream.end();
  }

  onUnwritten(stream: SessionStream, frame: string, broadcast: BroadcastId | undefined): void {
    if (stream === this.standalone) this.#shared?.handOver(this.sessionId, frame, broadcast);
  }

  onEnded(stream: SessionStream): void {
    this.#ofCalls.delete(stream.id, stream);
  }

  /** Creates a stream that has ended. Its events can only be read from the log. */
  #createEnded(streamId: string): SessionStream {
    const stream = new SessionStream(streamId, this);
    stream.end();
    return stream;
  }
}
