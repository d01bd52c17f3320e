import { type NewEvent, RECORDING_VERSION, type RecordingEvent, type RecordingHeader } from "./events.js";
import { RECORDING_LIMITS, type RecordingLimits } from "./limits.js";

/** Destination of the lines of a recording, such as a file. */
export interface RecordingSink {
  /**
   * Appends whole lines, each with its line end. A promise that is returned holds back the next call until it settles.
   * A rejection ends the recording; `close` of the recording reports it.
   */
  readonly write: (lines: string) => void | Promise<void>;
  /** Called once, after the last line. */
  readonly close?: (() => void | Promise<void>) | undefined;
}

/** Writes the lines of a recording, in order. It never makes the recorded traffic wait. */
export class RecordingWriter {
  /** Number of lines so far, with the header. */
  lines = 0;
  /** Number of their bytes. */
  bytes = 0;
  readonly #sink: RecordingSink;
  readonly #limits: RecordingLimits;
  /** Text that waits for the sink. */
  #waiting = "";
  #writing: Promise<void> | undefined;
  #scheduled = false;
  #failure: { readonly error: unknown } | undefined;
  /** Lines that were dropped since the last one that was written. */
  #dropped = 0;

  constructor(header: Omit<RecordingHeader, "mcpRecording" | "unit">, sink: RecordingSink, limits = RECORDING_LIMITS) {
    this.#sink = sink;
    this.#limits = limits;
    const { by, at, redaction } = header;
    this.#append(`${JSON.stringify({ mcpRecording: RECORDING_VERSION, by, at, unit: "us", redaction })}\n`);
  }

  /** Writes an event. It is dropped if too much waits for the sink. `text` is its line, if that is known. */
  write(event: RecordingEvent, text?: string): void {
    if (this.#waiting.length >= this.#limits.maxUnwrittenBytes) {
      this.#dropped++;
      return;
    }
    if (this.#dropped > 0) this.#noteGap(event.t);
    this.#append(`${lineOf(event, this.#limits.maxLineBytes, text)}\n`);
  }

  /** Writes what waits and the last line, then closes the sink. Rejects with the error of the sink. */
  async close(t: number, redacted?: { readonly [kind: string]: number }): Promise<void> {
    if (this.#dropped > 0) this.#noteGap(t);
    const { lines, bytes } = this;
    const isRedacted = redacted !== undefined && Object.keys(redacted).length > 0;
    this.#append(`${lineOf({ t, k: "done", lines, bytes, ...(isRedacted && { redacted }) })}\n`);
    while (this.#writing !== undefined || this.#waiting !== "") {
      this.#flush();
      await this.#writing;
    }
    await this.#sink.close?.();
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #noteGap(t: number): void {
    const lines = this.#dropped;
    this.#dropped = 0;
    this.#append(`${lineOf({ t, k: "gap", lines, reason: "the destination of the recording was too slow" })}\n`);
  }

  #append(line: string): void {
    if (this.#failure !== undefined) return;
    this.lines++;
    this.bytes += byteLength(line);
    this.#waiting += line;
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#writing !== undefined || this.#waiting === "") return;
    const text = this.#waiting;
    this.#waiting = "";
    this.#writing = this.#send(text);
  }

  async #send(text: string): Promise<void> {
    try {
      if (this.#failure === undefined) await this.#sink.write(text);
    } catch (error) {
      this.#failure = { error };
      this.#waiting = "";
    }
    this.#writing = undefined;
    this.#flush();
  }
}

/** Serializes an event: first the time and the kind, then the rest. One that is too long becomes a gap. */
export function lineOf(
  event: RecordingEvent,
  maxLineBytes = RECORDING_LIMITS.maxLineBytes,
  text = JSON.stringify(event),
): string {
  // A character has at most three bytes.
  const isTooLong = text.length * 3 > maxLineBytes && byteLength(text) >= maxLineBytes;
  if (!isTooLong) return text;
  return JSON.stringify({
    t: event.t,
    k: "gap",
    lines: 1,
    reason: `a line (${event.k}) was longer than ${maxLineBytes} bytes`,
  });
}

/** Adds the time to an event, as its first member. */
export function timed(t: number, event: NewEvent): RecordingEvent {
  return { t, ...event } as RecordingEvent;
}

/** Returns the number of bytes of a text in UTF-8. */
function byteLength(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    // The two halves of a pair have four bytes together.
    bytes += code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 1 : 2;
  }
  return bytes;
}
