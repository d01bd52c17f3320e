// Modern has no twin: there a request is cancelled by closing its own exchange.

import type { Clock } from "../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../call/deadline-queue.js";
import { findByEither, idKey } from "../../../protocol/jsonrpc/inflight-table.js";
import type { RequestId } from "../../../protocol/jsonrpc/message.js";

/** More than a client has on their way at once; the oldest go first. */
const MAX_KEPT = 256;
/** More calls than end while a cancellation of one of them is on its way; the oldest go first. */
const MAX_OVER = 64;
/** More characters than ids of clients have; longer ones are not remembered. */
const MAX_ID_CHARS = 128;
/** Longer than one connection keeps a message that another has overtaken. */
const KEPT_MS = 10_000;

type Kept = Map<RequestId, Deadline<EarlyCancel>>;

/** A cancellation that waits for its request, and where it is kept. */
export interface EarlyCancel {
  readonly id: RequestId;
  readonly kept: Kept;
}

/** Ends the early cancellations of all sessions of an endpoint by time, on one timer. */
export function createCancelQueue(clock: Clock): DeadlineQueue<EarlyCancel> {
  return new DeadlineQueue(clock, KEPT_MS, ({ id, kept }) => kept.delete(id));
}

/**
 * Cancellations that name no running call. Each POST travels on its own, so a cancellation may come before the request
 * that it is about: it is kept for a moment, and the request, when it comes, is not run. One that comes after the end of
 * its call is not kept: the same id may be in use again. An id is found in either spelling, the exact one first. Every call
 * passes here and hardly any is cancelled: that a call is over is noted in a ring, and looked for only by a cancellation.
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

  /** Whether the request, which comes now, was cancelled before. Tells once. */
  take(id: RequestId): boolean {
    const found = this.#kept.size === 0 ? undefined : findByEither(this.#kept, id);
    this.#drop(found);
    return found !== undefined;
  }

  /** A call is over: a cancellation that comes from now on is about it. */
  onOver(id: RequestId): void {
    if (!isKept(id)) return;
    this.#over[this.#next] = id;
    this.#overAt[this.#next] = this.#clock.now();
    this.#next = (this.#next + 1) % MAX_OVER;
  }

  /** The session has ended: nothing is waited for any more. */
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
