/** Something a client may want to hear about. */
export type Change =
  | { readonly kind: "tools" }
  | { readonly kind: "prompts" }
  | { readonly kind: "resources" }
  | { readonly kind: "resource"; readonly uri: string };

export type ChangeListener = (change: Change) => void;

/** Carries changes from whoever makes them to whoever listens; an adapter may span processes. */
export interface ChangeBus {
  publish(change: Change): void;
  /** Returns the way to stop listening. */
  subscribe(listener: ChangeListener): () => void;
}

/** A bus within this process. Listeners are called in turn, in the publisher's own turn. */
export class MemoryChangeBus implements ChangeBus {
  readonly #listeners = new Set<ChangeListener>();

  get listeners(): number {
    return this.#listeners.size;
  }

  publish(change: Change): void {
    for (const listener of [...this.#listeners]) listener(change);
  }

  subscribe(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
