// The modern era has no such file: a modern stream belongs to one exchange and cannot be resumed.

import type { AbortSwitch } from "../../../call/abort-switch.js";
import type { Clock } from "../../../call/clock.js";
import type { HttpExchange, HttpHeaders } from "../../../http/exchange.js";
import { SseConnection } from "../../../http/sse/connection.js";
import type { KeepAlive } from "../../../http/sse/keep-alive.js";
import type { ReaderLimits } from "../../../http/sse/stream.js";
import { formatSseEvent, SSE_HEADERS } from "../../../http/sse/writer.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";
import type { EventLog, LoggedEvent } from "../../../store/event-log.js";
import type { Busy } from "../../busy.js";
import { toEventId } from "./event-id.js";
import { isTakenAway, toConflict } from "./refusals.js";
import type { BroadcastId, SharedLog, Takeover } from "./shared-sessions.js";

/** Context that the streams of a session share. */
export interface StreamOwner {
  readonly sessionId: string;
  readonly log: EventLog | undefined;
  /** Log that other processes read and write, if it is `log`. */
  readonly sharedLog: SharedLog | undefined;
  /** True if a stream begins with an empty event that marks a position. Requires a log. */
  readonly primes: boolean;
  readonly retryMs: number | undefined;
  readonly clock: Clock;
  readonly limits: ReaderLimits;
  readonly keepAlive: KeepAlive<SseConnection>;
  /** Returns the maximum lifetime of a connection of this stream, or undefined for no limit. */
  lifeOf(stream: SessionStream, exchange: HttpExchange): number | undefined;
  report(error: unknown): void;
  onConnected(): void;
  onDisconnected(): void;
  onEnded(stream: SessionStream): void;
  /** Called when another process has become the writer of a stream. `frame` is the message that could not be stored. */
  onLost(stream: SessionStream, reason: unknown, frame: string, broadcast: BroadcastId | undefined): void;
  /** Called with a message that waited for the log when another process became the writer of a stream. */
  onUnwritten(stream: SessionStream, frame: string, broadcast: BroadcastId | undefined): void;
}

interface Offer {
  readonly exchange: HttpExchange;
  readonly headers: HttpHeaders | undefined;
}

/** Call to which a message belongs, as far as its stream needs it. */
type Life = Pick<AbortSwitch, "aborted" | "onAbort" | "offAbort">;

/** Message that waits for the log. It is dropped if its call is aborted meanwhile. */
interface Unstored {
  readonly frame: string;
  readonly life: Life | undefined;
  readonly isLate: boolean | undefined;
  readonly isWriter: boolean;
  /** Id of a message to all clients. */
  readonly broadcast: BroadcastId | undefined;
}

/** Messages that are stored together when their turn comes. */
interface Batch {
  readonly messages: Unstored[];
  readonly turn: void | Promise<void>;
}

const DEFAULT_RETRY_MS = 1000;
/** Time for which a handler, and the client of a response, wait for a log that other processes read. */
const MAX_WAIT_MS = 5_000;

/**
 * Stream of messages to the client. It outlives its connections: without one, messages go to the log only, and a later
 * connection resumes after the client's last event. Operations on the log run one after another, so that a message that
 * arrives during a resumption is delivered once, by the replay or live.
 */
export class SessionStream {
  readonly id: string;
  readonly #owner: StreamOwner;
  #state: "open" | "finishing" | "ended" = "open";
  #connection: SseConnection | undefined;
  /** Timer that detaches the connection when its lifetime ends. */
  #old: unknown;
  /** Called when the connection is closed or replaced. */
  #onGone: Set<() => void> | undefined;
  /** Exchange that will be answered with this stream when the first message is sent. */
  #offered: Offer | undefined;
  /** Operation of the log in progress. Later operations wait for it. */
  #turn: Promise<void> | undefined;
  /** Characters of the messages that wait for a log that other processes read. */
  #waiting = 0;
  /** Messages whose turn comes after all others that are planned. */
  #batch: Batch | undefined;
  /** Last message, until the log has stored it. */
  #last: string | undefined;
  /** Id of the last event that was written to a connection. */
  #sentId: string | undefined;
  /** Requests that the stream answers, if other processes have to know them. */
  readonly #requests: readonly RequestId[] | undefined;
  /** True if this process may write to the stream. */
  held = true;
  /** False while this process tries to become the writer, and another one still is. */
  #isWriter = true;
  /** Messages that wait for a log that other processes read. */
  readonly #unstored: Unstored[] = [];
  /** True while the log has not answered for `MAX_WAIT_MS`. */
  #isLate = false;
  /** True after the log has refused a message of this process. */
  #isRefused = false;

