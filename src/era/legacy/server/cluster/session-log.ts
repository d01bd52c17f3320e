import type { Clock } from "../../../../call/clock.js";
import type { Cluster, LogEntry, LogOptions, Logs, Writer } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";
import { PROCESS_GONE } from "../../../../protocol/jsonrpc/errors.js";
import { formatFailure, formatNotification } from "../../../../protocol/jsonrpc/format.js";
import type { RequestId } from "../../../../protocol/jsonrpc/message.js";
import type { LoggedEvent } from "../../../../store/event-log.js";
import type { ServerLimits } from "../../../server-limits.js";
import { type BroadcastId, type SharedLog, STANDALONE, type StreamPosition } from "../shared-sessions.js";
import { isMessage } from "../stream.js";
import type { Retries } from "./retries.js";
import { StreamAppends, type StreamTurns } from "./stream-appends.js";
import { textOf } from "./stream-takeover.js";

/** Time for which the start of a call waits for the engine. After it, the call is refused. */
const MAX_WAIT_MS = 5_000;
/** Maximum number of operations that wait for the engine. Above it, no call begins. */
const MAX_PENDING = 10_000;
/** Start of the first entry of a call's stream, which names the requests. Clients see an event without data. */
const REQUESTS = "#";
/** Start of the entry of a message to all clients. Its id follows, then a space and the message. */
const BROADCAST = "@";

export interface SessionLogOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly limits: ServerLimits;
  readonly retries: Retries;
  /** Lists this process among those whose streams are ended after their death. Returns undefined if it is listed. */
  enlist(): Promise<void> | undefined;
  /** True if this process holds the standalone stream of a session. */
  holds(sessionId: string): Promise<boolean>;
  report(error: unknown): void;
}

/** Event log of sessions as logs of a cluster: one log per session, one stream of it per stream of the session. */
export class SessionLog implements SharedLog {
  readonly #options: SessionLogOptions;
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #limits: ServerLimits;
  /** Streams that this process writes, by session. */
  readonly #written = new Map<string, Map<string, StreamAppends>>();
  /** Operations that `settled` waits for. */
  readonly #pending = new Set<Promise<unknown>>();
  readonly #retries: Retries;
  /** True if this process could not end a stream, so that another one has to do it. */
  hasUnended = false;

  constructor(options: SessionLogOptions) {
    this.#options = options;
    this.#cluster = options.cluster;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#retries = options.retries;
  }

  async create(sessionId: string): Promise<void> {
    const { maxLoggedEventsPerSession, maxLoggedCharsPerSession, sessionIdleMs } = this.#limits;
    const options: LogOptions = {
      keepMs: Math.min(sessionIdleMs || MAX_KEEP_MS, MAX_KEEP_MS),
      maxEntries: Math.min(maxLoggedEventsPerSession, Number.MAX_SAFE_INTEGER),
      maxBytes: Math.min(maxLoggedCharsPerSession, Number.MAX_SAFE_INTEGER),
    };
    await this.#cluster.logs.create(logOf(sessionId), options);
  }

