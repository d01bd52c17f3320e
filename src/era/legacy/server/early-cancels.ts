// The modern era has no such file: over HTTP a modern request is cancelled by closing its own exchange.

import type { Clock } from "../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../call/deadline-queue.js";
import { findByEither } from "../../../protocol/jsonrpc/inflight-table.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";

/** Maximum number of early cancellations of a session. The oldest are dropped first. */
const MAX_KEPT = 256;
/** Maximum length of an id that is remembered. */
export const MAX_KEPT_ID_CHARS = 128;
/** Milliseconds for which a cancellation waits for its request. */
const KEPT_MS = 10_000;

type Kept = Map<RequestId, Deadline<EarlyCancel>>;

/** Cancellation that waits for its request, and the map that contains it. */
export interface EarlyCancel {
  readonly id: RequestId;
  readonly kept: Kept;
}

/** Creates the queue that drops early cancellations of all sessions of an endpoint, on one timer. */
export function createCancelQueue(clock: Clock): DeadlineQueue<EarlyCancel> {
  return new DeadlineQueue(clock, KEPT_MS, ({ id, kept }) => kept.delete(id));
}

/**
 * Cancellations without a running call. Each POST travels separately, so a cancellation may arrive before its request.
 * It is kept for a moment, and the request does not run when it arrives. An id is found as number or as text, the exact
 * type first.
 */
export class EarlyCancels {
  readonly #queue: DeadlineQueue<EarlyCancel>;
  /** Cancellations that wait. */
  readonly kept: Kept = new Map();

  constructor(queue: DeadlineQueue<EarlyCancel>) {
    this.#queue = queue;
  }

  keep(id: RequestId): void {
    if (typeof id === "string" && id.length > MAX_KEPT_ID_CHARS) return;
    this.#drop(this.kept.get(id));
    this.kept.set(id, this.#queue.add({ id, kept: this.kept }));
    if (this.kept.size <= MAX_KEPT) return;
    const [oldest] = this.kept.values();
    this.#drop(oldest);
  }

  /** Returns true if the request, which arrives now, has been cancelled. Removes the cancellation. */
  take(id: RequestId): boolean {
    const found = findByEither(this.kept, id);
    this.#drop(found);
    return found !== undefined;
  }

  /** Drops all cancellations, since the session has ended. */
  clear(): void {
    for (const entry of this.kept.values()) entry.leave();
    this.kept.clear();
  }

  #drop(entry: Deadline<EarlyCancel> | undefined): void {
    if (entry?.item === undefined) return;
    entry.leave();
    this.kept.delete(entry.item.id);
  }
}
