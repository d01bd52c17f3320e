import { joinBytes } from "../protocol/bytes.js";
import { McpError } from "../protocol/errors.js";
import type { RecordingEvent, RecordingHeader } from "./events.js";
import { RECORDING_LIMITS } from "./limits.js";
import { eventProblem, headerProblem, isKnownKind } from "./shapes.js";

/** A recording cannot be read. `line` is the number of the line that is wrong; the header is line 1. */
export class RecordingError extends McpError {
  protected static override readonly bowline: string = "RecordingError";
  override readonly name: string = "RecordingError";
  constructor(
    message: string,
    readonly line: number,
  ) {
    super("invalid_recording", `Recording, line ${line}: ${message}`);
  }
}

/** Event with the number of its line. */
export type NumberedEvent = RecordingEvent & { readonly line: number };

/** Recording that was read. */
export interface RecordingFile {
  readonly header: RecordingHeader;
  /** Lines after the header. Those of unknown kinds are left out. */
  readonly events: readonly NumberedEvent[];
  /** False if the last line is missing or incomplete: the writer was stopped. */
  readonly complete: boolean;
}

/** Text or bytes of a recording, whole or in parts. */
export type RecordingSource = string | Uint8Array | AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;

const LF = 10;
const NOTHING = new Uint8Array(0);

/**
 * Reads a recording piece by piece. `push` throws a {@link RecordingError} for a line that is damaged, and so does `end`,
 * unless the last line is merely incomplete.
 */
export class RecordingReader {
  header: RecordingHeader | undefined;
  /** Number of lines that were read. */
  lines = 0;
  /** True once the last line was read. */
  done = false;
  readonly #onEvent: (event: NumberedEvent) => void;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #encoder = new TextEncoder();
  #parts: Uint8Array[] = [];
  #size = 0;

  constructor(onEvent: (event: NumberedEvent) => void) {
    this.#onEvent = onEvent;
  }

  push(chunk: string | Uint8Array): void {
    const bytes = typeof chunk === "string" ? this.#encoder.encode(chunk) : chunk;
    let start = 0;
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      this.#keep(bytes.subarray(start, end));
      this.#take(true);
      start = end + 1;
    }
    if (start < bytes.length) this.#keep(bytes.subarray(start));
  }

  /** Ends the recording. Throws if it has no header. */
  end(): void {
    if (this.#size > 0) this.#take(false);
    if (this.header === undefined) throw new RecordingError("the recording is empty", 1);
  }

  #keep(part: Uint8Array): void {
    this.#size += part.length;
    if (this.#size > RECORDING_LIMITS.maxLineBytes)
      throw new RecordingError(`is longer than ${RECORDING_LIMITS.maxLineBytes} bytes`, this.lines + 1);
    // The source may reuse its buffer.
    if (part.length > 0) this.#parts.push(part.slice());
  }

  /** Reads a line. One without its end, whose text is no JSON, was cut while it was written. */
  #take(isWhole: boolean): void {
    const line = ++this.lines;
    const [part = NOTHING, ...rest] = this.#parts;
    const bytes = rest.length === 0 ? part : joinBytes(this.#parts);
    this.#parts = [];
    this.#size = 0;
    const refuse = (problem: string) => new RecordingError(problem, line);
    let value: unknown;
    try {
      value = JSON.parse(this.#decoder.decode(bytes));
    } catch (error) {
      if (!isWhole && line > 1) return;
      throw refuse(error instanceof SyntaxError ? "is not JSON" : "is not UTF-8");
    }
    const problem = line === 1 ? headerProblem(value) : eventProblem(value);
    if (problem !== undefined) throw refuse(problem);
    if (line === 1) this.header = value as RecordingHeader;
    else if (this.done) throw refuse("follows the last line of the recording (done)");
    else if (isKnownKind((value as RecordingEvent).k)) {
      this.done = (value as RecordingEvent).k === "done";
      this.#onEvent(Object.assign(value as RecordingEvent, { line }));
    }
  }
}

/** Reads a recording that is in memory. Throws a {@link RecordingError} if it is damaged. */
export function parseRecording(recording: string | Uint8Array): RecordingFile {
  const events: NumberedEvent[] = [];
  const reader = new RecordingReader((event) => events.push(event));
  reader.push(recording);
  return finish(reader, events);
}

/** Reads a recording from a stream or any other source. Rejects with a {@link RecordingError} if it is damaged. */
export async function readRecording(source: RecordingSource): Promise<RecordingFile> {
  if (typeof source === "string" || source instanceof Uint8Array) return parseRecording(source);
  const events: NumberedEvent[] = [];
  const reader = new RecordingReader((event) => events.push(event));
  for await (const chunk of source) reader.push(chunk);
  return finish(reader, events);
}

function finish(reader: RecordingReader, events: readonly NumberedEvent[]): RecordingFile {
  reader.end();
  return { header: reader.header as RecordingHeader, events, complete: reader.done };
}
