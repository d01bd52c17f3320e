/** Work that is done once per call, however often it is asked for, one after the other or at the same time. */
export class Steps {
  readonly #done: Record<string, unknown>;
  readonly #running = new Map<string, Promise<unknown>>();

  /** Begins with what earlier rounds have done. */
  constructor(done: Readonly<Record<string, unknown>> = {}) {
    this.#done = { ...done };
  }

  /** What every step came to. */
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

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }
}
