// Modern has no twin: a modern stream belongs to one exchange and cannot be resumed.

import { type Clock, timeLeft } from "../../../call/clock.js";
import type { HttpExchange } from "../../../http/exchange.js";
import type { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import { SmallMap } from "../../../protocol/jsonrpc/small-map.js";
import type { EventLog } from "../../../store/event-log.js";
import type { ServerRuntime } from "../../server-era.js";
import type { ServerLimits } from "../../server-limits.js";
import { SessionStream, type StreamOwner, UnknownEvent } from "./stream.js";

/** The first version whose clients expect an event without a message, and come back when a stream is closed on them. */
const POLLING_VERSION = "2025-11-25";
const STANDALONE = "get";

/** The session that streams belong to. */
export interface StreamingSession {
  readonly sessionId: string;
  readonly version: string;
  readonly runtime: ServerRuntime;
  /** Called when a connection of a stream has ended. */
  onCallOver(): void;
}

/** The streams of one session: one for each call that is answered by a stream, and one for messages that belong to no call. */
export class SessionStreams implements StreamOwner {
  readonly sessionId: string;
  readonly clock: Clock;
  readonly log: EventLog | undefined;
  readonly retryMs: number | undefined;
  readonly limits: ServerLimits;
  readonly keepAlive: KeepAlive<SseConnection>;
  readonly standalone: SessionStream;
  readonly #session: StreamingSession;
  /** The streams of calls that are not over, connected or not. */
  readonly #ofCalls = new SmallMap<string, SessionStream>();
  #listening = false;
  #count = 0;
  /** How many connections are open. */
  connections = 0;

  constructor(
    session: StreamingSession,
    log: EventLog | undefined,
    retryMs: number | undefined,
    keepAlive: KeepAlive<SseConnection>,
  ) {
    this.#session = session;
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

  /** How many streams can still carry a message to the client. */
  get size(): number {
    return this.#ofCalls.size + (this.standalone.connected ? 1 : 0);
  }

  /** Whether the standalone stream is open, or about to be. */
  get isListening(): boolean {
    return this.#listening || this.standalone.connected;
  }

  createForCall(): SessionStream {
    const stream = new SessionStream(`p${++this.#count}`, this);
    this.#ofCalls.set(stream.id, stream);
    return stream;
  }

  async listen(exchange: HttpExchange): Promise<void> {
    this.#listening = true;
    try {
      await this.standalone.catchUp(exchange);
    } finally {
      this.#listening = false;
    }
  }

  /** Takes up a lost stream after the event that came last. Rejects with `UnknownEvent` where the log has no such event. */
  async resume(exchange: HttpExchange, log: EventLog, lastEventId: string): Promise<void> {
    const streamId = await log.find(this.sessionId, lastEventId);
    if (streamId === undefined) throw new UnknownEvent();
    const live = streamId === STANDALONE ? this.standalone : this.#ofCalls.get(streamId);
    await (live ?? this.#createEnded(streamId)).resume(exchange, lastEventId);
  }

  endAll(): void {
    this.standalone.end();
    for (const stream of this.#ofCalls.values()) {
      this.report(new Error("the event log had not taken an answer when its session ended"));
      stream.end();
    }
  }

  /** Drops all that the log remembers of the session. */
  forget(): void {
    const { log, sessionId } = this;
    if (log === undefined) return;
    (async () => log.drop(sessionId))().catch((error: unknown) => this.report(error));
  }

  /**
   * The stream that has no end of its own is let go after a while, and with the word of the gate that it was opened by; its
   * client comes back. So is that of a call where the client comes back for the rest.
   */
  lifeOf(stream: SessionStream, { endsAt }: HttpExchange): number | undefined {
    const { maxSubscriptionMs } = this.#session.runtime.limits;
    if (stream === this.standalone) return timeLeft(this.clock, endsAt, maxSubscriptionMs);
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

  onEnded(stream: SessionStream): void {
    if (this.#ofCalls.get(stream.id) === stream) this.#ofCalls.delete(stream.id);
  }

  /** A stream that is over can only be read again; nothing is kept for it. */
  #createEnded(streamId: string): SessionStream {
    const stream = new SessionStream(streamId, this);
    stream.end();
    return stream;
  }
}
