import type { Change, ChangeBus, ChangeListener } from "./change-bus.js";

/**
 * A bus within this process. Listeners are called in turn, in the publisher's own turn; one that fails concerns neither
 * the others nor the publisher.
 */
export class MemoryChangeBus implements ChangeBus {
  readonly #listeners = new Set<ChangeListener>();
  readonly #onFailure: (error: unknown) => void;

  constructor(onFailure: (error: unknown) => void = () => {}) {
    this.#onFailure = onFailure;
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  publish(change: Change): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (error) {
        this.#onFailure(error);
      }
    }
  }

  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