  constructor(id: string, owner: StreamOwner, requests?: readonly RequestId[]) {
    this.id = id;
    this.#owner = owner;
    this.#requests = requests;
  }

  get connected(): boolean {
    return this.#connection !== undefined;
  }

  /** True if a message sent now can reach the client. */
  get reachable(): boolean {
    if (this.#state !== "open" || !this.held) return false;
    return this.#connection !== undefined || this.#offered !== undefined || this.#owner.log !== undefined;
  }

  /**
   * Like `open`, but without a log the stream begins with its first message or with `begin`, so that a stream with a
   * single message is written at once.
   */
  offer(exchange: HttpExchange, headers?: HttpHeaders): void | Promise<void> {
    if (this.#owner.log !== undefined) return this.open(exchange, headers);
    this.#offered = { exchange, headers };
  }

  /** Starts the response to the offered exchange, if there is one. */
  begin(): void {
    const offer = this.#offered;
    this.#offered = undefined;
    if (offer !== undefined) this.#connect(offer.exchange, offer.headers);
  }

  /** Answers an exchange with this stream from its start. If the log fails, the exchange stays unanswered. */
  open(exchange: HttpExchange, headers?: HttpHeaders): void | Promise<void> {
    if (!this.#owner.primes && this.#requests === undefined) this.#connect(exchange, headers);
    else return this.#inTurn(() => this.#prime(exchange, headers));
  }

  /**
   * Answers an exchange with the events after the last one that was written, or with all events if the log no longer
   * contains that one. Continues with new events.
   */
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

  /**
   * Answers an exchange with the events after the one with this id, and continues with new ones. Replaces an older
   * connection. If the stream is over and nothing is left, the response is 204, after which clients do not come back.
   * Resolves with false, without a response, if the log does not contain the event.
   */
  async resume(exchange: HttpExchange, id: string): Promise<boolean> {
    const { log, sessionId } = this.#owner;
    return this.#inTurn(async () => {
      const missed = await log?.readAfter(sessionId, this.id, id);
      if (missed === undefined) return false;
      if (this.#state === "ended" && !missed.some(isMessage)) replyOver(exchange);
      else this.#replay(exchange, missed, id);
      return true;
    });
  }

  /** Makes this process the writer by `claim`. Messages that are sent meanwhile wait for it. */
  async takeOver(claim: () => Promise<Takeover | undefined>): Promise<Takeover | undefined> {
    const before = this.held;
    this.held = true;
    this.#isWriter = before;
    try {
      return await this.#inTurn(async () => {
        const taken = await claim();
        this.#isWriter = true;
        this.#sentId = taken?.sentId ?? this.#sentId;
        return taken;
      });
    } catch (error) {
      this.held &&= before && toConflict(error) === undefined;
      throw error;
    }
  }

