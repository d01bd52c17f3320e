// The modern era has no such file: a modern stream belongs to one exchange and cannot be resumed.

import type { AbortSwitch } from "../../../call/abort-switch.js";
import { pause } from "../../../call/abortable.js";
import { askedMs, jitter, type RetryWaits } from "../../../call/backoff.js";
import type { Clock } from "../../../call/clock.js";
import { fetchFailed } from "../../../http/client/failures.js";
import { discard, type HeaderRecord, type Reply } from "../../../http/client/send.js";
import { toEventIdHeader } from "../../../http/event-id.js";
import { isEventStream } from "../../../http/headers.js";
import { readEvents, type StreamTrace } from "../../../http/sse/reader.js";
import { AuthError } from "../../../protocol/auth-error.js";
import { ConnectionError, toError } from "../../../protocol/errors.js";
import type { Parsed } from "../../../protocol/jsonrpc/parse.js";
import { describe, type HttpCall, streamLost } from "../../http-call.js";
import { type HttpWire, wrongContentType } from "../../http-transport.js";
import type { ReconnectOptions } from "../../transport.js";

/** Context that the streams of a session share. */
export interface SessionStreams {
  readonly wire: HttpWire;
  readonly clock: Clock;
  readonly waits: RetryWaits;
  readonly reconnect: ReconnectOptions;
  /** Maximum number of consecutive connections of the GET stream that fail or deliver nothing. */
  readonly maxOwnFruitless: number;
  readonly maxMessageBytes: number;
  /** Calls whose stream waits for its next connection, or opens it. */
  readonly resuming: Set<HttpCall>;
}

/** Callbacks of {@link listenToServer}. */
export interface ServerListener {
  /** Called when the stream is open, or the first attempt to open it has failed. */
  onFirstTry(): void;
  take(parsed: Parsed): void;
  /** Called when the stream is open again but messages in between are lost. */
  onGap(): void;
  /** Called when the server refuses the stream. It is not requested again. */
  onRefused(error: Error, wasOpen: boolean): void;
  /** Called when several consecutive connections have failed or delivered nothing. Further attempts follow. */
  onTrouble(error: Error): void;
  /** Called when too many consecutive connections have failed or delivered nothing. No attempt follows. */
  onGivenUp(error: Error): void;
}

/** Outcome of an attempt to open a stream. */
type Opened =
  | { readonly kind: "open"; readonly response: Reply }
  /** Another attempt may succeed. */
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "refused"; readonly error: Error };

/**
 * Resumes a call's stream, connection after connection, until the response arrives. A stream whose events have no ids
 * cannot be resumed. Settles the call. Sends no request for a call that is over.
 */
export async function followReply(
  streams: SessionStreams,
  call: HttpCall,
  sessionHeaders: HeaderRecord,
  first: StreamTrace,
  take: (parsed: Parsed) => void,
): Promise<void> {
  const cursor = new StreamCursor(streams.reconnect);
  cursor.ended(first);
  if (cursor.lastEventId === "") call.fail(streamLost(call, first));
  else await readOn(streams, call, sessionHeaders, cursor, take);
}

/** Resumes the stream of an earlier call after an event. Settles the call. */
export async function resumeReply(
  streams: SessionStreams,
  call: HttpCall,
  sessionHeaders: HeaderRecord,
  lastEventId: string,
  take: (parsed: Parsed) => void,
): Promise<void> {
  const cursor = new StreamCursor(streams.reconnect);
  cursor.lastEventId = lastEventId;
  await readOn(
    streams,
    call,
    sessionHeaders,
    cursor,
    take,
    openStream(streams, cursor, sessionHeaders, call.method, call.abortSwitch),
  );
}

async function readOn(
  streams: SessionStreams,
  call: HttpCall,
  sessionHeaders: HeaderRecord,
  cursor: StreamCursor,
  take: (parsed: Parsed) => void,
  first?: Promise<Opened>,
): Promise<void> {
  let next = first;
  while (!call.over) {
    if (cursor.exhausted) return void call.fail(call.lost(whyGivenUp(cursor), { cause: cursor.lastError }));
    streams.resuming.add(call);
    const opened = await (next ?? reopen(streams, cursor, sessionHeaders, call.method, call.abortSwitch));
    next = undefined;
    streams.resuming.delete(call);
    if (opened.kind === "failed") cursor.failed(opened.error);
    else if (opened.kind === "refused") call.fail(notReadOn(call, opened.error));
    else if (call.over) discard(opened.response);
    else {
      const began = streams.clock.now();
      const trace = await streams.wire.readStream(call, opened.response, take);
      cursor.ended(trace, streams.clock.now() - began);
    }
  }
}

