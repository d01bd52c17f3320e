import { untilAborted } from "../../../call/abortable.js";
import { CallLifetime } from "../../../call/lifetime.js";
import { ConnectionError, RpcError } from "../../../protocol/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { type Change, isWantedBy } from "../../../store/change-bus.js";
import type { ClientRuntime, Subscription, WatchEvents } from "../../client-era.js";

interface Watch {
  readonly filter: SubscriptionFilter;
  readonly events: WatchEvents;
}

type SendRequest = (method: string, params: Params, lifetime: CallLifetime) => Promise<unknown>;

/** Resources that the server may still tell of in vain; more are left to it. */
const MAX_LEFT = 100;

/** The subscriptions of a connection. Changes of lists come by themselves; resources are subscribed to one by one. */
export class ResourceSubscriptions {
  readonly #runtime: ClientRuntime;
  readonly #send: SendRequest;
  readonly #watches = new Set<Watch>();
  /** By resource, the end of the last request about it. Requests may overtake each other, so one waits for the other. */
  readonly #turns = new Map<string, Promise<void>>();
  /** Resources that the server could not be told to let go. */
  readonly #left = new Set<string>();

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
    const begun: string[] = [];
    try {
      for (const uri of uris) {
        begun.push(uri);
        await untilAborted(
          this.#inTurn(uri, () => this.#subscribe(uri, lifetime)),
          lifetime,
        );
      }
    } catch (error) {
      if (isRefused(error)) begun.pop();
      // Nothing of a watch that failed stays at the server; the caller does not wait for that.
      void this.#close(watch, begun);
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
    const [left] = this.#left;
    for (const uri of uris) await this.#inTurn(uri, () => this.#unsubscribe(uri));
    if (left !== undefined) void this.#inTurn(left, () => this.#unsubscribe(left));
  }

  async #subscribe(uri: string, lifetime: CallLifetime): Promise<void> {
    lifetime.throwIfAborted();
    await this.#send("resources/subscribe", { uri }, lifetime);
  }

  /** The subscription is over here whatever the server makes of it. Never rejects. */
  async #unsubscribe(uri: string): Promise<void> {
    this.#left.delete(uri);
    // Others may have begun to want it.
    if (this.uris.has(uri)) return;
    const { timeoutMs, clock } = this.#runtime;
    const lifetime = new CallLifetime("resources/unsubscribe", { timeoutMs }, clock);
    try {
      await this.#send("resources/unsubscribe", { uri }, lifetime);
    } catch (error) {
      if (!(error instanceof RpcError) && this.#left.size < MAX_LEFT) this.#left.add(uri);
      this.#runtime.onProblem(error as Error);
    } finally {
      lifetime.close();
    }
  }

  /** Runs work after all that was begun for the same resource. */
  #inTurn(uri: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#turns.get(uri) ?? Promise.resolve()).then(work);
    const over = done
      .catch(() => {})
      .then(() => {
        if (this.#turns.get(uri) === over) this.#turns.delete(uri);
      });
    this.#turns.set(uri, over);
    return done;
  }
}

/** Whether the server has not done what it was asked. */
function isRefused(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof ConnectionError && error.retrySafe);
}
