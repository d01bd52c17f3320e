import { type Clock, unref } from "../../call/clock.js";
import { type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { BodyTooLarge } from "../body-failure.js";
import { readSse, type SseEvent, SseReader } from "../sse/reader.js";
import { type Life, type Reply, sourceOf } from "./send.js";

/** Reads the whole body as text. Rejects with `BodyTooLarge`, the error of the body, or the reason of the signal. */
export async function readText(reply: Reply, maxBytes: number, life: Life): Promise<string> {
  if (reply.body === null) return "";
  const decoder = new TextDecoder();
  let first: Uint8Array | undefined;
  let text = "";
  let size = 0;
  await sourceOf(reply.body, life).pump((chunk) => {
    size += chunk.byteLength;
    if (size > maxBytes) throw new BodyTooLarge(maxBytes, `body is larger than ${maxBytes} bytes`);
    // Most bodies are a single chunk, which is decoded at once.
    if (size === chunk.byteLength) first = chunk;
    else {
      if (first !== undefined) text = decoder.decode(first, { stream: true });
      first = undefined;
      text += decoder.decode(chunk, { stream: true });
    }
    return true;
  });
  return text + decoder.decode(first);
}

/**
 * Reads the beginning of a body for an error message, within limits of size and time. Drops the rest. Never rejects.
 */
export async function readExcerpt(
  reply: Reply,
  maxBytes: number,
  maxMs: number,
  life: Life,
  clock: Clock,
): Promise<string> {
  if (reply.body === null) return "";
  const decoder = new TextDecoder();
  const source = sourceOf(reply.body, life);
  const isEmpty = reply.headers.get("content-length") === "0";
  const timer = isEmpty ? undefined : clock.schedule(() => void source.cancel(), maxMs);
  let text = "";
  let left = maxBytes;
  try {
    await source.pump((chunk) => {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      return left > 0;
    });
  } catch {
    // The text that was read so far is sufficient.
  } finally {
    if (timer !== undefined) clock.cancel(timer);
  }
  return text;
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
