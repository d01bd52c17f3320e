import type { Clock } from "../../../../call/clock.js";
import { untilReached } from "../../../../cluster/until-reached.js";
import { isStateAway } from "../../../../protocol/errors.js";

/** Maximum number of operations that are repeated in the background. Beyond it, one that fails is not repeated. */
const MAX_BACKGROUND = 10_000;

export interface BackgroundOptions {
  /** Name of the operation. While one with this name is repeated, another one is not. */
  readonly name?: string;
  /** Selects the failures after which the operation is repeated: by default those of an engine that is away or full. */
  readonly mayPass?: (error: unknown) => boolean;
}

/** Operations that are repeated while the engine cannot be reached, each for ten minutes at most. */
export class Retries {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #closing = new AbortController();
  /** Operations in the background that have failed once, by their names. */
  readonly #repeated = new Set<unknown>();

  constructor(clock: Clock, most = MAX_BACKGROUND) {
    this.#clock = clock;
    this.#most = most;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Repeats an operation for which a caller waits, who bounds the number of them. */
  untilReached<T>(work: () => Promise<T>, mayPass = isStateAway): Promise<T> {
    return untilReached({ clock: this.#clock, signal: () => this.#closing.signal, mayPass }, work);
  }

  /** Repeats an operation for which nobody waits. Rejects with its failure if too many are repeated. */
  async inBackground<T>(work: () => Promise<T>, options: BackgroundOptions = {}): Promise<T> {
    const { name = Symbol(), mayPass = isStateAway } = options;
    let isRepeated = false;
    const mayRepeat = (error: unknown) => {
      if (!mayPass(error)) return false;
      if (isRepeated) return true;
      if (this.#repeated.has(name) || this.#repeated.size >= this.#most) return false;
      this.#repeated.add(name);
      isRepeated = true;
      return true;
    };
    try {
      return await this.untilReached(work, mayRepeat);
    } finally {
      if (isRepeated) this.#repeated.delete(name);
    }
  }

  /** Repeats nothing any more, since this process shuts down. What waits is tried once more. */
  close(): void {
    this.#closing.abort();
  }
}
