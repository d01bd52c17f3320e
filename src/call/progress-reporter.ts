import { McpError } from "../schema/errors.js";
import type { Progress } from "../schema/types.js";
import type { Clock } from "./clock.js";

export interface ProgressLimit {
  readonly clock: Clock;
  /** The shortest time between two reports on the wire; what comes between is left out but for the latest. */
  readonly intervalMs: number;
}

/** What one request reports of itself: values that grow, and no more of them than the limit allows. */
export class ProgressReporter {
  readonly #send: (progress: Progress) => void | Promise<void>;
  readonly #onMisuse: (error: Error) => void;
  readonly #limit: ProgressLimit | undefined;
  #last = Number.NEGATIVE_INFINITY;
  #sentAt = Number.NEGATIVE_INFINITY;
  #waiting: Progress | undefined;
  #timer: unknown;

  constructor(
    send: (progress: Progress) => void | Promise<void>,
    onMisuse: (error: Error) => void,
    limit?: ProgressLimit,
  ) {
    this.#send = send;
    this.#onMisuse = onMisuse;
    this.#limit = limit;
  }

  report(progress: number, total: number | undefined, message: string | undefined): void | Promise<void> {
    const problem = this.#problem(progress, total);
    if (problem !== undefined) return this.#onMisuse(new McpError("invalid_progress", `Invalid progress: ${problem}`));
    this.#last = progress;
    const value: Progress = {
      progress,
      ...(total === undefined ? undefined : { total }),
      ...(message === undefined ? undefined : { message }),
    };
    return this.#limit === undefined ? this.#send(value) : this.#sendLimited(value, this.#limit);
  }

  /** Sends what is held back. */
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
    if (!Number.isFinite(progress) || (total !== undefined && !Number.isFinite(total))) return "it must be finite";
    return progress > this.#last ? undefined : `it must grow, but ${progress} follows ${this.#last}`;
  }

  #sendLimited(value: Progress, { clock, intervalMs }: ProgressLimit): void | Promise<void> {
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
