import { Steps } from "../../journal/steps.js";

/**
 * Steps of a round that may have begun in another process. When the round ends here, its results are complete, so that it
 * can continue elsewhere.
 */
export class SharedSteps extends Steps {
  #steps: Steps;
  #hasEnded = false;

  constructor(done: Readonly<Record<string, unknown>>) {
    super();
    this.#steps = new Steps(done);
  }

  override get done(): Readonly<Record<string, unknown>> {
    return this.#steps.done;
  }

  /** Adds the results of another process. No step has run here yet. */
  adopt(done: Readonly<Record<string, unknown>>): void {
    this.#steps = new Steps({ ...this.done, ...done });
  }

  override has(name: string): boolean {
    return this.#steps.has(name);
  }

  override async run<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.#hasEnded && !this.has(name)) throw new Error(`step "${name}" is not run: its round has ended`);
    return this.#steps.run(name, work);
  }

  override settled(): Promise<void> {
    return this.#steps.settled();
  }

  /** Refuses new steps. Resolves with the results when no step is running. */
  async end(): Promise<Readonly<Record<string, unknown>>> {
    this.#hasEnded = true;
    await this.settled();
    return this.done;
  }
}
