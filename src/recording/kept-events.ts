import type { RecordingEvent } from "./events.js";
import type { RecordingLimits } from "./limits.js";
import { lineOf } from "./writer.js";

/** Events in memory. The oldest are dropped beyond the limits. */
export class KeptEvents {
  /** Number of events that were dropped. */
  dropped = 0;
  readonly #limits: RecordingLimits;
  #events: RecordingEvent[] = [];
  #sizes: number[] = [];
  /** Index of the oldest event. */
  #first = 0;
  #size = 0;

  constructor(limits: RecordingLimits) {
    this.#limits = limits;
  }

  get all(): readonly RecordingEvent[] {
    return this.#events.slice(this.#first);
  }

  add(event: RecordingEvent, size = sizeOf(event, 0)): void {
    this.#events.push(event);
    this.#sizes.push(size);
    this.#size += size;
    const { maxKeptLines, maxKeptBytes } = this.#limits;
    while (this.#events.length - this.#first > maxKeptLines || this.#size > maxKeptBytes) this.#drop();
  }

  /** Counts the lines and bytes of what is kept, with the header. */
  written(header: string): { readonly lines: number; readonly bytes: number } {
    const lines = [header, ...this.all.map((event) => lineOf(event))];
    const bytes = lines.reduce((sum, line) => sum + new TextEncoder().encode(line).length + 1, 0);
    return { lines: lines.length, bytes };
  }

  #drop(): void {
    this.dropped++;
    this.#size -= this.#sizes[this.#first] as number;
    this.#first++;
    if (this.#first * 2 < this.#events.length) return;
    this.#events = this.#events.slice(this.#first);
    this.#sizes = this.#sizes.slice(this.#first);
    this.#first = 0;
  }
}

/** Estimates the characters of a value, each other part counted like a short word. */
function sizeOf(value: unknown, depth: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || depth > 64) return 8;
  let size = 8;
  for (const name in value) size += name.length + sizeOf((value as Record<string, unknown>)[name], depth + 1);
  return size;
}
