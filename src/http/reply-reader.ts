import type { Clock } from "../call/clock.js";
import { type Parsed, parseFrame } from "../jsonrpc/parse.js";
import { readSse, type SseEvent, SseReader } from "./sse-reader.js";
import { StreamPulse } from "./stream-pulse.js";

export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
  constructor(readonly limit: number) {
    super(`body is larger than ${limit} bytes`);
  }
}

/** Lets go of a body that nobody reads, so that its connection is free again. Never throws. */
export function discard(response: Response): void {
  if (response.body !== null && !response.bodyUsed) response.body.cancel().catch(() => {});
}

/** The whole body as text. Rejects with `BodyTooLarge`, the body's own error, or the signal's reason. */
export async function readText(response: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  await readBody(response.body, signal, (chunk) => {
    size += chunk.byteLength;
    if (size > maxBytes) throw new BodyTooLarge(maxBytes);
    text += decoder.decode(chunk, { stream: true });
  });
  return text + decoder.decode();
}

/** The beginning of a body, for people; the rest is let go of. Never rejects. */
export async function readExcerpt(response: Response, maxBytes: number, signal: AbortSignal): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  let left = maxBytes;
  try {
    await readBody(response.body, signal, (chunk) => {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      if (left <= 0) throw new BodyTooLarge(maxBytes);
    });
  } catch {
    // What has been read so far is all there is to show.
  }
  return text;
}

async function readBody(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> {
  const source = body.getReader();
  const cancel = () => void source.cancel(signal.reason).catch(() => {});
  if (signal.aborted) cancel();
  else signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await source.read();
      if (signal.aborted) throw signal.reason;
      if (done) return;
      onChunk(value);
    }
  } catch (error) {
    cancel();
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** What one connection of an event stream left behind. */
export interface StreamTrace {
  /** The id to read on from; empty if no event had one. */
  readonly lastEventId: string;
  /** How long the stream wants to be left alone before the next connection. */
  readonly retryMs: number | undefined;
  /** Whether any message came. */
  readonly spoke: boolean;
  /** Why the stream broke; undefined when it ended. */
  readonly error: unknown;
}

/**
 * Reads an event stream to its end and hands out each message as it arrives, and then its event id. Never rejects. Events
 * of another type and events without data carry no message.
 */
export async function readEvents(
  response: Response,
  maxChars: number,
  signal: AbortSignal,
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
  const pulse = new StreamPulse(clock, () => giveUp(new Error("the stream has fallen silent")));
  const onChunk = (give: (reason: unknown) => void) => {
    giveUp = give;
    pulse.beat(reader.comments);
  };
  try {
    if (response.body !== null) await readSse(response.body, reader, signal, onChunk);
  } catch (reason) {
    error = reason;
  } finally {
    pulse.stop();
  }
  return { lastEventId: reader.lastEventId, retryMs: reader.retryMs, spoke, error };
}
