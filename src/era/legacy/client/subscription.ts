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

/** Maximum number of resources whose failed unsubscribe request is repeated later. */
const MAX_LEFT = 100;

/** Subscriptions of a connection. List changes need no request. Each resource is subscribed to separately. */
export class ResourceSubscriptions {
  readonly #runtime: ClientRuntime;
  readonly #streamRefusal: () => Error | undefined;
  readonly #send: SendRequest;
  readonly #watches = new Set<Watch>();
  /**
   * End of the last request by resource. Requests may overtake each other over HTTP, so each waits for the previous
   * one.
   */
  readonly #turns = new Map<string, Promise<void>>();
  /** Resources whose unsubscribe request has failed. */
  readonly #left = new Set<string>();
  /** Last refusal of the stream that was reported. */
  #reported: Error | undefined;

  /** `streamRefusal` returns the error of the stream for changes if the server refuses it. */
  constructor(runtime: ClientRuntime, streamRefusal: () => Error | undefined, send: SendRequest) {
    this.#runtime = runtime;
    this.#streamRefusal = streamRefusal;
    this.#send = send;
  }

  get size(): number {
    return this.#watches.size;
  }

  /** Subscribed resources. */
  get uris(): ReadonlySet<string> {
    return new Set([...this.#watches].flatMap(({ filter }) => filter.resourceSubscriptions ?? []));
  }

  /**
   * Subscribes to all parts of the filter. Without a stream for changes nothing is honoured, but changes that arrive
   * during a call are reported.
   */
  async open(filter: SubscriptionFilter, events: WatchEvents, lifetime: CallLifetime): Promise<Subscription> {
    const watch: Watch = { filter, events };
    const uris = filter.resourceSubscriptions ?? [];
    this.#watches.add(watch);
    this.onStreamRefused();
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
      // Unsubscribes what a failed watch has subscribed to. The caller does not wait for that.
      void this.#close(watch, begun);
      throw error;
    }
    const streamRefusal = this.#streamRefusal;
    return {
      get honoured() {
        return streamRefusal() === undefined ? filter : {};
      },
      close: () => this.#close(watch, uris),
    };
  }

  /** Reports that changes do not arrive, once per refusal, if a subscription wants any. */
  onStreamRefused(): void {
    const refusal = this.#streamRefusal();
    const isWanted = [...this.#watches].some(({ filter }) => Object.keys(filter).length > 0);
    if (refusal === undefined || refusal === this.#reported || !isWanted) return;
    this.#reported = refusal;
    const message = `Changes do not arrive, and watch.honoured is empty: the server has no stream for them (${refusal.message})`;
    this.#runtime.onProblem(new ConnectionError(message, { cause: refusal }));
  }

  onChange(change: Change): void {
    for (const { filter, events } of [...this.#watches]) if (isWantedBy(filter, change)) events.onChange(change);
  }

  onMissed(): void {
    for (const { filter, events } of [...this.#watches]) events.onMissed(filter, undefined);
  }

  /** Ends all subscriptions as lost. */
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

  /** Unsubscribes from a resource. The subscription ends locally even if the request fails. Never rejects. */
  async #unsubscribe(uri: string): Promise<void> {
    this.#left.delete(uri);
    // Another watch may have subscribed in the meantime.
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

  /** Runs the work after all earlier work for the same resource. */
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

/** True if the server refused the request, so that there is no subscription to end. */
function isRefused(error: unknown): boolean {
  return error instanceof RpcError || (error instanceof ConnectionError && error.retrySafe);
}
