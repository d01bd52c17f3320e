import type { Clock } from "../../call/clock.js";
import type { RequestId } from "../../jsonrpc/message.js";
import { idTwin } from "../../jsonrpc/request-id.js";

/** More than a client has on their way at once; the oldest go first. */
const MAX_KEPT = 256;
/** More calls than end while a cancellation of one of them is on its way; the oldest go first. */
const MAX_OVER = 64;
/** Longer than one connection keeps a message that another has overtaken. */
const KEPT_MS = 10_000;

/**
 * Cancellations that name no running call. Each POST travels on its own, so a cancellation may come before the request
 * that it is about: it is kept for a moment, and the request, when it comes, is not run. One that comes after the end of
 * its call is not kept: the same id may be in use again. An id is found in either spelling, the exact one first.
 */
export class EarlyCancels {
  readonly #clock: Clock;
  readonly #kept = new RecentIds(MAX_KEPT);
  readonly #over = new RecentIds(MAX_OVER);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(id: RequestId): void {
    const now = this.#clock.now();
    if (!isRecent(this.#over.find(id)?.at, now)) this.#kept.add(id, now);
  }

  /** Whether the request, which comes now, was cancelled before. Tells once. */
  take(id: RequestId): boolean {
    this.#over.remove(id);
    const found = this.#kept.find(id);
    if (found === undefined) return false;
    this.#kept.remove(found.id);
    return isRecent(found.at, this.#clock.now());
  }

  /** A call is over: a cancellation that comes from now on is about it. */
  onOver(id: RequestId): void {
    this.#over.add(id, this.#clock.now());
  }
}

/** Ids and when they came, oldest first, up to so many. */
class RecentIds {
  readonly #cameAt = new Map<RequestId, number>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  add(id: RequestId, now: number): void {
    this.#cameAt.delete(id);
    this.#cameAt.set(id, now);
    if (this.#cameAt.size <= this.#max) return;
    const [oldest] = this.#cameAt.keys();
    this.#cameAt.delete(oldest as RequestId);
  }

  remove(id: RequestId): void {
    this.#cameAt.delete(id);
  }

  find(id: RequestId): { readonly id: RequestId; readonly at: number } | undefined {
    const twin = idTwin(id);
    for (const spelling of twin === undefined ? [id] : [id, twin]) {
      const at = this.#cameAt.get(spelling);
      if (at !== undefined) return { id: spelling, at };
    }
    return undefined;
  }
}

function isRecent(at: number | undefined, now: number): boolean {
  return at !== undefined && now - at < KEPT_MS;
}
