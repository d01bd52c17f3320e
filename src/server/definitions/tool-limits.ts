import { AbortSwitch } from "../../call/abort-switch.js";
import type { Clock } from "../../call/clock.js";
import { ToolError } from "../../protocol/errors.js";
import type { Admission } from "../admission.js";
import type { Context } from "../context.js";

/** Limits of a tool. */
export interface ToolLimits {
  readonly timeoutMs?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly maxWaiting?: number | undefined;
}

/** Runs a handler within the limits of its tool. */
export type Limit = (ctx: Context, work: (ctx: Context) => unknown) => unknown;

/** Creates the function that applies the limits of a tool. */
export function createLimit(tool: string, limits: ToolLimits, clock: Clock, admission: Admission): Limit {
  const { timeoutMs, concurrency, maxWaiting } = limits;
  const turnstile = concurrency === undefined ? undefined : new Turnstile(tool, concurrency, maxWaiting, admission);
  const inTime: Limit = (ctx, work) =>
    timeoutMs === undefined ? work(ctx) : withinTime(tool, timeoutMs, clock, ctx, work);
  return turnstile === undefined ? inTime : (ctx, work) => turnstile.pass(ctx.signal, () => inTime(ctx, work));
}

/**
 * Limits the calls that run at a time and the calls that wait. A waiting call leaves the queue when its signal aborts.
 */
class Turnstile {
  readonly #tool: string;
  readonly #maxWaiting: number;
  readonly #admission: Admission;
  readonly #line: (() => void)[] = [];
  #free: number;

  constructor(tool: string, places: number, maxWaiting = 2 * places, admission: Admission) {
    this.#tool = tool;
    this.#free = places;
    this.#maxWaiting = maxWaiting;
    this.#admission = admission;
  }

  /**
   * Runs work when a place is free. Throws `Busy` if too many calls wait, and the signal's reason if it has aborted.
   * Rejects with the reason if the signal aborts while the call waits.
   */
  pass<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return this.#run(work);
    }
    const max = this.#maxWaiting;
    if (this.#line.length >= max)
      throw this.#admission.refuse(503, "maxWaiting", `Tool ${this.#tool} is busy: ${max} calls already wait for it`);
    return this.#turn(signal).then(() => this.#run(work));
  }

  async #run<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        signal.removeEventListener("abort", giveUp);
        this.#admission.waiting--;
        resolve();
      };
      const giveUp = () => {
        this.#line.splice(this.#line.indexOf(turn), 1);
        this.#admission.waiting--;
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#admission.waiting++;
      this.#line.push(turn);
    });
  }

  /** Gives the place to the next waiting call, or frees it. */
  #leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

/** Runs a handler with a context whose signal aborts after `timeoutMs`. Does not wait for the handler after that. */
async function withinTime<T>(
  tool: string,
  timeoutMs: number,
  clock: Clock,
  ctx: Context,
  work: (ctx: Context) => T | Promise<T>,
): Promise<T> {
  const end = new AbortSwitch();
  const follow = () => end.abort(ctx.signal.reason);
  ctx.signal.addEventListener("abort", follow, { once: true });
  const timer = clock.schedule(
    () => end.abort(new ToolError(`Tool ${tool} took longer than ${timeoutMs} ms (timeoutMs)`)),
    timeoutMs,
  );
  try {
    const ended = new Promise<never>((_, reject) => end.onAbort(reject));
    return await Promise.race([ended, work(ctx.endingWith(end))]);
  } finally {
    clock.cancel(timer);
    ctx.signal.removeEventListener("abort", follow);
  }
}