  /** Makes this process the writer of a stream. */
  async claim(sessionId: string, streamId: string): Promise<StreamAppends> {
    const writer = await this.#claim(sessionId, streamId);
    const turns = streamId === STANDALONE ? this.#turnsOf(sessionId) : undefined;
    const written = new StreamAppends({ retries: this.#retries, writer, ...turns });
    const streams = this.#written.get(sessionId) ?? new Map<string, StreamAppends>();
    this.#written.set(sessionId, streams.set(streamId, written));
    return written;
  }

  async #claim(sessionId: string, streamId: string): Promise<Writer> {
    const enlisting = this.#options.enlist();
    if (enlisting !== undefined) await enlisting;
    return this.#cluster.logs.claim(logOf(sessionId), streamId);
  }

  #turnsOf(sessionId: string): { readonly turns: StreamTurns } {
    const reclaim = async () =>
      (await this.#options.holds(sessionId)) ? this.#claim(sessionId, STANDALONE) : undefined;
    const readAfter = (id: string | undefined) => this.#cluster.logs.readAfter(logOf(sessionId), STANDALONE, id);
    return { turns: { reclaim, readAfter } };
  }

  /**
   * Makes this process the writer of the standalone stream. Returns the id of the last entry, if there are messages, and
   * the messages to all clients that are stored.
   */
  async takeOver(sessionId: string): Promise<{ lastId: string | undefined; broadcasts: ReadonlySet<string> }> {
    await this.claim(sessionId, STANDALONE);
    const entries = (await this.#cluster.logs.readAfter(logOf(sessionId), STANDALONE)) ?? [];
    const broadcasts = entries.flatMap(({ data }) =>
      data.startsWith(BROADCAST) ? [data.slice(1, data.indexOf(" "))] : [],
    );
    const lastId = entries.some(({ data }) => data !== "") ? entries.at(-1)?.id : undefined;
    return { lastId, broadcasts: new Set(broadcasts) };
  }

  open(sessionId: string, streamId: string, requests: readonly RequestId[]): Promise<string> {
    if (this.#pending.size >= MAX_PENDING) return Promise.reject(tooManyPending());
    const opened = this.claim(sessionId, streamId).then(() =>
      this.#within(this.append(sessionId, streamId, REQUESTS + JSON.stringify(requests))),
    );
    this.#track(opened);
    return opened;
  }

  append(sessionId: string, streamId: string, frame: string, last = false, broadcast?: BroadcastId): Promise<string> {
    const data = broadcast === undefined ? frame : `${BROADCAST}${textOf(broadcast)} ${frame}`;
    const written = this.#written.get(sessionId)?.get(streamId);
    if (written === undefined) return Promise.reject(notWriter(streamId));
    if (last) this.#leave(sessionId, streamId);
    const appended = written.append(data, last);
    if (last) this.#finish(sessionId, streamId, appended);
    else this.#track(appended);
    return appended;
  }

  end(sessionId: string, streamId: string, frames: readonly string[]): void {
    const written = this.#written.get(sessionId)?.get(streamId);
    if (written === undefined) return;
    this.#leave(sessionId, streamId);
    this.#finish(sessionId, streamId, this.#appendAll(written, frames));
  }

  async find(sessionId: string, eventId: string): Promise<string | undefined> {
    return this.#cluster.logs.find(logOf(sessionId), eventId);
  }

  async readAfter(
    sessionId: string,
    streamId: string,
    eventId: string | undefined,
  ): Promise<readonly LoggedEvent[] | undefined> {
    return (await this.#cluster.logs.readAfter(logOf(sessionId), streamId, eventId))?.map(toEvent);
  }

  /** True if a stream has ended and has no message after an entry, or does not keep that entry. */
  async isOver(sessionId: string, { streamId, after }: StreamPosition): Promise<boolean> {
    const read = async (id?: string) => this.#cluster.logs.readAfter(logOf(sessionId), streamId, id);
    const left = await read(after);
    if (left === undefined) return true;
    if (left.length > 0) return left.at(-1)?.last === true && !left.some((entry) => isMessage(toEvent(entry)));
    // That entry may be the last one of the stream, or others have come since.
    const last = (await read())?.at(-1);
    return last?.id === after && last.last;
  }

  async *follow(
    sessionId: string,
    streamId: string,
    after: string,
    signal: AbortSignal,
  ): AsyncIterable<LoggedEvent & { readonly last: boolean }> {
    for await (const entry of this.#cluster.logs.follow(logOf(sessionId), streamId, after, signal))
      yield { ...toEvent(entry), last: entry.last };
  }

  /** Forgets the streams of a session that this process wrote. */
  release(sessionId: string): void {
    this.#written.delete(sessionId);
  }

  #leave(sessionId: string, streamId: string): void {
    const streams = this.#written.get(sessionId);
    streams?.delete(streamId);
    if (streams?.size === 0) this.#written.delete(sessionId);
  }

  async drop(sessionId: string): Promise<void> {
    this.release(sessionId);
    await this.#cluster.logs.drop(logOf(sessionId));
  }

  /** Resolves when nothing waits to be stored. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  /**
   * Ends the streams of calls that a process left behind when it died. Each of their requests gets the error that
   * `describe` writes. A stream that this process has claimed is not listed again, so it is ended before the next one.
   */
  async endStreamsOf(node: string, describe: (id: RequestId) => string): Promise<void> {
    for await (const { log, stream } of this.#cluster.logs.openOf(node)) {
      if (stream === STANDALONE) continue;
      try {
        await this.#retries.untilReached(() => endStream(this.#cluster.logs, log, stream, describe));
      } catch (error) {
        if (isLost(error)) continue;
        if (!isRefused(error)) {
          this.hasUnended = true;
          throw error;
        }
        // The others are ended all the same.
        this.#trackEnd(this.#endAnyway(log, stream, describe, error));
      }
    }
  }

  /** Appends the last entries of a stream. None is appended after one that was refused. */
  async #appendAll(written: StreamAppends, frames: readonly string[]): Promise<void> {
    for (const [at, frame] of frames.entries()) await written.append(frame, at === frames.length - 1);
  }

  /** Makes sure that a stream gets its end mark, even if the engine refuses its last entries. */
  #finish(sessionId: string, streamId: string, appended: Promise<unknown>): void {
    this.#trackEnd(
      appended.catch((error: unknown) => {
        if (isLost(error) || this.#retries.isClosed) throw error;
        return this.#endAnyway(logOf(sessionId), streamId, describeRefusal, error);
      }),
    );
  }

  /** Ends a stream whose end the engine has refused. Tries again, whatever the engine says. */
  #endAnyway(log: string, stream: string, describe: (id: RequestId) => string, refusal: unknown): Promise<void> {
    this.#options.report(refusal);
    const end = () => endStream(this.#cluster.logs, log, stream, describe);
    return this.#retries.inBackground(end, { mayPass: (error) => !isLost(error) });
  }

  #trackEnd(ended: Promise<unknown>): void {
    this.#track(
      ended.catch((error: unknown) => {
        if (isLost(error)) return;
        this.hasUnended = true;
        this.#options.report(error);
      }),
    );
  }

