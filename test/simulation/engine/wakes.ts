import type { EngineState } from "./state.js";

/** Wakes an iteration that waits for a change of what it reads. */
export class Bell {
  #hasRung = false;
  #resolve: (() => void) | undefined;

  ring(): void {
    this.#hasRung = true;
    this.#resolve?.();
  }

  /** Resolves when the bell rings, or has rung since the last wait. */
  async wait(): Promise<void> {
    if (!this.#hasRung) {
      await new Promise<void>((resolve) => {
        this.#resolve = resolve;
      });
    }
    this.#hasRung = false;
    this.#resolve = undefined;
  }
}

/** Bells of the followers of logs. */
export class Bells {
  readonly #engine: EngineState;
  readonly #byLog = new Map<string, Map<Bell, (bell: Bell) => void>>();

  constructor(engine: EngineState) {
    this.#engine = engine;
  }

  get size(): number {
    return this.#byLog.size;
  }

  /** Adds a follower. `ring` rings its bell in its process. */
  add(log: string, bell: Bell, ring: (bell: Bell) => void): void {
    const bells = this.#byLog.get(log) ?? new Map<Bell, (bell: Bell) => void>();
    this.#byLog.set(log, bells.set(bell, ring));
  }

  remove(log: string, bell: Bell): void {
    const bells = this.#byLog.get(log);
    bells?.delete(bell);
    if (bells?.size === 0) this.#byLog.delete(log);
  }

  /** Tells the followers of a log that it has changed. */
  ring(log: string): void {
    const { scheduler, broken } = this.#engine;
    if (broken === "wake") return;
    for (const [bell, ring] of this.#byLog.get(log) ?? []) scheduler.schedule(() => ring(bell), this.#engine.delay());
  }
}
