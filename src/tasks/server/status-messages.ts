import type { Clock } from "../../call/clock.js";
import { oneLine } from "../../protocol/text.js";
import type { HeldTask } from "./held-task.js";

/** Maximum number of characters of a status message. */
export const MAX_MESSAGE_CHARS = 1_000;

/** Stores the status messages of a running task, at most one per interval. Of the others, the latest is stored. */
export class StatusMessages {
  readonly #task: Pick<HeldTask, "change">;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #onError: (error: unknown) => void;
  #timer: unknown;
  #next: string | undefined;
  #isStopped = false;

  constructor(task: Pick<HeldTask, "change">, clock: Clock, intervalMs: number, onError: (error: unknown) => void) {
    this.#task = task;
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#onError = onError;
  }

  show(text: string): void {
    if (this.#isStopped) return;
    this.#next = oneLine(text, MAX_MESSAGE_CHARS);
    if (this.#timer === undefined) this.#store();
  }

  /** Stores no more messages. */
  stop(): void {
    this.#isStopped = true;
    this.#clock.cancel(this.#timer);
  }

  #store(): void {
    const message = this.#next;
    this.#next = undefined;
    this.#timer = undefined;
    if (message === undefined) return;
    this.#timer = this.#clock.schedule(() => this.#store(), this.#intervalMs);
    this.#task.change((record) => ({ ...record, message })).catch(this.#onError);
  }
}
