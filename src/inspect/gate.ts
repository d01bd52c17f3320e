import type { FrameDirection } from "../recording/events.js";

/** Gates of both directions of HTTP. What arrives at a closed one waits. */
export class Gate {
  readonly #waiting = new Map<FrameDirection, Set<() => void>>();

  /** Closes a direction. Returns false if it was closed before. */
  close(d: FrameDirection): boolean {
    if (this.#waiting.has(d)) return false;
    this.#waiting.set(d, new Set());
    return true;
  }

  open(d: FrameDirection): void {
    const waiting = this.#waiting.get(d) ?? [];
    this.#waiting.delete(d);
    for (const release of waiting) release();
  }

  /** Resolves while the direction is open. Rejects when the signal aborts. */
  async pass(d: FrameDirection, signal: AbortSignal | null | undefined): Promise<void> {
    for (let waiting = this.#waiting.get(d); waiting !== undefined; waiting = this.#waiting.get(d)) {
      const at = waiting;
      signal?.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const release = () => {
          signal?.removeEventListener("abort", fail);
          at.delete(release);
          resolve();
        };
        const fail = () => {
          at.delete(release);
          reject(signal?.reason);
        };
        at.add(release);
        signal?.addEventListener("abort", fail, { once: true });
      });
    }
  }
}
