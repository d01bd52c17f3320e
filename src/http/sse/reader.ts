import { type Clock, LONGEST_DELAY, unref } from "../../call/clock.js";
import { type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { type Life, type Reply, type ReplyBody, sourceOf } from "../client/send.js";

/** Dispatched event. */
export interface SseEvent {
  /** Type of the event. `message` unless the stream names another. */
  readonly event: string;
  readonly data: string;
  /** Id of this event. To resume a stream, use `SseReader.lastEventId`. */
  readonly id: string | undefined;
}

/** Options of an {@link SseReader}. */
export interface SseReaderOptions {
  /** Maximum number of characters of the data lines of an event, together with the line that is being read. */
  readonly maxEventSize: number;
}

/** Error for an event that exceeds `maxEventSize`. */
export class SseEventTooLarge extends Error {
  override readonly name = "SseEventTooLarge";
  constructor(readonly limit: number) {
    super(`an event of the stream is larger than ${limit} characters (limits.maxMessageBytes)`);
  }
}

const DIGITS = /^[0-9]+$/;
const LF = 10;
const SPACE = 32;
const COLON = 58;
const BOM = 0xfeff;

/**
 * Incremental reader of `text/event-stream`, as defined by the HTML standard.
 *
 * The result does not depend on the boundaries of chunks. Each line is processed as soon as its end has arrived: a CR
 * ends a line without waiting for a possible LF.
 *
 * A listener that throws, or an event that is too large, ends the reader. `push` throws the error, and no further event
 * is delivered.
 */
export class SseReader {
  /** Id of the last complete block that had one, with or without data. Empty if there was none. */
  lastEventId = "";
  /** Reconnection time that the stream requests with `retry`. */
  retryMs: number | undefined;
  /** Number of comment lines. */
  comments = 0;

  readonly #onEvent: (event: SseEvent) => void;
  readonly #maxEventSize: number;
  #decoder: TextDecoder | undefined;
  #started = false;
  #ended = false;
  /** True if the last chunk ended in CR. A LF at the start of the next chunk belongs to it. */
  #skipLf = false;
  /** Beginning of an incomplete line, from previous chunks. */
  #tail = "";
  #data: string | undefined;
  #event = "";
  #id: string | undefined;
  /** Number of characters of the data lines of the current event. */
  #size = 0;

  constructor(onEvent: (event: SseEvent) => void, { maxEventSize }: SseReaderOptions) {
    this.#onEvent = onEvent;
    this.#maxEventSize = maxEventSize;
  }

  /** True after `end` or an error. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Reads a chunk. Does nothing after `end`. */
  push(chunk: Uint8Array | string): void {
    if (this.#ended) return;
    let text: string;
    if (typeof chunk === "string") {
      text = chunk;
    } else {
      // The decoder keeps a byte order mark, so that it is removed in one place for strings and bytes.
      this.#decoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
      text = this.#decoder.decode(chunk, { stream: true });
    }
    if (text === "") return;
    try {
      this.#read(text);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  /** Ends the stream. Drops an event without its final blank line. May be called by the listener. */
  end(): void {
    this.#ended = true;
    this.#tail = "";
    this.#data = undefined;
    this.#decoder = undefined;
  }

  #read(text: string): void {
    let start = 0;
    if (!this.#started) {
      this.#started = true;
      if (text.charCodeAt(0) === BOM) start = 1;
    }
    if (this.#skipLf && start < text.length) {
      this.#skipLf = false;
      if (text.charCodeAt(start) === LF) start++;
    }
    let lf = text.indexOf("\n", start);
    let cr = text.indexOf("\r", start);
    // Each kind of line end is searched for again only after the last one found, which keeps the work linear.
    while (lf !== -1 || cr !== -1) {
      const atCr = lf === -1 || (cr !== -1 && cr < lf);
      const end = atCr ? cr : lf;
      if (this.#tail === "") {
        this.#line(text, start, end);
      } else {
        const line = this.#tail + text.slice(start, end);
        this.#tail = "";
        this.#line(line, 0, line.length);
      }
      if (this.#ended) return;
      start = end + 1;
      if (atCr) {
        if (start === text.length) this.#skipLf = true;
        else if (lf === start) lf = text.indexOf("\n", ++start);
        cr = text.indexOf("\r", start);
      } else {
        lf = text.indexOf("\n", start);
      }
    }
    if (start === text.length) return;
    this.#tail += start === 0 ? text : text.slice(start);
    this.#assertFits(this.#tail.length);
  }

  #line(text: string, start: number, end: number): void {
    if (start === end) {
      this.#dispatch();
      return;
    }
    this.#assertFits(end - start);
    // Selects the field by its first letter. Comments are counted; unknown fields are ignored.
    switch (text.charCodeAt(start)) {
      case COLON:
        this.comments++;
        return;
      case 100: {
        const at = findValue(text, start, end, "data");
        if (at !== -1) this.#addData(text.slice(at, end), end - start);
        return;
      }
      case 101: {
        const at = findValue(text, start, end, "event");
        if (at !== -1) this.#event = text.slice(at, end);
        return;
      }
      case 105: {
        const at = findValue(text, start, end, "id");
        if (at === -1) return;
        const id = text.slice(at, end);
        if (!id.includes("\0")) this.#id = id;
        return;
      }
      case 114: {
        const at = findValue(text, start, end, "retry");
        if (at === -1) return;
        const retry = text.slice(at, end);
        if (DIGITS.test(retry)) this.retryMs = Math.min(Number(retry), LONGEST_DELAY);
      }
    }
  }

  #addData(value: string, length: number): void {
    this.#data = this.#data === undefined ? value : `${this.#data}\n${value}`;
    this.#size += length;
  }

  #dispatch(): void {
    const data = this.#data;
    const id = this.#id;
    const event = this.#event;
    this.#data = undefined;
    this.#id = undefined;
    this.#event = "";
    this.#size = 0;
    if (id !== undefined) this.lastEventId = id;
    if (data !== undefined) this.#onEvent({ event: event === "" ? "message" : event, data, id });
  }

  #assertFits(more: number): void {
    if (this.#size + more > this.#maxEventSize) throw new SseEventTooLarge(this.#maxEventSize);
  }
}

/** Returns the position of the field's value in the line from `start` to `end`, or -1 if the line has another field. */
function findValue(text: string, start: number, end: number, field: string): number {
  const colon = start + field.length;
  if (colon > end || !text.startsWith(field, start)) return -1;
  if (colon === end) return end;
  if (text.charCodeAt(colon) !== COLON) return -1;
  // `end` is the position of a line end, so a space beyond the line is never taken.
  return text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
}

/**
 * Reads a response body until the body ends, the listener ends the reader, or the signal fires. Rejects with the error
 * of the body or the reader, the reason of the signal, or the reason passed to `giveUp`, which `onChunk` receives after
 * each chunk.
 */
export async function readSse(
  body: ReplyBody,
  reader: SseReader,
  life?: Life,
  onChunk?: (giveUp: (reason: unknown) => void) => void,
): Promise<void> {
  const source = sourceOf(body, life);
  const giveUp = (reason: unknown) => void source.cancel(reason);
  try {
    await source.pump((chunk) => {
      reader.push(chunk);
      onChunk?.(giveUp);
      return !reader.ended;
    });
  } finally {
    reader.end();
  }
}

/** Outcome of reading an event stream. */
export interface StreamTrace {
  /** Id to resume from. Empty if no event had one. */
  readonly lastEventId: string;
  /** Reconnection time that the stream requested. */
  readonly retryMs: number | undefined;
  /** True if any message was received. */
  readonly spoke: boolean;
  /** Error that broke the stream. Undefined if it ended normally. */
  readonly error: unknown;
}

/**
 * Reads an event stream to its end. Passes on each message as it arrives, and then its event id. Never rejects. Events
 * of other types, and events without data, contain no message.
 */
export async function readEvents(
  reply: Reply,
  maxChars: number,
  life: Life,
  onMessage: (parsed: Parsed) => void,
  clock: Clock,
  onEventId?: ((id: string) => void) | undefined,
): Promise<StreamTrace> {
  let spoke = false;
  let error: unknown;
  const onEvent = ({ event, data, id }: SseEvent) => {
    if (event === "message" && data !== "") {
      spoke = true;
      onMessage(parseFrame(data));
    }
    if (id) onEventId?.(id);
  };
  const reader = new SseReader(onEvent, { maxEventSize: maxChars });
  let giveUp: (reason: unknown) => void = () => {};
  const pulse = new StreamWatchdog(clock, (ms) => giveUp(new Error(`the stream was silent for ${ms} ms`)));
  const onChunk = (give: (reason: unknown) => void) => {
    giveUp = give;
    pulse.beat(reader.comments);
  };
  try {
    if (reply.body !== null) await readSse(reply.body, reader, life, onChunk);
  } catch (reason) {
    error = reason;
  } finally {
    pulse.stop();
  }
  return { lastEventId: reader.lastEventId, retryMs: reader.retryMs, spoke, error };
}

/** Minimum silence after which a stream is closed. */
const SHORTEST_MS = 60_000;
/** Number of comment intervals that a stream may miss. */
const MISSED = 3;

/**
 * Detects a stream that died without being closed, for example behind a proxy that lost its upstream. Only a stream
 * that writes comments regularly can be detected: it is dead after three times the longest interval between two
 * comments, and at least a minute.
 */
export class StreamWatchdog {
  readonly #clock: Clock;
  readonly #onDead: (silentMs: number) => void;
  #comments = 0;
  #commentAt: number;
  #heardAt: number;
  #longestMs = 0;
  #timer: unknown;

  constructor(clock: Clock, onDead: (silentMs: number) => void) {
    this.#clock = clock;
    this.#onDead = onDead;
    this.#commentAt = clock.now();
    this.#heardAt = this.#commentAt;
  }

  /** Records that data arrived. `comments` is the number of comments so far. */
  beat(comments: number): void {
    this.#heardAt = this.#clock.now();
    if (comments === this.#comments) return;
    const isFirst = this.#comments === 0;
    if (!isFirst) this.#longestMs = Math.max(this.#longestMs, this.#heardAt - this.#commentAt);
    this.#comments = comments;
    this.#commentAt = this.#heardAt;
    // A single comment shows no interval.
    if (!isFirst && this.#timer === undefined) this.#arm();
  }

  stop(): void {
    if (this.#timer !== undefined) this.#clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    const allowedMs = Math.max(SHORTEST_MS, MISSED * this.#longestMs);
    const leftMs = this.#heardAt + allowedMs - this.#clock.now();
    if (leftMs <= 0) return this.#onDead(allowedMs);
    this.#timer = this.#clock.schedule(() => this.#arm(), leftMs);
    unref(this.#timer);
  }
}
