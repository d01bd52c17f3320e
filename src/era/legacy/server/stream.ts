// Modern has no twin: a modern stream belongs to one exchange and cannot be resumed.

import type { Clock } from "../../../call/clock.js";
import type { HttpExchange, HttpHeaders } from "../../../http/exchange.js";
import { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { ReaderLimits } from "../../../http/sse/stream.js";
import { formatSseEvent, SSE_HEADERS } from "../../../http/sse/writer.js";
import type { EventLog, LoggedEvent } from "../../../store/event-log.js";
import type { Busy } from "../../busy.js";

/** What the streams of a session have in common. */
export interface StreamOwner {
  readonly sessionId: string;
  readonly log: EventLog | undefined;
  /** Whether a stream begins with an event that only marks a position; only with a log. */
  readonly primes: boolean;
  readonly retryMs: number | undefined;
  readonly clock: Clock;
  readonly limits: ReaderLimits;
  readonly keepAlive: KeepAlive<SseConnection>;
  /** How long a connection of this stream may last; undefined for as long as it likes. */
  lifeOf(stream: SessionStream, exchange: HttpExchange): number | undefined;
  report(error: unknown): void;
  onConnected(): void;
  onDisconnected(): void;
  onEnded(stream: SessionStream): void;
}

/** The event that a client names as its last is not known, or not any more. */
export class UnknownEvent extends Error {
  override readonly name = "UnknownEvent";
}

interface Offer {
  readonly exchange: HttpExchange;
  readonly headers: HttpHeaders | undefined;
}

const DEFAULT_RETRY_MS = 1000;

/**
 * One stream of messages to the client. It outlives its connections: without one, messages go to the log alone, and a
 * later connection takes up where the client left off. What touches the log happens one after the other, so that a
 * message which comes while a client resumes is delivered once: by the replay or live.
 */
export class SessionStream {
  readonly id: string;
  readonly #owner: StreamOwner;
  #state: "open" | "finishing" | "ended" = "open";
  #connection: SseConnection | undefined;
  /** Lets the connection go when its time is over. */
  #old: unknown;
  /** An exchange that will be answered with this stream, as soon as there is something to say. */
  #offered: Offer | undefined;
  /** The log is at work; what comes waits for it. */
  #turn: Promise<void> | undefined;
  /** The last message, while the log has not taken it. */
  #last: string | undefined;
  /** The last event that a connection was given. */
  #sentId: string | undefined;

  constructor(id: string, owner: StreamOwner) {
    this.id = id;
    this.#owner = owner;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** Whether what is sent now can reach the client. */
  get reachable(): boolean {
    if (this.#state !== "open") return false;
    return this.#connection !== undefined || this.#offered !== undefined || this.#owner.log !== undefined;
  }

  /**
   * As `open`, but where nothing is remembered the stream begins only with its first message, or when `begin` is called:
   * a stream that has but one message to carry is written in one piece.
   */
  offer(exchange: HttpExchange, headers?: HttpHeaders): void | Promise<void> {
    if (this.#owner.log !== undefined) return this.open(exchange, headers);
    this.#offered = { exchange, headers };
  }

  /** Begins to answer the exchange that was offered, if there is one. */
  begin(): void {
    const offer = this.#offered;
    this.#offered = undefined;
    if (offer !== undefined) this.#connect(offer.exchange, offer.headers);
  }

  /** Answers an exchange with this stream, from its beginning. Fails, unanswered, when the log does. */
  open(exchange: HttpExchange, headers?: HttpHeaders): void | Promise<void> {
    if (!this.#owner.primes) this.#connect(exchange, headers);
    else return this.#inTurn(() => this.#prime(exchange, headers));
  }

  /** Answers an exchange with what no connection has been given yet, and goes on from there. */
  catchUp(exchange: HttpExchange): void | Promise<void> {
    const { log, sessionId } = this.#owner;
    if (log === undefined) return this.open(exchange);
    return this.#inTurn(async () => {
      const events = await log.readAfter(sessionId, this.id, this.#sentId);
      const missed = events ?? (await log.readAfter(sessionId, this.id, undefined)) ?? [];
      if (missed.length > 0 || !this.#owner.primes) this.#replay(exchange, missed);
      else await this.#prime(exchange, undefined);
    });
  }

  /** Answers an exchange with what came after an event, and goes on from there. Takes over from an older connection. */
  async resume(exchange: HttpExchange, eventId: string): Promise<void> {
    const { log, sessionId } = this.#owner;
    await this.#inTurn(async () => {
      const missed = await log?.readAfter(sessionId, this.id, eventId);
      if (missed === undefined) throw new UnknownEvent();
      this.#replay(exchange, missed);
    });
  }

  /** Sends a message. The promise settles when a reader that is behind has caught up. */
  send(frame: string): void | Promise<void> {
    if (this.#state !== "open") return;
    this.begin();
    const turn = this.#inTurn(() => this.#put(frame));
    return turn === undefined ? this.#connection?.drained : turn.then(() => this.#connection?.drained);
  }

  /** Sends the last message and ends. False when it had nowhere to go. A stream that has not begun takes the status of `busy`. */
  finish(frame: string, busy?: Busy): boolean {
    if (!this.reachable) {
      this.end();
      return false;
    }
    if (this.#offered !== undefined) return this.#replyWith(frame, this.#offered, busy);
    this.#state = "finishing";
    const turn = this.#inTurn(() => this.#put(frame));
    if (turn === undefined) this.end();
    else {
      this.#last = frame;
      turn.then(() => {
        this.#last = undefined;
        this.end();
      });
    }
    return true;
  }

  /** Closes the connection and lets the stream go on: the client is told when to come back for it. */
  detach(retryMs: number | undefined): void {
    const connection = this.#connection;
    if (connection === undefined || this.#state !== "open") return;
    connection.write({ retry: retryMs ?? this.#owner.retryMs ?? DEFAULT_RETRY_MS });
    this.#disconnect();
    connection.end();
  }

  /**
   * Ends for good: nothing is written after it, neither to the client nor to the log. A last message that the log has not
   * taken yet does not wait for it.
   */
  end(): void {
    if (this.#state === "ended") return;
    this.begin();
    this.#state = "ended";
    const connection = this.#connection;
    this.#disconnect();
    if (this.#last !== undefined) connection?.write({ data: this.#last });
    connection?.end();
    this.#owner.onEnded(this);
  }

  #replyWith(frame: string, { exchange, headers }: Offer, busy: Busy | undefined): boolean {
    const lost = exchange.answered;
    this.#offered = undefined;
    this.#state = "ended";
    if (busy !== undefined) exchange.reply(busy.status, busy.headers, frame);
    else
      exchange.reply(
        200,
        headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers },
        formatSseEvent({ data: frame }),
      );
    this.#owner.onEnded(this);
    return !lost;
  }

  #prime(exchange: HttpExchange, headers: HttpHeaders | undefined): void | Promise<void> {
    const { log, sessionId } = this.#owner;
    const id = log?.append(sessionId, this.id, "");
    if (typeof id !== "object") return this.#begin(exchange, headers, id);
    return id.then((id) => this.#begin(exchange, headers, id));
  }

  #begin(exchange: HttpExchange, headers: HttpHeaders | undefined, id: string | undefined): void {
    // Whoever could not wait for the log has answered, or has gone.
    if (exchange.answered) return;
    const connection = this.#connect(exchange, headers);
    if (id !== undefined) {
      const { retryMs } = this.#owner;
      connection.write(retryMs === undefined ? { id, data: "" } : { id, data: "", retry: retryMs });
      this.#sentId = id;
    }
    if (this.#state === "ended") connection.end();
  }

  #replay(exchange: HttpExchange, events: readonly LoggedEvent[]): void {
    if (exchange.answered) return;
    const connection = this.#connect(exchange, undefined);
    for (const event of events) connection.write(event);
    this.#sentId = events.at(-1)?.id ?? this.#sentId;
    if (this.#state === "ended") connection.end();
  }

  /** A stream has one connection: a new one ends the one before, which then has no more to say about the stream. */
  #connect(exchange: HttpExchange, headers: HttpHeaders | undefined): SseConnection {
    const { clock, keepAlive, limits } = this.#owner;
    const onGone = () => this.#disconnect();
    const connection = new SseConnection(exchange, { headers, clock, keepAlive, limits, onGone });
    const older = this.#connection;
    this.#disconnect();
    older?.end();
    if (this.#state === "ended") return connection;
    this.#connection = connection;
    const lifeMs = this.#owner.lifeOf(this, exchange);
    if (lifeMs !== undefined) this.#old = clock.schedule(() => this.detach(undefined), lifeMs);
    this.#owner.onConnected();
    return connection;
  }

  #disconnect(): void {
    if (this.#connection === undefined) return;
    this.#connection = undefined;
    if (this.#old !== undefined) this.#owner.clock.cancel(this.#old);
    this.#old = undefined;
    this.#owner.onDisconnected();
  }

  /** A message that cannot be remembered is still delivered, if somebody is there. */
  #put(frame: string): void | Promise<void> {
    const { log, sessionId } = this.#owner;
    if (this.#state === "ended") return;
    if (log === undefined) return this.#write(frame, undefined);
    try {
      const id = log.append(sessionId, this.id, frame);
      if (typeof id === "string") return this.#write(frame, id);
      return id.then((id) => this.#write(frame, id)).catch((error: unknown) => this.#writeUnlogged(frame, error));
    } catch (error) {
      this.#writeUnlogged(frame, error);
    }
  }

  #write(frame: string, id: string | undefined): void {
    if (this.#connection === undefined) return;
    this.#connection.write(id === undefined ? { data: frame } : { id, data: frame });
    if (id !== undefined) this.#sentId = id;
  }

  #writeUnlogged(frame: string, error: unknown): void {
    this.#owner.report(error);
    this.#write(frame, undefined);
  }

  /** Does work at once, or when the work before it is done. */
  #inTurn<T>(work: () => T | Promise<T>): T | Promise<T> {
    const result = this.#turn === undefined ? work() : this.#turn.then(work);
    if (!(result instanceof Promise)) return result;
    const turn = result.then(ignore, ignore).then(() => {
      if (this.#turn === turn) this.#turn = undefined;
    });
    this.#turn = turn;
    return result;
  }
}

function ignore(): void {}
