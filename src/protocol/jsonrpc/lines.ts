import { ProtocolError } from "../errors.js";

/** Limits of a {@link LineDecoder}. */
export interface LineLimits {
  /** Maximum length of a line in bytes, without its terminator. */
  readonly maxLineBytes: number;
}

/** Events of a decoder. The callbacks must not throw. */
export interface LineEvents {
  onLine(line: string): void;
  /** A line was skipped. Decoding continues. */
  onProblem(problem: ProtocolError): void;
  /** A line exceeds the limit. The decoder has ended, since a caller may be waiting for the lost frame. */
  onOverflow(problem: ProtocolError): void;
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const TAB = 0x09;
const BOM = [0xef, 0xbb, 0xbf] as const;
/** Bytes that may surround a line of maximum length: a byte order mark before it and a CR after it. */
const FRAMING_BYTES = BOM.length + 1;
const KEPT_BUFFER_BYTES = 64 * 1024;

/**
 * Splits a byte stream into lines. Only LF ends a line. A CR directly before it is dropped, and so is a byte order mark
 * at the start of the stream. Blank lines are skipped. Lines that are not UTF-8, and bytes without a terminator at the
 * end of the stream, are reported and skipped. A line that exceeds the limit ends the decoder.
 *
 * Memory is bounded by the limit. Time is linear in the number of bytes, however they are divided into chunks. A chunk
 * is not retained after `push` returns.
 */
export class LineDecoder {
  readonly #events: LineEvents;
  readonly #maxLineBytes: number;
  readonly #utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  /** Beginning of an incomplete line: the first `#length` bytes of `#buffer`. */
  #buffer = new Uint8Array(0);
  #length = 0;
  #atStart = true;
  #ended = false;

  constructor(events: LineEvents, limits: LineLimits) {
    this.#events = events;
    this.#maxLineBytes = limits.maxLineBytes;
  }

  push(chunk: Uint8Array): void {
    let start = 0;
    while (!this.#ended) {
      const end = chunk.indexOf(LF, start);
      if (end === -1) break;
      this.#finishLine(chunk, start, end);
      start = end + 1;
    }
    if (!this.#ended && start < chunk.length) this.#keep(chunk, start, chunk.length);
  }

  /** Ends decoding. No line is delivered afterwards. Idempotent. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const rest = this.#length;
    const blank = isBlank(this.#buffer, this.#contentStart(this.#buffer, 0, rest), rest);
    this.#forget();
    if (!blank)
      this.#events.onProblem(
        new ProtocolError(`The input ended in the middle of a line; its ${rest} bytes were dropped`),
      );
  }

  #finishLine(chunk: Uint8Array, start: number, end: number): void {
    if (this.#length === 0) {
      this.#deliver(chunk, start, end);
      return;
    }
    if (end > start) this.#keep(chunk, start, end);
    if (this.#ended) return;
    const line = this.#buffer;
    const length = this.#length;
    this.#length = 0;
    if (line.length > KEPT_BUFFER_BYTES) this.#buffer = new Uint8Array(0);
    this.#deliver(line, 0, length);
  }

  #deliver(bytes: Uint8Array, from: number, to: number): void {
    const start = this.#contentStart(bytes, from, to);
    const end = to > start && bytes[to - 1] === CR ? to - 1 : to;
    this.#atStart = false;
    if (end - start > this.#maxLineBytes) return this.#overflow();
    if (isBlank(bytes, start, end)) return;
    const line = this.#decode(bytes.subarray(start, end));
    if (line !== undefined) this.#events.onLine(line);
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#utf8.decode(bytes);
    } catch (cause) {
      this.#events.onProblem(
        new ProtocolError(`A line of ${bytes.length} bytes is not valid UTF-8 and was skipped`, { cause }),
      );
      return undefined;
    }
  }

  /** Appends bytes to the incomplete line. Overflows as soon as the line is known to be too long. */
  #keep(chunk: Uint8Array, start: number, end: number): void {
    const length = this.#length + (end - start);
    if (length > this.#maxLineBytes + FRAMING_BYTES) return this.#overflow();
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(start === 0 && end === chunk.length ? chunk : chunk.subarray(start, end), this.#length);
    this.#length = length;
  }

  /** Enlarges the buffer. Doubling it keeps the cost of all copies below twice the line. */
  #grow(needed: number): void {
    const most = this.#maxLineBytes + FRAMING_BYTES;
    const buffer = new Uint8Array(Math.min(most, Math.max(needed, this.#buffer.length * 2, 1024)));
    buffer.set(this.#buffer.subarray(0, this.#length));
    this.#buffer = buffer;
  }

  #contentStart(bytes: Uint8Array, from: number, to: number): number {
    const marked = this.#atStart && to - from >= BOM.length && BOM.every((byte, index) => bytes[from + index] === byte);
    return marked ? from + BOM.length : from;
  }

  #overflow(): void {
    this.#ended = true;
    this.#forget();
    const message = `A line is longer than the limit of ${this.#maxLineBytes} bytes; raise maxLineBytes`;
    this.#events.onOverflow(new ProtocolError(message));
  }

  #forget(): void {
    this.#buffer = new Uint8Array(0);
    this.#length = 0;
  }
}

/**
 * Returns the line that carries a JSON text. A raw line break in JSON is white space between tokens, so a space can
 * replace it.
 */
export function toLine(json: string): string {
  const broken = json.includes("\n") || json.includes("\r");
  return broken ? `${json.replaceAll(/[\r\n]/g, " ")}\n` : `${json}\n`;
}

function isBlank(bytes: Uint8Array, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index];
    if (byte !== SPACE && byte !== TAB && byte !== CR) return false;
  }
  return true;
}
