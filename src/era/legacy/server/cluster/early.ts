import type { Clock } from "../../../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../../../call/deadline-queue.js";
import type { RequestId, RpcNotification } from "../../../../protocol/jsonrpc/message.js";
import { dropOldest } from "../../../../protocol/oldest.js";
import type { Change } from "../../../../store/change-bus.js";

/** Maximum number of cancellations, and of changed resources. The oldest are dropped first. */
const MAX_KEPT = 1_000;
/** Time for which a cancellation is kept. */
const KEPT_MS = 10_000;
/** Maximum length of a request id. */
const MAX_ID_CHARS = 128;

interface Early {
  readonly session: string;
  readonly requestId: RequestId;
}

/**
 * Cancellations for sessions that this process does not serve yet. The cancelled request may be on its way to this
 * process.
 */
export class EarlyCancels {
  readonly #kept = new Set<Deadline<Early>>();
  readonly #queue: DeadlineQueue<Early>;

  constructor(clock: Clock) {
    this.#queue = new DeadlineQueue(clock, KEPT_MS, (early) => this.#drop(early));
  }

  keep(session: string, requestId: RequestId): void {
    if (typeof requestId === "string" && requestId.length > MAX_ID_CHARS) return;
    const [oldest] = this.#kept;
    if (this.#kept.size >= MAX_KEPT && oldest?.item !== undefined) this.#drop(oldest.item);
    this.#kept.add(this.#queue.add({ session, requestId }));
  }

  /** Returns and removes the cancellations for a session. */
  take(session: string): readonly RpcNotification[] {
    if (this.#kept.size === 0) return [];
    const found = [...this.#kept].flatMap(({ item }) => (item?.session === session ? [item] : []));
    for (const early of found) this.#drop(early);
    return found.map(({ requestId }) => ({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId },
    }));
  }

  clear(): void {
    for (const { item } of [...this.#kept]) if (item !== undefined) this.#drop(item);
  }

  #drop(early: Early): void {
    for (const deadline of this.#kept) {
      if (deadline.item !== early) continue;
      deadline.leave();
      this.#kept.delete(deadline);
      return;
    }
  }
}

/**
 * Resources that changed a moment ago. A subscription that was made in another process takes a moment to arrive, and a
 * change may be faster.
 */
export class RecentChanges {
  readonly #clock: Clock;
  readonly #keepMs: number;
  /** Time of the last change by URI, oldest first. */
  readonly #changedAt = new Map<string, number>();

  constructor(clock: Clock, keepMs: number) {
    this.#clock = clock;
    this.#keepMs = keepMs;
  }

  add(change: Change): void {
    if (change.kind !== "resource") return;
    this.#changedAt.delete(change.uri);
    this.#changedAt.set(change.uri, this.#clock.now());
    dropOldest(this.#changedAt, MAX_KEPT);
  }

  has(uri: string): boolean {
    const changedAt = this.#changedAt.get(uri);
    return changedAt !== undefined && this.#clock.now() - changedAt <= this.#keepMs;
  }
}
