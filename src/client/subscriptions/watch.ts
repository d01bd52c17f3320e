import { followSignal } from "../../call/abortable.js";
import type { Subscription, WatchEvents } from "../../era/client-era.js";
import { ConnectionError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
import { assertOptions } from "../../protocol/known-options.js";
import type { SubscriptionFilter } from "../../protocol/types/index.js";
import type { Change } from "../../store/change-bus.js";
import type { CallOptions } from "../options.js";
import type { ClientCore } from "../runtime.js";
import {
  changesOf,
  type Listening,
  RESUBSCRIBE_OPTIONS,
  ResilientSubscription,
  type ResubscribeOptions,
} from "./resilient.js";

type End = { readonly how: "closed" | "graceful" | "lost"; readonly reason: Error | undefined };

/** Changes to subscribe to. */
export interface WatchFilter {
  /** True for changes of the list of tools. */
  readonly toolsListChanged?: boolean | undefined;
  /** True for changes of the list of prompts. */
  readonly promptsListChanged?: boolean | undefined;
  /** True for changes of the list of resources. */
  readonly resourcesListChanged?: boolean | undefined;
  /** URIs of resources. */
  readonly resources?: readonly string[] | undefined;
}

/** Event after an interruption. Each of the changes in `missed` may have happened. */
export interface Resync {
  readonly kind: "resync";
  readonly missed: readonly Change[];
  /** Reason of the interruption, if it is known. */
  readonly reason: Error | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends CallOptions {
  /** Renewal of a lost subscription while connected. `false` disables it. */
  readonly resubscribe?: false | ResubscribeOptions | undefined;
}

/** Returns the filter in the words of the protocol. */
export function toWire({ resources, ...lists }: WatchFilter): SubscriptionFilter {
  return defined<SubscriptionFilter>({ ...lists, resourceSubscriptions: resources && [...resources] });
}

/** Opens a subscription within the limits of a call. It lasts until the watch or the client is closed. */
export async function openWatch(core: ClientCore, filter: WatchFilter, options: WatchOptions): Promise<Watch> {
  const { resubscribe = {}, ...limits } = options;
  if (resubscribe !== false) assertOptions("watch: resubscribe", resubscribe, RESUBSCRIBE_OPTIONS);
  const wire = toWire(filter);
  const queue = new ChangeQueue((changes) => core.missed(changes));
  core.listening.add(queue);
  queue.onFinished(() => core.listening.delete(queue));
  try {
    const subscription = await ResilientSubscription.open(core, wire, queue, resubscribe, (asked, events) =>
      core.listen(asked, events, limits),
    );
    return new Watch(queue, subscription, options.signal);
  } catch (error) {
    queue.finish({ how: "closed", reason: undefined });
    throw error;
  }
}

/** Unread changes. Equal changes are stored once, so that a slow reader needs little memory. */
export class ChangeQueue implements WatchEvents, Listening {
  readonly #waiting = new Map<string, Change | Resync>();
  readonly #onFinished: (() => void)[] = [];
  readonly #onGap: (missed: readonly Change[]) => void;
  #readers: (() => void)[] = [];
  #end: End | undefined;

  constructor(onGap: (missed: readonly Change[]) => void) {
    this.#onGap = onGap;
  }

  get ended(): End | undefined {
    return this.#end;
  }

  onChange(change: Change): void {
    if (this.#end !== undefined) return;
    this.#waiting.set(change.kind === "resource" ? change.uri : ` ${change.kind}`, change);
    this.#wake();
  }

  onMissed(honoured: SubscriptionFilter, reason: Error | undefined): void {
    if (this.#end !== undefined) return;
    const missed = changesOf(honoured);
    this.#waiting.set(" resync", { kind: "resync", missed, reason });
    this.#onGap(missed);
    this.#wake();
  }

  over(how: "closed" | "lost", reason: Error | undefined): void {
    if (how === "closed") this.finish({ how, reason });
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

  /** Returns the oldest unread change, or undefined after the end. */
  async next(): Promise<Change | Resync | undefined> {
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

  /** Wakes all readers. The first one takes the change, the others continue to wait. */
  #wake(): void {
    for (const reader of this.#readers.splice(0)) reader();
  }
}

/** Subscription as a stream of changes. Leaving the loop, or `close`, ends it. */
export class Watch implements AsyncIterable<Change | Resync> {
  readonly #queue: ChangeQueue;
  readonly #subscription: Subscription;

  /**
   * `signal` closes the watch. Its listener is removed when the watch ends.
   * @internal
   */
  constructor(queue: ChangeQueue, subscription: Subscription, signal: AbortSignal | undefined) {
    this.#queue = queue;
    this.#subscription = subscription;
    if (signal === undefined || queue.ended !== undefined) return;
    queue.onFinished(followSignal(signal, () => void this.close()));
  }

  /** Part of the filter that the server accepted. */
  get honoured(): WatchFilter {
    const { resourceSubscriptions: resources, ...lists } = this.#subscription.honoured;
    return { ...lists, ...(resources === undefined ? undefined : { resources }) };
  }

  /** Kind of end, after it has ended. `lost` means that changes may have been missed. */
  get ended(): End["how"] | undefined {
    return this.#queue.ended?.how;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Change | Resync, void, void> {
    try {
      for (;;) {
        const change = await this.#queue.next();
        if (change === undefined) break;
        yield change;
      }
      const end = this.#queue.ended;
      if (end?.how === "lost") {
        throw new ConnectionError(`The subscription was lost and changes may have been missed${because(end.reason)}`, {
          cause: end.reason,
          delivery: "answer_lost",
        });
      }
    } finally {
      await this.close();
    }
  }

  /** Ends the watch. Its loop ends, too. */
  async close(): Promise<void> {
    if (this.#queue.ended !== undefined) return;
    this.#queue.finish({ how: "closed", reason: undefined });
    await this.#subscription.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

function because(reason: Error | undefined): string {
  return reason === undefined ? "" : `: ${reason.message}`;
}
