import type { Link } from "./link.js";

/** Wait of an iteration for a change of what it reads. It ends early when the signal fires or the link changes. */
export class Waiter {
  readonly #link: Link;
  readonly #signal: AbortSignal;
  readonly #onAbort = () => this.wake();
  #resolve: (() => void) | undefined;

  constructor(link: Link, signal: AbortSignal) {
    this.#link = link;
    this.#signal = signal;
    link.waiters.add(this);
    signal.addEventListener("abort", this.#onAbort);
  }

  /** True while the iteration goes on. */
  get goesOn(): boolean {
    return !this.#signal.aborted && !this.#link.isClosed;
  }

  /** Resolves at the next change. The caller has found nothing to do in the same turn of the event loop. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    this.#resolve?.();
    this.#resolve = undefined;
  }

  leave(): void {
    this.#link.waiters.delete(this);
    this.#signal.removeEventListener("abort", this.#onAbort);
  }
}
