import { CallLifetime } from "../../../call/lifetime.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { type Change, isWantedBy } from "../../../store/change-bus.js";
import type { ClientRuntime, Subscription, WatchEvents } from "../../client-era.js";

interface Watch {
  readonly filter: SubscriptionFilter;
  readonly events: WatchEvents;
}

type SendRequest = (method: string, params: Params, lifetime: CallLifetime) => Promise<unknown>;

/** The subscriptions of a connection. Changes of lists come by themselves; resources are subscribed to one by one. */
export class ResourceSubscriptions {
  readonly #runtime: ClientRuntime;
  readonly #send: SendRequest;
  readonly #watches = new Set<Watch>();

  constructor(runtime: ClientRuntime, send: SendRequest) {
    this.#runtime = runtime;
    this.#send = send;
  }

  get size(): number {
    return this.#watches.size;
  }

  /** The resources that are subscribed to. */
  get uris(): ReadonlySet<string> {
    return new Set([...this.#watches].flatMap(({ filter }) => filter.resourceSubscriptions ?? []));
  }

  /** Subscribes to all that is in the filter. */
  async open(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription> {
    const watch: Watch = { filter, events };
    const uris = filter.resourceSubscriptions ?? [];
    this.#watches.add(watch);
    const subscribed: string[] = [];
    try {
      for (const uri of uris) {
        await this.#send("resources/subscribe", { uri }, lifetime);
        subscribed.push(uri);
      }
    } catch (error) {
      // Nothing of a watch that failed stays at the server; the caller does not wait for that.
      void this.#close(watch, subscribed);
      throw error;
    }
    return { honoured: filter, close: () => this.#close(watch, uris) };
  }

  onChange(change: Change): void {
    for (const { filter, events } of [...this.#watches]) if (isWantedBy(filter, change)) events.onChange(change);
  }

  onMissed(): void {
    for (const { filter, events } of [...this.#watches]) events.onMissed(filter, undefined);
  }

  /** Ends all of them as lost. */
  endAll(reason: Error | undefined): void {
    const lost = [...this.#watches];
    this.#watches.clear();
    for (const { events } of lost) events.onEnd("lost", reason);
  }

  async #close(watch: Watch, uris: readonly string[]): Promise<void> {
    if (!this.#watches.delete(watch)) return;
    const { timeoutMs, clock } = this.#runtime;
    for (const uri of uris) {
      // Others may begin to want it while those before it are let go.
      if (this.uris.has(uri)) continue;
      const lifetime = new CallLifetime("resources/unsubscribe", { timeoutMs }, clock);
      // The subscription is over here whatever the server makes of it.
      await this.#send("resources/unsubscribe", { uri }, lifetime)
        .catch((error: Error) => this.#runtime.onProblem(error))
        .finally(() => lifetime.close());
    }
  }
}