/** Number of consecutive connections without a delivery after which the trouble is reported. */
const MANY = 3;

/**
 * Keeps the GET stream of the session open. Failures are reported and may end the stream, but never a call. Never
 * rejects.
 */
export async function listenToServer(
  streams: SessionStreams,
  sessionHeaders: HeaderRecord,
  end: AbortSwitch,
  listener: ServerListener,
): Promise<void> {
  const what = "The GET stream of the session";
  const { clock, reconnect, maxOwnFruitless: maxFruitless } = streams;
  const cursor = new StreamCursor({ ...reconnect, maxFruitless });
  const isEndless = maxFruitless === Number.POSITIVE_INFINITY;
  let opened = await openStream(streams, cursor, sessionHeaders, what, end);
  listener.onFirstTry();
  let wasOpen = false;
  while (!end.aborted) {
    wasOpen ||= opened.kind === "open";
    if (opened.kind === "refused" && !mayOpenAnew(opened.error, cursor))
      return listener.onRefused(opened.error, wasOpen);
    if (opened.kind !== "open") cursor.failed(opened.error);
    else {
      const began = clock.now();
      const trace = await readEvents(opened.response, streams.maxMessageBytes, end, listener.take, clock);
      cursor.ended(trace, clock.now() - began);
    }
    if (end.aborted) return;
    if (cursor.attempt === MANY && isEndless)
      listener.onTrouble(notResumed(what, cursor, `still trying to resume the stream ${after(cursor)}`));
    if (cursor.exhausted) return listener.onGivenUp(notResumed(what, cursor, whyGivenUp(cursor)));
    opened = await reopen(streams, cursor, sessionHeaders, what, end);
    if (opened.kind === "open" && cursor.lastEventId === "" && !end.aborted) listener.onGap();
  }
  if (opened.kind === "open") discard(opened.response);
}

/**
 * True if a refused stream can be opened without a position, which is then cleared. With status 400 the server no
 * longer keeps the last event.
 */
function mayOpenAnew(error: Error, cursor: StreamCursor): boolean {
  const status = error instanceof ConnectionError ? error.status : undefined;
  if (status !== 400 || cursor.lastEventId === "") return false;
  cursor.lastEventId = "";
  return true;
}

async function reopen(
  streams: SessionStreams,
  cursor: StreamCursor,
  sessionHeaders: HeaderRecord,
  what: string,
  end: AbortSwitch,
): Promise<Opened> {
  const { clock, waits, reconnect } = streams;
  const { schedule, minDelayMs } = reconnect;
  const { wishMs, delayMs, lastError, isDown, hurried } = cursor;
  const ms = wishMs === undefined ? jitter(delayMs) : delayMs;
  const asked = askedMs(lastError, reconnect);
  const leastMs = Math.max(wishMs ?? 0, asked, minDelayMs * 2 ** hurried);
  try {
    if (schedule !== undefined) await scheduled(schedule, cursor, end);
    else if (!isDown) await pause(clock, ms, end.signal);
    else if (await waits.pause(clock, Math.max(ms, asked), leastMs, end.signal)) cursor.hurried++;
  } catch (error) {
    return { kind: "refused", error: toError(error) };
  }
  if (end.aborted) return { kind: "failed", error: end.reason };
  return openStream(streams, cursor, sessionHeaders, what, end);
}

/**
 * Waits until the author's `schedule` calls back. If the stream is aborted, cancels the schedule and resolves at once.
 */
function scheduled(
  schedule: NonNullable<ReconnectOptions["schedule"]>,
  cursor: StreamCursor,
  end: AbortSwitch,
): Promise<void> {
  return new Promise((resolve) => {
    let callOff: (() => void) | undefined;
    const onAbort = () => {
      callOff?.();
      resolve();
    };
    const reconnect = () => {
      end.offAbort(onAbort);
      resolve();
    };
    end.onAbort(onAbort);
    callOff = schedule(reconnect, cursor.delayMs, cursor.attempt);
  });
}

async function openStream(
  { wire }: SessionStreams,
  { lastEventId }: StreamCursor,
  sessionHeaders: HeaderRecord,
  what: string,
  end: AbortSwitch,
): Promise<Opened> {
  const headers = { ...wire.headers.get, ...sessionHeaders };
  if (lastEventId !== "") headers["last-event-id"] = toEventIdHeader(lastEventId);
  let response: Reply;
  try {
    response = await wire.send("GET", headers, null, end);
  } catch (reason) {
    const error = fetchFailed(what, reason);
    // Another attempt would ask the user to log in again. Only a failed refresh may succeed later.
    const final = error instanceof AuthError && error.step !== "refresh";
    return { kind: final ? "refused" : "failed", error };
  }
  if (!response.ok) {
    const error = await wire.refusedBy(response, what, end);
    return { kind: isPassing(response.status) ? "failed" : "refused", error };
  }
  if (response.status === 204) {
    discard(response);
    return { kind: "refused", error: new ConnectionError(`${what}: the server has ended the stream`, { status: 204 }) };
  }
  const type = response.headers.get("content-type");
  if (isEventStream(type)) return { kind: "open", response };
  discard(response);
  return { kind: "refused", error: wrongContentType(what, type) };
}

