import { AbortSwitch } from "../../call/abort-switch.js";
import type { Clock } from "../../call/clock.js";
import { DefinitionError, ToolError, toError } from "../../protocol/errors.js";
import type { CallToolResult, ContentBlock } from "../../protocol/types/index.js";
import type { Context } from "../context.js";
import { failed, toContent } from "./tool-result.js";

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

/** Who hears of failures, and whether the model does. */
interface FailureOptions {
  readonly report: (error: unknown, tool: string) => void;
  readonly maskErrors: boolean;
}

/** A library's schema may throw instead of saying what is wrong: that is nothing to tell a caller. */
export function schemaThrew(name: string, what: string, cause: unknown, { report }: FailureOptions): never {
  report(new DefinitionError(`tool "${name}" ${what}: its schema threw`, { cause }), name);
  throw new ToolError(`Tool ${name} could not check its ${what}`);
}

/** A tool did not keep to its output schema. */
export function nonconforming(name: string, problem: string, { report, maskErrors }: FailureOptions): CallToolResult {
  const message = `Tool ${name} has an output schema and returned ${problem}`;
  report(new DefinitionError(message), name);
  return failed(maskErrors ? "The tool failed" : message);
}

/** What cannot be written is a defect of the server that a model cannot mend. */
export function unwritable(name: string, error: unknown): CallToolResult {
  if (error instanceof ToolError) return failed(error.message);
  throw new TypeError(`tool "${name}" returned what JSON cannot hold: ${toError(error).message}`, { cause: error });
}

/**
 * Runs a generator to its end: what it yields is shown as progress, what it returns is the result. When it returns
 * nothing, all that it yielded is.
 */
export async function drain(generator: AsyncGenerator<unknown, unknown, void>, ctx: Context): Promise<unknown> {
  const shown: ContentBlock[] = [];
  for (;;) {
    const { done, value } = await generator.next();
    if (done === true) return value === undefined && shown.length > 0 ? shown : value;
    const { content } = toContent(value);
    shown.push(...content);
    await ctx.partial(content, textOf(content));
    if (ctx.signal.aborted) {
      await generator.return(undefined);
      throw ctx.signal.reason;
    }
  }
}

function textOf(content: readonly ContentBlock[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === 0 ? undefined : texts.join("\n");
}
