/**
 * Steps of a call. A step that succeeds runs once, even if it is requested several times. A failed step may run again.
 */
export class Steps {
  readonly #done: Record<string, unknown>;
  readonly #running = new Map<string, Promise<unknown>>();

  /** `done` contains the results of earlier rounds. */
  constructor(done: Readonly<Record<string, unknown>> = {}) {
    this.#done = { ...done };
  }

  /** Results of the completed steps. */
  get done(): Readonly<Record<string, unknown>> {
    return this.#done;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#done, name) || this.#running.has(name);
  }

  async run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (Object.hasOwn(this.#done, name)) return this.#done[name] as T;
    const underWay = this.#running.get(name);
    if (underWay !== undefined) return underWay as Promise<T>;
    const running = (async () => work())();
    this.#running.set(name, running);
    try {
      const value = await running;
      this.#done[name] = value === undefined ? null : value;
      return value;
    } finally {
      this.#running.delete(name);
    }
  }

  /** Resolves when no step is running. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
