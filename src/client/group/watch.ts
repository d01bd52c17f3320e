import { pause } from "../../call/abortable.js";
import { backoffMs } from "../../call/backoff.js";
import type { Clock } from "../../call/clock.js";
import { toError } from "../../protocol/errors.js";
import type { Change } from "../../store/change-bus.js";
import type { Client } from "../client.js";
import { changesOf, isFinal } from "../subscriptions/resilient.js";
import { type Resync, toWire, type WatchFilter } from "../subscriptions/watch.js";

/**
 * Change at a server of a group. `lost` means that no changes are reported until it is connected again, because the
 * connection ended or the subscription failed.
 */
export type GroupChange = (Change | Resync | { readonly kind: "lost"; readonly reason: Error | undefined }) & {
  readonly server: string;
};

/** Parts of the group that a watch uses. */
export interface GroupWatchContext {
  readonly clock: Clock;
  onError(error: Error, server: string): void;
  onEnd(): void;
}

/** Number of consecutive subscriptions without an event after which the server is reported as lost. */
const MOST_FRUITLESS = 5;
const RESUBSCRIBE = { delayMs: 1000, maxDelayMs: 60_000 };

/** Changes of several servers as one stream. Equal unread changes are stored once. */
export class GroupWatch implements AsyncIterable<GroupChange> {
  readonly #filter: WatchFilter;
  readonly #context: GroupWatchContext;
  readonly #waiting = new Map<string, GroupChange>();
  readonly #stop = new AbortController();
  readonly #clients = new Map<string, Client>();
  #readers: (() => void)[] = [];

  /** @internal */
  constructor(filter: WatchFilter, context: GroupWatchContext) {
    this.#filter = filter;
    this.#context = context;
  }

  /**
   * Watches a connected server. `wasAway` is true if it was disconnected, so that changes were missed.
   * @internal
   */
  follow(server: string, client: Client, wasAway: boolean): void {
    if (this.#stop.signal.aborted) return;
    this.#clients.set(server, client);
    this.#waiting.delete(keyOf(server, "lost", undefined));
    void this.#listen(server, client, wasAway);
  }

  /** @internal */
  lost(server: string, reason: Error | undefined): void {
    this.#clients.delete(server);
    this.#add({ kind: "lost", server, reason });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<GroupChange, void, void> {
    try {
      for (let change = await this.#next(); change !== undefined; change = await this.#next()) yield change;
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#waiting.clear();
    this.#clients.clear();
    this.#wake();
    this.#context.onEnd();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Watches while the server is connected. Subscribes again if the server ends the subscription, for example because a
   * newer one replaces it, or if subscribing fails. Never rejects.
   */
  async #listen(server: string, client: Client, wasAway: boolean): Promise<void> {
    const { clock, onError } = this.#context;
    let missed = wasAway;
    let fruitless = 0;
    while (this.#isCurrent(server, client)) {
      try {
        if ((await this.#listenOnce(server, client, missed, () => (fruitless = 0))) === "nothing to hear") return;
        if (++fruitless === MOST_FRUITLESS) this.#add({ kind: "lost", server, reason: undefined });
      } catch (thrown) {
        if (!this.#isCurrent(server, client)) return;
        const error = toError(thrown);
        if (fruitless++ === 0) {
          onError(error, server);
          this.#add({ kind: "lost", server, reason: error });
        }
        if (isFinal(error) || isFinal(error.cause)) return;
      }
      missed = true;
      await pause(clock, backoffMs(Math.max(0, fruitless - 1), RESUBSCRIBE), this.#stop.signal);
    }
  }

  /** Resolves when the server has ended the subscription, or at once if it agrees to report nothing. */
  async #listenOnce(server: string, client: Client, missed: boolean, onHeard: () => void): Promise<string> {
    const watch = await client.watch(this.#filter, { signal: this.#stop.signal });
    const changes = changesOf(toWire(watch.honoured));
    if (missed) this.#add({ kind: "resync", server, missed: changes, reason: undefined });
    if (changes.length === 0) {
      await watch.close();
      return "nothing to hear";
    }
    for await (const change of watch) {
      onHeard();
      this.#add({ ...change, server });
    }
    return "ended";
  }

  #isCurrent(server: string, client: Client): boolean {
    return this.#clients.get(server) === client;
  }

  #add(change: GroupChange): void {
    if (this.#stop.signal.aborted) return;
    this.#waiting.set(keyOf(change.server, change.kind, change.kind === "resource" ? change.uri : undefined), change);
    this.#wake();
  }

  async #next(): Promise<GroupChange | undefined> {
    for (;;) {
      if (this.#stop.signal.aborted) return undefined;
      const [first] = this.#waiting;
      if (first !== undefined) {
        this.#waiting.delete(first[0]);
        return first[1];
      }
      await new Promise<void>((resolve) => {
        this.#readers.push(resolve);
      });
    }
  }

  #wake(): void {
    for (const reader of this.#readers.splice(0)) reader();
  }
}

function keyOf(server: string, kind: string, uri: string | undefined): string {
  return JSON.stringify([server, kind, uri]);
}