  /** Waits for an entry, but no longer than a client should. The entry is stored even if that takes longer. */
  #within(appended: Promise<string>): Promise<string> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.schedule(() => reject(noAnswer()), MAX_WAIT_MS);
      appended.then(resolve, reject).finally(() => this.#clock.cancel(timer));
    });
  }

  #track(work: Promise<unknown>): void {
    const done = () => this.#pending.delete(work);
    this.#pending.add(work);
    work.then(done, done);
  }
}

/** Longest time for which events are kept: a day. */
const MAX_KEEP_MS = 86_400_000;

function logOf(sessionId: string): string {
  return `session:${sessionId}`;
}

function toEvent({ id, data }: LogEntry): LoggedEvent {
  if (data.startsWith(BROADCAST)) return { id, data: data.slice(data.indexOf(" ") + 1) };
  return { id, data: data.startsWith(REQUESTS) ? "" : data };
}

/** Returns the requests that a stream answers and that have no response in it. */
function requestsIn(entries: readonly LogEntry[]): readonly RequestId[] {
  const first = entries.find(({ data }) => data.startsWith(REQUESTS));
  if (first === undefined) return [];
  const requests = JSON.parse(first.data.slice(REQUESTS.length)) as readonly RequestId[];
  const answered = new Set(entries.map(({ data }) => answeredBy(data)));
  return requests.filter((id) => !answered.has(id));
}

/** Returns the notifications that cancel the questions in a stream, since nobody waits for their answers any more. */
function cancellationsIn(entries: readonly LogEntry[]): readonly string[] {
  const asked = entries.map(({ data }) => askedBy(data)).filter((id) => id !== undefined);
  const reason = "The process that asked has ended";
  return asked.map((requestId) => formatNotification("notifications/cancelled", { requestId, reason }));
}

/** Returns the id of the question that a frame asks, if it is one. */
function askedBy(frame: string): RequestId | undefined {
  if (!frame.startsWith("{")) return undefined;
  const { id, method } = JSON.parse(frame) as { id?: RequestId; method?: string };
  return method === undefined ? undefined : id;
}

/** Returns the id of the request that a frame answers, if it is a response. */
function answeredBy(frame: string): RequestId | undefined {
  if (!frame.startsWith("{")) return undefined;
  const { id, method } = JSON.parse(frame) as { id?: RequestId; method?: string };
  return method === undefined ? id : undefined;
}

function isFenced(error: unknown): boolean {
  return error instanceof ClusterError && error.failure === "fenced";
}

function isRefused(error: unknown): boolean {
  return error instanceof ClusterError && error.failure === "refused";
}

/** True if the stream has another writer, or was dropped. */
function isLost(error: unknown): boolean {
  return isFenced(error) || (error instanceof ClusterError && error.failure === "dropped");
}

function tooManyPending(): ClusterError {
  const text = `${MAX_PENDING} operations of the session log are already queued`;
  return new ClusterError("unavailable", `${text}; limit concurrent calls, or look at the engine`);
}

function noAnswer(): ClusterError {
  return new ClusterError("unavailable", `The session log has not stored the start of a call within ${MAX_WAIT_MS} ms`);
}

/** Writes the error of a request whose response is not in the log. */
function describeRefusal(id: RequestId): string {
  const message = "The event log refused the response of this request, which may have been carried out";
  return formatFailure(id, { code: PROCESS_GONE, message });
}

function notWriter(streamId: string): ClusterError {
  return new ClusterError("fenced", `This process does not write stream "${streamId}"`);
}

/**
 * Ends the stream of a call: cancels its questions, and adds an error for each request that has no response. May be
 * repeated.
 */
async function endStream(logs: Logs, log: string, stream: string, describe: (id: RequestId) => string): Promise<void> {
  const writer = await logs.claim(log, stream);
  const entries = (await logs.readAfter(log, stream)) ?? [];
  if (entries.at(-1)?.last) return;
  const requests = requestsIn(entries);
  const frames = requests.length === 0 ? [""] : [...cancellationsIn(entries), ...requests.map(describe)];
  for (const [seq, frame] of frames.entries()) await writer.append(seq, frame, { last: seq === frames.length - 1 });
}
