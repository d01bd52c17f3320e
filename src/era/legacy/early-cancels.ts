import type { Clock } from "../../call/clock.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { findByEither } from "../../jsonrpc/request-id.js";

/** More than a client has on their way at once; the oldest go first. */
const MAX_KEPT = 256;
/** More calls than end while a cancellation of one of them is on its way; the oldest go first. */
const MAX_OVER = 64;
/** Longer than one connection keeps a message that another has overtaken. */
const KEPT_MS = 10_000;

interface Noted {
  readonly id: RequestId;
  readonly at: number;
}

/**
 * Cancellations that name no running call. Each POST travels on its own, so a cancellation may come before the request
 * that it is about: it is kept for a moment, and the request, when it comes, is not run. One that comes after the end of
 * its call is not kept: the same id may be in use again. An id is found in either spelling, the exact one first.
 */
export class EarlyCancels {
  readonly #clock: Clock;
  readonly #kept = new Map<RequestId, Noted>();
  readonly #over = new Map<RequestId, Noted>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(id: RequestId): void {
    if (!this.#isRecent(findByEither(this.#over, id))) this.#note(this.#kept, id, MAX_KEPT);
  }

  /** Whether the request, which comes now, was cancelled before. Tells once. */
  take(id: RequestId): boolean {
    this.#over.delete(id);
    const found = findByEither(this.#kept, id);
    if (found !== undefined) this.#kept.delete(found.id);
    return this.#isRecent(found);
  }

  /** A call is over: a cancellation that comes from now on is about it. */
  onOver(id: RequestId): void {
    this.#note(this.#over, id, MAX_OVER);
  }

  #note(noted: Map<RequestId, Noted>, id: RequestId, max: number): void {
    noted.delete(id);
    noted.set(id, { id, at: this.#clock.now() });
    if (noted.size <= max) return;
    const [oldest] = noted.keys();
    noted.delete(oldest as RequestId);
  }

  #isRecent(noted: Noted | undefined): boolean {
    return noted !== undefined && this.#clock.now() - noted.at < KEPT_MS;
  }
}
