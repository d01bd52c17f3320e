import type { Clock } from "../../../call/clock.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";
import { findByEither, idKey } from "../../../protocol/jsonrpc/request-id.js";

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
 * its call is not kept: the same id may be in use again. An id is found in either spelling, the exact one first. Every call
 * passes here and hardly any is cancelled: that a call is over is noted in a ring, and looked for only by a cancellation.
 */
export class EarlyCancels {
  readonly #clock: Clock;
  readonly #kept = new Map<RequestId, Noted>();
  readonly #over: RequestId[] = [];
  readonly #overAt: number[] = [];
  #next = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(id: RequestId): void {
    if (this.#isJustOver(idKey(id))) return;
    this.#kept.delete(id);
    this.#kept.set(id, { id, at: this.#clock.now() });
    if (this.#kept.size <= MAX_KEPT) return;
    const [oldest] = this.#kept.keys();
    this.#kept.delete(oldest as RequestId);
  }

  /** Whether the request, which comes now, was cancelled before. Tells once. */
  take(id: RequestId): boolean {
    const found = this.#kept.size === 0 ? undefined : findByEither(this.#kept, id);
    if (found === undefined) return false;
    this.#kept.delete(found.id);
    return this.#isRecent(found.at);
  }

  /** A call is over: a cancellation that comes from now on is about it. */
  onOver(id: RequestId): void {
    this.#over[this.#next] = id;
    this.#overAt[this.#next] = this.#clock.now();
    this.#next = (this.#next + 1) % MAX_OVER;
  }

  #isJustOver(key: RequestId): boolean {
    return this.#over.some((id, index) => idKey(id) === key && this.#isRecent(this.#overAt[index] as number));
  }

  #isRecent(at: number): boolean {
    return this.#clock.now() - at < KEPT_MS;
  }
}
