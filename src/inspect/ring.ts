import type { GapEvent } from "../recording/events.js";
import type { InspectLimits } from "./limits.js";

/** Line of a recording with its number. The header is line 1. */
export interface NumberedLine {
  readonly number: number;
  readonly text: string;
}

interface Kept {
  readonly t: number;
  readonly text: string;
}

/** The latest lines of a recording. Older ones are dropped, and leave a visible gap. */
export class LineRing {
  readonly #header: string;
  readonly #limits: Pick<InspectLimits, "maxKeptLines" | "maxKeptBytes">;
  #lines: Kept[] = [];
  /** Index of the oldest line. */
  #first = 0;
  #size = 0;
  #last = 1;

  constructor(header: string, limits: Pick<InspectLimits, "maxKeptLines" | "maxKeptBytes">) {
    this.#header = header;
    this.#limits = limits;
  }

  /** Number of the last line. */
  get last(): number {
    return this.#last;
  }

  add(t: number, text: string): void {
    this.#lines.push({ t, text });
    this.#last++;
    this.#size += text.length;
    const { maxKeptLines, maxKeptBytes } = this.#limits;
    while (this.#count > 1 && (this.#count > maxKeptLines || this.#size > maxKeptBytes)) this.#drop();
  }

  /**
   * Returns the line with a number, or undefined if it is not written yet. In place of lines that were dropped it returns
   * one of kind `gap`, with the number of the last of them.
   */
  at(number: number): NumberedLine | undefined {
    if (number <= 1) return { number: 1, text: this.#header };
    const oldest = this.#last - this.#count + 1;
    if (number < oldest) return { number: oldest - 1, text: this.#gap(oldest - number) };
    const kept = this.#lines[this.#first + number - oldest];
    return kept && { number, text: kept.text };
  }

  /** Returns all that is kept, as the text of a recording. */
  text(): string {
    const lines: string[] = [];
    for (let line = this.at(1); line !== undefined; line = this.at(line.number + 1)) lines.push(line.text);
    return `${lines.join("\n")}\n`;
  }

  get #count(): number {
    return this.#lines.length - this.#first;
  }

  #gap(lines: number): string {
    const gap: GapEvent = {
      t: this.#lines[this.#first]?.t ?? 0,
      k: "gap",
      lines,
      reason: "older lines are not kept in memory; --record keeps all in a file",
    };
    return JSON.stringify(gap);
  }

  #drop(): void {
    this.#size -= (this.#lines[this.#first] as Kept).text.length;
    this.#first++;
    if (this.#first * 2 < this.#lines.length) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}
