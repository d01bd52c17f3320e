import { TimeoutError } from "../../schema/errors.js";

/**
 * Work that several callers wait for. It ends early when its time is up, or when the last of them has given up; a caller
 * that gives up gets the reason of its own signal.
 */
export class SharedRun<T> {
  readonly #abort = new AbortController();
  readonly #done: Promise<T>;
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>, deadlineMs: number, what: string) {
    const late = new TimeoutError("deadline", deadlineMs, `${what} took longer than ${deadlineMs} ms`);
    const timer = setTimeout(() => this.#abort.abort(late), deadlineMs);
    this.#done = work(this.#abort.signal).finally(() => clearTimeout(timer));
    this.#done.catch(() => {});
  }

  /** Resolves when the work is over, however it ended. */
  async over(): Promise<void> {
    await this.#done.catch(() => {});
  }

  join(signal: AbortSignal | undefined): Promise<T> {
    this.#waiting++;
    return new Promise<T>((resolve, reject) => {
      const giveUp = (reason: unknown) => {
        if (--this.#waiting === 0) this.#abort.abort(reason);
        reject(reason);
      };
      if (signal?.aborted === true) {
        giveUp(signal.reason);
        return;
      }
      const onAbort = () => giveUp(signal?.reason);
      // Also ends the wait for work that does not listen to its signal.
      const onEnd = () => reject(this.#abort.signal.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#abort.signal.addEventListener("abort", onEnd, { once: true });
      const leave = () => {
        signal?.removeEventListener("abort", onAbort);
        this.#abort.signal.removeEventListener("abort", onEnd);
      };
      this.#done.finally(leave).then(resolve, reject);
    });
  }
}
