// The modern era has no such file: over HTTP a modern request is cancelled by closing its own exchange.

import type { Clock } from "../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../call/deadline-queue.js";
import { findByEither, idKey } from "../../../protocol/jsonrpc/inflight-table.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";

/** Maximum number of early cancellations of a session. The oldest are dropped first. */
const MAX_KEPT = 256;
/** Maximum number of ended calls that are remembered. The oldest are dropped first. */
const MAX_OVER = 64;
/** Maximum length of an id that is remembered. */
const MAX_ID_CHARS = 128;
/** Milliseconds for which a cancellation waits for its request, and for which the end of a call is remembered. */
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
 * It is kept for a moment, and the request does not run when it arrives. A cancellation that arrives after the end of
 * its call is not kept, since the id may be used again. An id is found as number or as text, the exact type first.
 * Every call passes here but few are cancelled, so ended calls go to a ring that only a cancellation searches.
 */
export class EarlyCancels {
  readonly #clock: Clock;
  readonly #queue: DeadlineQueue<EarlyCancel>;
  readonly #kept: Kept = new Map();
  readonly #over: RequestId[] = [];
  readonly #overAt: number[] = [];
  #next = 0;

  constructor(clock: Clock, queue: DeadlineQueue<EarlyCancel>) {
    this.#clock = clock;
    this.#queue = queue;
  }

  keep(id: RequestId): void {
    if (!isKept(id) || this.#isJustOver(idKey(id))) return;
    this.#drop(this.#kept.get(id));
    this.#kept.set(id, this.#queue.add({ id, kept: this.#kept }));
    if (this.#kept.size <= MAX_KEPT) return;
    const [oldest] = this.#kept.values();
    this.#drop(oldest);
  }

  /** Returns true if the request, which arrives now, has been cancelled. Removes the cancellation. */
  take(id: RequestId): boolean {
    const found = this.#kept.size === 0 ? undefined : findByEither(this.#kept, id);
    this.#drop(found);
    return found !== undefined;
  }

  /** Records the end of a call. A later cancellation with this id belongs to it. */
  onOver(id: RequestId): void {
    if (!isKept(id)) return;
    this.#over[this.#next] = id;
    this.#overAt[this.#next] = this.#clock.now();
    this.#next = (this.#next + 1) % MAX_OVER;
  }

  /** Drops all cancellations, since the session has ended. */
  clear(): void {
    for (const entry of this.#kept.values()) entry.leave();
    this.#kept.clear();
  }

  #drop(entry: Deadline<EarlyCancel> | undefined): void {
    if (entry?.item === undefined) return;
    entry.leave();
    this.#kept.delete(entry.item.id);
  }

  #isJustOver(key: RequestId): boolean {
    const now = this.#clock.now();
    return this.#over.some((id, index) => idKey(id) === key && now - (this.#overAt[index] as number) < KEPT_MS);
  }
}

function isKept(id: RequestId): boolean {
  return typeof id === "number" || id.length <= MAX_ID_CHARS;
}
