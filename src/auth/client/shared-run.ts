import { AuthError } from "../../protocol/auth-error.js";
import { TimeoutError } from "../../protocol/errors.js";
import { orAborted } from "../abortable.js";
import type { AuthRun } from "../http.js";
import { includesScopes, joinScopes } from "../scopes.js";

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

export interface RunLimits {
  /** What is run, in words for a timeout. */
  readonly what: string;
  readonly deadlineMs: number;
  /** The time, in milliseconds since 1970. */
  readonly now: () => number;
}

/** The runs of the authorization at one server: one at a time, with a deadline each. */
export class AuthRuns<T> {
  readonly #limits: RunLimits;
  #running: { readonly scope: string | undefined; readonly run: SharedRun<T> } | undefined;
  /** How many runs have ended, and how the last one that failed did. */
  #ended = 0;
  #failure: { readonly after: number; readonly error: AuthError } | undefined;

  constructor(limits: RunLimits) {
    this.#limits = limits;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** A point in time: a run that ends later answers for all requests that were sent before. */
  get mark(): number {
    return this.#ended;
  }

  /** Throws the failure of a run that has ended since `mark`. */
  throwFailureSince(mark: number): void {
    if (this.#failure !== undefined && this.#failure.after > mark) throw this.#failure.error;
  }

  /**
   * Joins the running run if that brings the scope; otherwise waits for its end and starts another. A run brings the scope
   * that it is started for and the one that is held then.
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

  /** Starts a run apart from the shared one. */
  start<R>(work: (run: AuthRun) => Promise<R>): SharedRun<R> {
    const { what, deadlineMs, now } = this.#limits;
    return new SharedRun((signal) => work({ signal, tried: [], now }), deadlineMs, what);
  }

  /** Ends the shared run, if one is under way. */
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
