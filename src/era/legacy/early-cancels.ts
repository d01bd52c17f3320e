import type { Clock } from "../../call/clock.js";
import type { RequestId } from "../../jsonrpc/message.js";

/** More than a client has on their way at once; the oldest go first. */
const MAX_KEPT = 256;
/** Longer than one connection keeps a message that another has overtaken. */
const KEPT_MS = 10_000;

/**
 * Cancellations that name no running call. Each POST travels on its own, so a cancellation may come before the request
 * that it is about: it is kept for a moment, and the request, when it comes, is not run. One for a call that is over
 * waits in vain, for an id is used once in a session.
 */
export class EarlyCancels {
  readonly #clock: Clock;
  /** When each came, oldest first. */
  readonly #cameAt = new Map<RequestId, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(id: RequestId): void {
    this.#cameAt.delete(id);
    this.#cameAt.set(id, this.#clock.now());
    if (this.#cameAt.size <= MAX_KEPT) return;
    const [oldest] = this.#cameAt.keys();
    this.#cameAt.delete(oldest as RequestId);
  }

  /** Whether the request was cancelled before it came. Tells once. */
  take(id: RequestId): boolean {
    const cameAt = this.#cameAt.get(id);
    if (cameAt === undefined) return false;
    this.#cameAt.delete(id);
    return this.#clock.now() - cameAt < KEPT_MS;
  }
}
