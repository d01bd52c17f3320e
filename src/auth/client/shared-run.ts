import { AuthError } from "../../protocol/auth-error.js";
import { TimeoutError } from "../../protocol/errors.js";
import { MAX_TIMER_MS, orAborted } from "../abortable.js";
import type { AuthRun } from "../http.js";
import { includesScopes, joinScopes } from "../scopes.js";

/**
 * Work that several callers wait for. It is aborted at its deadline, or when the last caller has given up. A caller
 * that gives up is rejected with the reason of its own signal.
 */
export class SharedRun<T> {
  readonly #end = new AbortController();
  readonly #waiting = new Set<(reason: unknown) => void>();
  readonly #done: Promise<T>;

  constructor(work: (signal: AbortSignal) => Promise<T>, deadlineMs: number, what: string) {
    const late = new TimeoutError(
      "deadline",
      deadlineMs,
      `${what} took longer than ${deadlineMs} ms (option deadlineMs)`,
    );
    const timer = setTimeout(() => this.end(late), Math.min(deadlineMs, MAX_TIMER_MS));
    this.#done = work(this.#end.signal).finally(() => clearTimeout(timer));
    this.#done.catch(() => {});
  }

  /** Waits for the result. An abort of `signal` ends the wait, and the work too if no other caller waits. */
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

  /** Aborts the work and rejects all callers, even if the work ignores its signal. */
  end(reason: unknown): void {
    this.#end.abort(reason);
    for (const reject of this.#waiting) reject(reason);
  }
}

export interface RunLimits {
  /** Name of the work in the message of a timeout. */
  readonly what: string;
  readonly deadlineMs: number;
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number;
}

/** Authorization runs for one MCP server: one shared run at a time, each with a deadline. */
export class AuthRuns<T> {
  readonly #limits: RunLimits;
  #running: { readonly scope: string | undefined; readonly run: SharedRun<T> } | undefined;
  /** Number of shared runs that have ended. */
  #ended = 0;
  /** Error of the last failed run, and the value of `#ended` after it. */
  #failure: { readonly after: number; readonly error: AuthError } | undefined;

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Number of shared runs that have ended. If one ends after a request was sent, its failure holds for that request.
   */
  get mark(): number {
    return this.#ended;
  }

  /** Throws the failure of the last failed run if it ended after `mark`. */
  throwFailureSince(mark: number): void {
    if (this.#failure !== undefined && this.#failure.after > mark) throw this.#failure.error;
  }

  /**
   * Joins the current run if it obtains the scope. Otherwise waits for its end and starts another. A run obtains the
   * scope that it is started for and the scope held at that time.
   */
  async share(
    scope: string | undefined,
    heldScope: () => string | undefined,
    work: (run: AuthRun) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    while (this.#running !== undefined && !includesScopes(this.#running.scope, scope)) {
      await this.#running.run.join(signal).catch(() => {});
      signal?.throwIfAborted();
    }
    this.#running ??= { scope: joinScopes(heldScope(), scope), run: this.start((run) => this.#conclude(work, run)) };
    return await this.#running.run.join(signal);
  }

  /** Starts a run with the deadline. Does not make it the shared run. */
  start<R>(work: (run: AuthRun) => Promise<R>): SharedRun<R> {
    const { what, deadlineMs, now } = this.#limits;
    return new SharedRun((signal) => work({ signal, tried: [], now }), deadlineMs, what);
  }

  /** Ends the shared run, if there is one. */
  end(reason: unknown): void {
    this.#running?.run.end(reason);
  }

  async #conclude(work: (run: AuthRun) => Promise<T>, run: AuthRun): Promise<T> {
    try {
      return await orAborted(work(run), run.signal);
    } catch (error) {
      if (error instanceof AuthError) this.#failure = { after: this.#ended + 1, error };
      throw error;
    } finally {
      this.#ended++;
      this.#running = undefined;
    }
  }
}
