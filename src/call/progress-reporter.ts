import { McpError } from "../protocol/errors.js";
import type { Progress } from "../protocol/types/index.js";
import type { Clock } from "./clock.js";

/** Rate limit of progress notifications. */
export interface ProgressLimit {
  readonly clock: Clock;
  /** Minimum time between two notifications. Of the reports in between, only the latest is sent. */
  readonly intervalMs: number;
}

/** Progress with optional metadata. */
export interface ProgressReport extends Progress {
  readonly _meta?: { readonly [key: string]: unknown };
}

/** Sends the progress of a request at a limited rate. Reports an invalid value to `onMisuse` and does not send it. */
export class ProgressReporter {
  readonly #send: (progress: ProgressReport) => void | Promise<void>;
  readonly #onMisuse: (error: Error) => void;
  readonly #limit: ProgressLimit | undefined;
  #last = Number.NEGATIVE_INFINITY;
  #sentAt = Number.NEGATIVE_INFINITY;
  #waiting: ProgressReport | undefined;
  #timer: unknown;

  constructor(
    send: (progress: ProgressReport) => void | Promise<void>,
    onMisuse: (error: Error) => void,
    limit?: ProgressLimit,
  ) {
    this.#send = send;
    this.#onMisuse = onMisuse;
    this.#limit = limit;
  }

  /** Value for a report that has none: greater than all values before. */
  get next(): number {
    return Math.max(this.#last, 0) + 1;
  }

  report(value: ProgressReport): void | Promise<void> {
    const { progress, total } = value;
    const problem = this.#problem(progress, total);
    if (problem !== undefined) return this.#onMisuse(new McpError("invalid_progress", `Invalid progress: ${problem}`));
    this.#last = progress;
    return this.#limit === undefined ? this.#send(value) : this.#sendLimited(value, this.#limit);
  }

  /** Sends the report that is held back, if there is one. */
  flush(): void | Promise<void> {
    const { clock } = this.#limit ?? {};
    if (clock === undefined || this.#waiting === undefined) return;
    clock.cancel(this.#timer);
    const value = this.#waiting;
    this.#waiting = undefined;
    this.#sentAt = clock.now();
    return this.#send(value);
  }

  #problem(progress: number, total: number | undefined): string | undefined {
    if (!Number.isFinite(progress) || (total !== undefined && !Number.isFinite(total)))
      return `progress and total must be finite, got ${progress} and ${total}`;
    return progress > this.#last ? undefined : `progress must increase, but ${progress} follows ${this.#last}`;
  }

  /** Sends a report, or holds it back. A report with metadata is sent at once, after the report that is held back. */
  #sendLimited(value: ProgressReport, { clock, intervalMs }: ProgressLimit): void | Promise<void> {
    if (value._meta !== undefined) {
      void this.flush();
      return this.#send(value);
    }
    const isHeldBack = this.#waiting !== undefined;
    const leftMs = this.#sentAt + intervalMs - clock.now();
    if (!isHeldBack && leftMs <= 0) {
      this.#sentAt = clock.now();
      return this.#send(value);
    }
    this.#waiting = value;
    if (!isHeldBack) this.#timer = clock.schedule(() => void this.flush(), leftMs);
  }
}

/** Creates a report without undefined members. */
export function toReport(progress: number, total: number | undefined, message: string | undefined): ProgressReport {
  return {
    progress,
    ...(total === undefined ? undefined : { total }),
    ...(message === undefined ? undefined : { message }),
  };
}
