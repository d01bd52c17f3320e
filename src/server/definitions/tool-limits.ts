import { AbortSwitch } from "../../call/abort-switch.js";
import type { Clock } from "../../call/clock.js";
import { ToolError } from "../../protocol/errors.js";
import type { Context } from "../context.js";

export interface ToolLimits {
  readonly timeoutMs?: number;
  readonly concurrency?: number;
}

/** Runs a handler as soon as, and for as long as, the limits of its tool allow. */
export type Limit = (ctx: Context, work: (ctx: Context) => unknown) => unknown;

/** What holds the calls of one tool to its limits. */
export function createLimit(tool: string, { timeoutMs, concurrency }: ToolLimits, clock: Clock): Limit {
  const turnstile = concurrency === undefined ? undefined : new Turnstile(concurrency);
  const inTime: Limit = (ctx, work) =>
    timeoutMs === undefined ? work(ctx) : withinTime(tool, timeoutMs, clock, ctx, work);
  return turnstile === undefined ? inTime : (ctx, work) => turnstile.pass(ctx.signal, () => inTime(ctx, work));
}

/** Lets so many in at a time; the others wait in line, and leave it when they are called off. */
class Turnstile {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  /** Runs work as soon as there is a place. Rejects with the signal's reason when it fires before. */
  async pass<T>(signal: AbortSignal, work: () => T | Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
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
        resolve();
      };
      const giveUp = () => {
        this.#line.splice(this.#line.indexOf(turn), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#line.push(turn);
    });
  }

  /** Whoever is next takes over the place. */
  #leave(): void {
    const next = this.#line.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}

/** Runs a handler with a context that ends after so long. The handler is not waited for any longer then. */
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
    () => end.abort(new ToolError(`Tool ${tool} took longer than ${timeoutMs} ms`)),
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