  /**
   * Sends a message. The promise settles when a slow client has caught up, if the log does not answer for a while, or when
   * the call is aborted. A message of a call that is aborted while the message waits for the log is dropped.
   */
  send(frame: string, life?: Life, broadcast?: BroadcastId): void | Promise<void> {
    if (this.#state !== "open") return;
    this.begin();
    if (this.#isOverfull(frame, broadcast)) return;
    const turn = this.#store(frame, false, this.#isWriter, life, broadcast);
    if (turn === undefined) return this.#connection?.drained;
    const worked = this.#owner.sharedLog === undefined ? turn : this.#worked(turn);
    const sent = worked.then(() => this.#connection?.drained);
    return life === undefined ? sent : endedWith(sent, life);
  }

  /**
   * Sends the last message and ends. Returns false if the client cannot be reached. A stream that has not begun
   * responds with the status of `busy`.
   */
  finish(frame: string, busy?: Busy): boolean {
    if (!this.reachable) {
      this.end();
      return false;
    }
    if (this.#offered !== undefined) return this.#replyWith(frame, this.#offered, busy);
    this.#state = "finishing";
    const turn = this.#store(frame, true);
    if (turn === undefined) this.end();
    else {
      this.#last = frame;
      turn.then(() => {
        this.#last = undefined;
        this.end();
      });
      this.#answerAfter(turn);
    }
    return true;
  }

  /**
   * Ends the stream without a response to its requests. Only a client that resumes it elsewhere receives `frames`, unless
   * the log refuses what it would find there.
   */
  abandon(frames: readonly string[]): void {
    this.#endLog(...frames);
    if (this.#isRefused) for (const frame of frames) this.#write(frame, undefined);
    this.end();
  }

  /** Ends the stream after the messages that wait for the log. */
  close(): void {
    if (this.#turn === undefined || this.#state !== "open") return this.end();
    this.#state = "finishing";
    this.#turn.then(() => this.end());
    this.#answerAfter(this.#turn);
  }

  /** Stops writing, since another process writes this stream now. */
  release(): void {
    const connection = this.#connection;
    this.held = false;
    this.#disconnect();
    connection?.end();
  }

  /** Resolves when no message waits for the log. */
  async settled(): Promise<void> {
    while (this.#turn !== undefined) await this.#turn;
  }

  /** Writes a message that concerns the present connection only. The log does not store it. */
  probe(frame: string): void {
    this.#write(frame, undefined);
  }

  /** Calls the listener once, when the present connection is closed or replaced, unless `offGone` removes it before. */
  onGone(listener: () => void): void {
    if (this.#connection === undefined) return listener();
    this.#onGone ??= new Set();
    this.#onGone.add(listener);
  }

  offGone(listener: () => void): void {
    this.#onGone?.delete(listener);
  }

  /** Closes the connection but keeps the stream. The client is told when to reconnect. */
  detach(retryMs: number | undefined): void {
    const connection = this.#connection;
    if (connection === undefined || this.#state !== "open") return;
    connection.write({ retry: retryMs ?? this.#owner.retryMs ?? DEFAULT_RETRY_MS });
    this.#disconnect();
    connection.end();
  }

  /**
   * Ends the stream. Nothing is written to the client afterwards. A last message that the log has not stored is written
   * without waiting for it.
   */
  end(): void {
    if (this.#state === "ended") return;
    this.begin();
    this.#endLog(this.#last ?? "");
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
    const { log, sharedLog, sessionId } = this.#owner;
    const id =
      this.#requests === undefined
        ? log?.append(sessionId, this.id, "")
        : sharedLog?.open(sessionId, this.id, this.#requests);
    if (typeof id !== "object") return this.#begin(exchange, headers, id);
    return id.then((id) => this.#begin(exchange, headers, id));
  }

  #begin(exchange: HttpExchange, headers: HttpHeaders | undefined, id: string | undefined): void {
    if (this.#state === "ended") this.#endLog("");
    // The exchange was answered or closed while the log was working.
    if (exchange.answered) return;
    const connection = this.#connect(exchange, headers);
    if (id !== undefined && this.#owner.primes) {
      const { retryMs } = this.#owner;
      const event = { id: toEventId(this.id, id), data: "" };
      connection.write(retryMs === undefined ? event : { ...event, retry: retryMs });
      this.#sentId = id;
    }
    if (this.#state === "ended") connection.end();
  }

  /**
   * Answers an exchange with events. Without any, repeats the position `after`: some clients forget it when they resume,
   * and would open another stream when the connection is lost.
   */
  #replay(exchange: HttpExchange, events: readonly LoggedEvent[], after?: string): void {
    if (exchange.answered) return;
    const connection = this.#connect(exchange, undefined);
    const { primes } = this.#owner;
    const written = events.length === 0 && after !== undefined ? [{ id: after, data: "" }] : events;
    for (const { id, data } of written)
      if (primes || data !== "") connection.write({ id: toEventId(this.id, id), data });
    this.#sentId = written.at(-1)?.id ?? this.#sentId;
    if (this.#state === "ended") connection.end();
  }

  /**
   * Connects an exchange. A stream has one connection: a new connection ends the previous one, which no longer affects
   * the stream.
   */
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
    const listeners = this.#onGone;
    this.#onGone = undefined;
    for (const listener of listeners ?? []) listener();
    this.#owner.onDisconnected();
  }

  /**
   * Stores and writes a message after those before it. Messages that wait for a log that other processes read are stored
   * together. The last one is not: if the log refuses another, it may not be what ends the stream.
   */
  #store(frame: string, last: boolean, isWriter = false, life?: Life, broadcast?: BroadcastId): void | Promise<void> {
    const isLate = life?.aborted;
    if (this.#owner.sharedLog === undefined)
      return this.#inTurn(() => (life?.aborted === isLate ? this.#put(frame, last, isWriter) : undefined));
    const message: Unstored = { frame, life, isLate, isWriter, broadcast };
    this.#unstored.push(message);
    this.#waiting += frame.length;
    if (this.#batch !== undefined && !last) {
      this.#batch.messages.push(message);
      return this.#batch.turn;
    }
    const isPlanned = this.#turn !== undefined && !last;
    const messages = [message];
    const turn = this.#inTurn(() => this.#putAll(messages, last));
    if (isPlanned) this.#batch = { messages, turn };
    return turn;
  }

  #putAll(messages: readonly Unstored[], last: boolean): void | Promise<void> {
    if (this.#batch?.messages === messages) this.#batch = undefined;
    const puts = messages.flatMap((message) => {
      const { frame, life, isLate, isWriter, broadcast } = message;
      const put = life?.aborted === isLate ? this.#put(frame, last, isWriter, broadcast) : undefined;
      if (put !== undefined) return put.then(() => this.#forget(message));
      this.#forget(message);
      return [];
    });
    return puts.length > 1 ? Promise.all(puts).then(ignore) : puts[0];
  }

  /** Takes note that a message does not wait for the log any more. */
  #forget(message: Unstored): void {
    this.#unstored.splice(this.#unstored.indexOf(message), 1);
    this.#waiting -= message.frame.length;
  }

  /** Ends the connection without waiting for a log that does not do the work for a while. */
  #answerAfter(turn: Promise<unknown>): void {
    if (this.#owner.sharedLog === undefined) return;
    this.#worked(turn).then((isWorked) => {
      if (!isWorked) this.#answerUnstored();
    });
  }

  /**
   * Writes all messages up to the response without waiting for the log, and ends the connection. They are stored when the
   * log answers.
   */
  #answerUnstored(): void {
    const connection = this.#connection;
    if (connection === undefined) return;
    this.#owner.report(
      new Error(`A response was sent before it was stored: no answer of the event log in ${MAX_WAIT_MS} ms`),
    );
    for (const { frame, life, isLate } of this.#unstored)
      if (life?.aborted === isLate) connection.write({ data: frame });
    this.#disconnect();
    connection.end();
  }

  /** Stores and writes a message. If a log of this process fails, the message is still written. */
  #put(frame: string, last = false, isWriter = false, broadcast?: BroadcastId): void | Promise<void> {
    const { log, sharedLog, sessionId } = this.#owner;
    if (this.#state === "ended") return;
    if (!this.held) return isWriter ? this.#owner.onUnwritten(this, frame, broadcast) : undefined;
    if (log === undefined) return this.#write(frame, undefined);
    try {
      const id = sharedLog?.append(sessionId, this.id, frame, last, broadcast) ?? log.append(sessionId, this.id, frame);
      if (typeof id === "string") return this.#write(frame, id);
      return id
        .then((id) => this.#write(frame, id))
        .catch((error: unknown) => this.#onLogFailure(frame, last, error, broadcast));
    } catch (error) {
      this.#writeUnlogged(frame, error);
    }
  }

  /** True if too many messages wait for the log. The stream then loses its connection and its calls. */
  #isOverfull(frame: string, broadcast: BroadcastId | undefined): boolean {
    const { limits, sharedLog } = this.#owner;
    if (sharedLog === undefined || this.#waiting === 0 || this.#waiting + frame.length <= limits.maxBehind)
      return false;
    const problem = `More than ${limits.maxBehind} characters of a stream wait for its event log (limits.maxBehind)`;
    this.release();
    this.#owner.onLost(this, new Error(problem), frame, broadcast);
    return true;
  }

  /** Stores the last messages for a client that resumes the stream elsewhere, unless the end is marked. */
  #endLog(...frames: readonly string[]): void {
    if (this.#requests !== undefined) this.#owner.sharedLog?.end(this.#owner.sessionId, this.id, frames);
  }

  #write(frame: string, id: string | undefined): void {
    if (this.#connection === undefined) return;
    this.#connection.write(id === undefined ? { data: frame } : { id: toEventId(this.id, id), data: frame });
    if (id !== undefined) this.#sentId = id;
  }

  /**
   * Handles a message that is not in the log. A message that other processes may have to deliver is not written, with
   * the exception of a response: its client needs nothing after it. If the log refuses a message, the calls of the stream
   * end with an error, which is written for the same reason.
   */
  #onLogFailure(frame: string, last: boolean, error: unknown, broadcast: BroadcastId | undefined): void {
    const isTaken = isTakenAway(error);
    if (this.#owner.sharedLog === undefined || (last && !isTaken)) return this.#writeUnlogged(frame, error);
    // A message that was stored together with this one has failed before.
    if (!this.held) return this.#owner.onUnwritten(this, frame, broadcast);
    if (this.#isRefused) return;
    this.#isRefused = !isTaken && this.#requests !== undefined;
    if (!this.#isRefused) this.release();
    this.#owner.onLost(this, error, frame, broadcast);
  }

  /**
   * Resolves with true when the log has done its work, or with false if it does not answer for a while. A message waits
   * until the log can store it, but a handler, and the client of a response, do not.
   */
  #worked(turn: Promise<unknown>): Promise<boolean> {
    if (this.#isLate) return Promise.resolve(false);
    const { clock } = this.#owner;
    return new Promise((resolve) => {
      const timer = clock.schedule(() => {
        this.#isLate = this.#turn !== undefined;
        resolve(false);
      }, MAX_WAIT_MS);
      turn.then(() => {
        clock.cancel(timer);
        resolve(true);
      });
    });
  }

  #writeUnlogged(frame: string, error: unknown): void {
    this.#owner.report(error);
    this.#write(frame, undefined);
  }

  /** Runs the work at once, or after the work in progress. */
  #inTurn<T>(work: () => T | Promise<T>): T | Promise<T> {
    // Messages that come later wait for this work.
    this.#batch = undefined;
    const result = this.#turn === undefined ? work() : this.#turn.then(work);
    if (!(result instanceof Promise)) return result;
    const turn = result.then(ignore, ignore).then(() => {
      if (this.#turn !== turn) return;
      this.#turn = undefined;
      this.#isLate = false;
    });
    this.#turn = turn;
    return result;
  }
}

/** Responds that a stream is over and nothing is left of it. Clients take it as the end, and do not come back. */
export function replyOver(exchange: HttpExchange): void {
  if (!exchange.answered) exchange.reply(204, {});
}

/** False for an event that only gives the client a position. */
export function isMessage({ data }: LoggedEvent): boolean {
  return data !== "";
}

/** Settles with the work, or when its call is aborted. */
function endedWith(work: Promise<void>, life: Life): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = () => resolve();
    life.onAbort(release);
    work.finally(() => life.offAbort(release)).then(resolve, reject);
  });
}

function ignore(): void {}