/**
 * True if another attempt may succeed. With 409 the server has not yet noticed the end of the last connection. 501 means
 * that it does not know the method.
 */
function isPassing(status: number): boolean {
  return (status >= 500 && status !== 501) || status === 429 || status === 408 || status === 409;
}

/**
 * Creates the error of a call whose stream cannot be resumed. The delivery is that of the call, not of the resuming
 * request. Other errors than a `ConnectionError`, such as a failed authorization, are returned unchanged.
 */
function notReadOn(call: HttpCall, error: Error): Error {
  if (!(error instanceof ConnectionError)) return error;
  return call.lost(`the stream cannot be resumed (${error.message})`, { cause: error });
}

function notResumed(what: string, cursor: StreamCursor, outcome: string): ConnectionError {
  return new ConnectionError(`${what}: ${outcome}`, { cause: cursor.lastError });
}

function whyGivenUp(cursor: StreamCursor): string {
  return `gave up resuming the stream (reconnect.maxFruitless) ${after(cursor)}`;
}

function after({ lastError, attempt }: StreamCursor): string {
  return `after ${attempt} attempts: ${lastError === undefined ? "it delivers nothing" : describe(lastError)}`;
}

const GROWTH = 1.5;
/** Maximum length of an event id. A longer id is ignored, since a server would refuse it in a header. */
const LONGEST_ID = 8192;

/** Position of a stream across its connections, and the delay of the next one. */
export class StreamCursor {
  /** Id of the event after which the stream is resumed. Empty if it cannot be resumed. */
  lastEventId = "";
  /** Error of the last connection. Undefined if it ended regularly. */
  lastError: unknown;
  /** Delay that the server requested last. */
  wishMs: number | undefined;
  /** True if the last connection could not be opened. */
  isDown = false;
  /** Number of consecutive brief or failed connections that started early because a call succeeded. */
  hurried = 0;
  readonly #options: ReconnectOptions;
  /** Consecutive connections that failed or delivered nothing at all. */
  #fruitless = 0;
  /** Consecutive connections that failed or delivered no message. */
  #silent = 0;
  /** Consecutive connections that failed, or ended within `firstDelayMs` of their start. */
  #brief = 0;

  constructor(options: ReconnectOptions) {
    this.#options = options;
  }

  /** Records the end of a connection. It was useful if it delivered a message, a new event id or a requested delay. */
  ended(trace: StreamTrace, livedMs = Number.POSITIVE_INFINITY): void {
    const { lastEventId: id } = trace;
    const moved = id !== "" && id !== this.lastEventId && id.length <= LONGEST_ID;
    if (moved) this.lastEventId = id;
    if (trace.retryMs !== undefined) this.wishMs = trace.retryMs;
    this.#fruitless = moved || trace.spoke || trace.retryMs !== undefined ? 0 : this.#fruitless + 1;
    this.#silent = trace.spoke ? 0 : this.#silent + 1;
    this.#brief = livedMs < this.#options.firstDelayMs ? this.#brief + 1 : 0;
    if (this.#brief === 0) this.hurried = 0;
    this.isDown = false;
    this.lastError = trace.error;
  }

  /** Records that a connection could not be opened. */
  failed(error: unknown): void {
    this.#fruitless++;
    this.#silent++;
    this.#brief++;
    this.isDown = true;
    this.lastError = error;
  }

  get attempt(): number {
    return this.#fruitless;
  }

  get exhausted(): boolean {
    return this.#fruitless >= this.#options.maxFruitless;
  }

  /**
   * Delay before the next connection: the delay that the server requested, but at least the minimum, or else a delay
   * that grows while no message arrives.
   */
  get delayMs(): number {
    const { minDelayMs, firstDelayMs, maxDelayMs } = this.#options;
    if (this.wishMs === undefined) return Math.min(maxDelayMs, firstDelayMs * GROWTH ** this.#silent);
    return Math.max(this.wishMs, Math.min(this.isDown ? maxDelayMs : firstDelayMs, minDelayMs * 2 ** this.#brief));
  }
}
