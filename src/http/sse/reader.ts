import { LONGEST_DELAY } from "../../call/clock.js";
import { type Life, type ReplyBody, sourceOf } from "../client/send.js";

/** One dispatched event. */
export interface SseEvent {
  /** The event's type; `message` unless the stream names another. */
  readonly event: string;
  readonly data: string;
  /** The id given with this very event; `SseReader.lastEventId` is the one to resume from. */
  readonly id: string | undefined;
}

export interface SseReaderOptions {
  /** The most characters that the lines of one event may hold together. */
  readonly maxEventSize: number;
}

export class SseEventTooLarge extends Error {
  override readonly name = "SseEventTooLarge";
  constructor(readonly limit: number) {
    super(`event of the stream is larger than ${limit} characters`);
  }
}

const DIGITS = /^[0-9]+$/;
const LF = 10;
const SPACE = 32;
const COLON = 58;
const BOM = 0xfeff;

/**
 * An incremental reader of `text/event-stream`, after the algorithm of the HTML standard.
 *
 * The result does not depend on how the stream is cut into chunks, and every line is acted upon as soon as its end has
 * been seen: a CR ends a line without waiting to see whether LF follows.
 *
 * A listener that throws, and an event that is too large, break the reader: the error leaves by `push`, and nothing is
 * delivered any more.
 */
export class SseReader {
  /** The id that the last complete block left; empty when there was none. Survives events without an id. */
  lastEventId = "";
  /** The stream's wish for how long to wait before connecting again; undefined if it has none. */
  retryMs: number | undefined;
  /** How many lines were comments. */
  comments = 0;

  readonly #onEvent: (event: SseEvent) => void;
  readonly #maxEventSize: number;
  #decoder: TextDecoder | undefined;
  #started = false;
  #ended = false;
  /** The last chunk ended in CR: a LF that comes first in the next one belongs to it. */
  #skipLf = false;
  /** The line in progress, as far as former chunks held it. */
  #tail = "";
  #data: string | undefined;
  #event = "";
  #id: string | undefined;
  /** Characters of the data lines of the event in progress. */
  #size = 0;

  constructor(onEvent: (event: SseEvent) => void, { maxEventSize }: SseReaderOptions) {
    this.#onEvent = onEvent;
    this.#maxEventSize = maxEventSize;
  }

  /** True after `end`, and after an error. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Reads on. Does nothing after `end`. */
  push(chunk: Uint8Array | string): void {
    if (this.#ended) return;
    let text: string;
    if (typeof chunk === "string") {
      text = chunk;
    } else {
      // A byte order mark is kept here, so that it is taken away in one place for text and bytes.
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

  /** Ends the stream: an event that has not seen its blank line is dropped. May be called by the listener. */
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
    // Each kind of line end is searched for again only once it has been passed, so that the work stays linear.
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
    // By first letter; comments are counted, and unknown fields ignored unread.
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

/** Where the value of the field begins in the line from `start` to `end`, or -1 if the line is of another field. */
function findValue(text: string, start: number, end: number, field: string): number {
  const colon = start + field.length;
  if (colon > end || !text.startsWith(field, start)) return -1;
  if (colon === end) return end;
  if (text.charCodeAt(colon) !== COLON) return -1;
  // A line end stands at `end`, so that a space is never taken from beyond the line.
  return text.charCodeAt(colon + 1) === SPACE ? colon + 2 : colon + 1;
}

/**
 * Pumps a response body into a reader until the body ends, the reader is ended by its listener, or the signal fires.
 * Rejects with the body's error, the reader's, the signal's reason, or the one given to the `giveUp` that `onChunk` gets
 * after each chunk.
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
