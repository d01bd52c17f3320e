import type { Engine } from "./engine.js";

/** Changes for which this process waits, counted, so that the file is looked at only while there are some. */
export class Watch {
  readonly #engine: Engine;
  readonly #topics = new Map<string, number>();
  readonly #counts = { logs: 0, jobs: 0 };

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Adds a topic of messages. Returns a function that removes it. */
  topic(name: string): () => void {
    return this.#enter((by) => {
      const count = (this.#topics.get(name) ?? 0) + by;
      if (count > 0) this.#topics.set(name, count);
      else this.#topics.delete(name);
      return count;
    });
  }

  /** Yields the items of an iteration that waits for changes. */
  async *during<T>(kind: "logs" | "jobs", items: AsyncIterable<T>): AsyncIterable<T> {
    const leave = this.#enter((by) => {
      this.#counts[kind] += by;
      return this.#counts[kind];
    });
    try {
      yield* items;
    } finally {
      leave();
    }
  }

  /** Counts one more. The thread is told when something is counted for the first time, or not any more. */
  #enter(add: (by: 1 | -1) => number): () => void {
    if (add(1) === 1) this.#tell();
    let isIn = true;
    return () => {
      if (isIn && add(-1) === 0) this.#tell();
      isIn = false;
    };
  }

  #tell(): void {
    const { logs, jobs } = this.#counts;
    this.#engine.watch({ topics: [...this.#topics.keys()], logs: logs > 0, jobs: jobs > 0 });
  }
}
