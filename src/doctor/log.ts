import { type Clock, systemClock } from "../call/clock.js";
import { isObject } from "../protocol/json.js";
import { type FrameEvent, messageOf, type RecordingEvent } from "../recording/events.js";
import { Recording } from "../recording/recording.js";
import type { Redactor } from "../recording/redactor.js";
import { lineOf } from "../recording/writer.js";

/** Event of the traffic with its line in the recording. */
export interface LoggedEvent {
  readonly line: number;
  readonly event: RecordingEvent;
}

/** Header of a recording. */
const HEADER_LINES = 1;
/** Longest part of a line that a finding quotes. */
const MAX_QUOTED = 2_000;
/** Events that are kept. A server that sends more is examined by these. */
const MAX_EVENTS = 50_000;

/**
 * The traffic of a doctor with its server. Facts come from it as it is. Evidence comes from the recording, in which secrets
 * are replaced. Both have the same lines.
 */
export class Log {
  /** Recorder of the traffic as it is. Its taps are those of the clients. */
  readonly raw: Recording;
  readonly events: LoggedEvent[] = [];
  readonly #told: RecordingEvent[] = [];
  readonly #redactor: Redactor;

  /** `told` is the recording with secrets replaced, which may be written to a file. The redactor is for other texts. */
  constructor(told: Recording, redactor: Redactor, clock: Clock = systemClock) {
    this.#redactor = redactor;
    this.raw = new Recording({ redaction: false, clock, limits: { maxKeptLines: 1 } });
    told.subscribe((event) => this.#told.push(event));
    this.raw.subscribe((event) => {
      if (this.events.length >= MAX_EVENTS) return;
      told.add(event);
      this.events.push({ line: this.#told.length + HEADER_LINES, event });
    });
  }

  /** Number of events so far, for `since`. */
  get mark(): number {
    return this.events.length;
  }

  /** Returns the events of a connection, from a mark on. */
  since(mark: number, c: number): readonly LoggedEvent[] {
    return this.events.slice(mark).filter(({ event }) => "c" in event && event.c === c);
  }

  /** Returns a text with secrets replaced. */
  redact(text: string): string {
    return this.#redactor.text(text);
  }

  /** Returns a line of the recording as it is written, shortened. */
  quote(line: number): string | undefined {
    const event = this.#told[line - HEADER_LINES - 1];
    return event === undefined ? undefined : lineOf(event).slice(0, MAX_QUOTED);
  }
}

type Frame = FrameEvent & { readonly k: "frame" };

/** A message of the server, or to it. */
export type Message = Readonly<Record<string, unknown>>;

/** Returns the message of an event, if it is a frame in that direction with a single one. */
export function messageIn({ event }: LoggedEvent, direction: ">" | "<"): Message | undefined {
  if (event.k !== "frame" || event.d !== direction) return undefined;
  const message = messageOf(event as Frame);
  return isObject(message) ? message : undefined;
}

/** Returns true for an answer to a request. */
export function isAnswer(message: Message): boolean {
  return !("method" in message) && ("result" in message || "error" in message);
}
