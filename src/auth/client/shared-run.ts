import { TimeoutError } from "../../protocol/errors.js";

/** What timers can count to. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Work that several callers wait for. It ends early when its time is up, or when the last of them has given up; a caller
 * that gives up gets the reason of its own signal.
 */
export class SharedRun<T> {
  readonly #end = new AbortController();
  readonly #waiting = new Set<(reason: unknown) => void>();
  readonly #done: Promise<T>;

  constructor(work: (signal: AbortSignal) => Promise<T>, deadlineMs: number, what: string) {
    const late = new TimeoutError("deadline", deadlineMs, `${what} took longer than ${deadlineMs} ms`);
    const timer = setTimeout(() => this.end(late), Math.min(deadlineMs, MAX_TIMER_MS));
    this.#done = work(this.#end.signal).finally(() => clearTimeout(timer));
    this.#done.catch(() => {});
  }

  join(signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(reject);
        signal?.removeEventListener("abort", giveUp);
      };
      const giveUp = () => {
        leave();
        reject(signal?.reason);
        if (this.#waiting.size === 0) this.end(signal?.reason);
      };
      this.#waiting.add(reject);
      if (signal?.aborted === true) giveUp();
      else signal?.addEventListener("abort", giveUp, { once: true });
      this.#done.finally(leave).then(resolve, reject);
    });
  }

  /** Ends the work, and also the wait for work that does not listen to its signal. */
  end(reason: unknown): void {
    this.#end.abort(reason);
    for (const reject of this.#waiting) reject(reason);
  }
}
