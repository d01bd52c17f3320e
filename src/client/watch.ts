import { followSignal, unfollowSignal } from "../call/follow-signal.js";
import type { Subscription, WatchEvents } from "../era/client-era.js";
import { ConnectionError } from "../schema/errors.js";
import type { SubscriptionFilter } from "../schema/types.js";
import type { Change } from "../store/change-bus.js";

type End = { readonly how: "closed" | "graceful" | "lost"; readonly reason: Error | undefined };

/** Changes that nobody has read yet; equal ones count once, so a slow reader costs no more than one of each. */
export class ChangeQueue implements WatchEvents {
  readonly #waiting = new Map<string, Change>();
  readonly #onFinished: (() => void)[] = [];
  #readers: (() => void)[] = [];
  #end: End | undefined;

  get ended(): End | undefined {
    return this.#end;
  }

  onChange(change: Change): void {
    if (this.#end !== undefined) return;
    this.#waiting.set(change.kind === "resource" ? change.uri : ` ${change.kind}`, change);
    this.#wake();
  }

  onEnd(how: "graceful" | "lost", reason: Error | undefined): void {
    this.finish({ how, reason });
  }

  finish(end: End): void {
    if (end.how === "closed") this.#waiting.clear();
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#wake();
    for (const listener of this.#onFinished.splice(0)) listener();
  }

  /** Calls the listener once, when the queue has ended. */
  onFinished(listener: () => void): void {
    this.#onFinished.push(listener);
  }

  /** The oldest unread change, or undefined when there will be none any more. */
  async next(): Promise<Change | undefined> {
    for (;;) {
      const [first] = this.#waiting;
      if (first !== undefined) {
        this.#waiting.delete(first[0]);
        return first[1];
      }
      if (this.#end !== undefined) return undefined;
      await new Promise<void>((resolve) => {
        this.#readers.push(resolve);
      });
    }
  }

  /** Whoever comes first takes what there is; the others wait on. */
  #wake(): void {
    for (const reader of this.#readers.splice(0)) reader();
  }
}

/** A subscription as a stream of changes. Leaving the loop, or `close`, ends it on both sides. */
export class Watch implements AsyncIterable<Change> {
  readonly #queue: ChangeQueue;
  readonly #subscription: Subscription;

  /** The signal, if there is one, closes the watch; it is let go of when the watch ends in any way. */
  constructor(queue: ChangeQueue, subscription: Subscription, signal: AbortSignal | undefined) {
    this.#queue = queue;
    this.#subscription = subscription;
    this.honoured = subscription.honoured;
    if (signal === undefined || queue.ended !== undefined) return;
    const close = () => void this.close();
    queue.onFinished(() => unfollowSignal(signal, close));
    if (signal.aborted) close();
    else followSignal(signal, close);
  }

  /** What the server agreed to tell. */
  readonly honoured: SubscriptionFilter;

  /** How it ended, once it has: `lost` means that changes may have been missed. */
  get ended(): End["how"] | undefined {
    return this.#queue.ended?.how;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change, void, void> {
    try {
      for (;;) {
        const change = await this.#queue.next();
        if (change === undefined) break;
        yield change;
      }
      const end = this.#queue.ended;
      if (end?.how === "lost") {
        throw new ConnectionError("The subscription was lost: changes may have been missed", {
          cause: end.reason,
          delivery: "answer_lost",
        });
      }
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (this.#queue.ended !== undefined) return;
    this.#queue.finish({ how: "closed", reason: undefined });
    await this.#subscription.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
