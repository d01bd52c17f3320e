import type { Clock } from "../../../call/clock.js";
import { CallLifetime } from "../../../call/lifetime.js";
import { ConnectionError, toError } from "../../../protocol/errors.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import { idKey } from "../../../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { isRequestId } from "../../../protocol/jsonrpc/parse.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { isWantedBy, toChange } from "../../../store/change-bus.js";
import type { Subscription, WatchEvents } from "../../client-era.js";
import type { ClientTransport } from "../../transport.js";
import { SUBSCRIPTION_KEY } from "../envelope.js";

/** Subscriptions of a connection, by the id of their `subscriptions/listen` request. */
export class ListenSubscriptions {
  readonly #transport: ClientTransport;
  readonly #clock: Clock;
  readonly #open = new Map<RequestId, ListenSubscription>();

  constructor(transport: ClientTransport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Sends a `subscriptions/listen` request. Resolves when the server has acknowledged it. */
  async listen(params: Params, events: WatchEvents, opening: CallLifetime): Promise<Subscription> {
    opening.throwIfAborted();
    const life = new CallLifetime("subscriptions/listen", {}, this.#clock);
    const subscription = new ListenSubscription(params.notifications as SubscriptionFilter, events, life);
    let id: RequestId | undefined;
    const giveUp = (reason: unknown) => life.abort(reason);
    opening.onAbort(giveUp);
    const onId = (used: RequestId) => {
      id = used;
      this.#open.set(idKey(used), subscription);
    };
    this.#transport
      .request({ method: "subscriptions/listen", params, cancellable: true, waitsTurn: false, onId }, life)
      .then(
        (response) => subscription.answered(response),
        (error: unknown) => subscription.failed(error),
      )
      .finally(() => {
        if (id !== undefined) this.#open.delete(idKey(id));
        life.close();
      });
    try {
      await subscription.acknowledged;
    } finally {
      opening.offAbort(giveUp);
    }
    return subscription;
  }

  /** Passes a notification to the subscription that it names, if any. */
  receive(notification: RpcNotification): void {
    const id = (notification.params?._meta as Params | undefined)?.[SUBSCRIPTION_KEY];
    if (isRequestId(id)) this.#open.get(idKey(id))?.receive(notification);
  }

  /** Ends the subscription whose request the server cancels. */
  cancel(id: unknown): void {
    if (isRequestId(id)) this.#open.get(idKey(id))?.cancelledByServer();
  }
}

/** Subscription of this client, from its request to its end. */
class ListenSubscription implements Subscription {
  readonly acknowledged: Promise<void>;
  /** Requested filter. Changes of other resources are ignored, even if the server acknowledges them. */
  readonly #wanted: SubscriptionFilter;
  readonly #events: WatchEvents;
  readonly #life: CallLifetime;
  #state: "opening" | "open" | "over" = "opening";
  #honoured: SubscriptionFilter = {};
  #resolve: () => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(wanted: SubscriptionFilter, events: WatchEvents, life: CallLifetime) {
    this.#wanted = wanted;
    this.#events = events;
    this.#life = life;
    this.acknowledged = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Acknowledged filter. It stays readable after the end. */
  get honoured(): SubscriptionFilter {
    return this.#honoured;
  }

  receive(notification: RpcNotification): void {
    if (notification.method === "notifications/subscriptions/acknowledged") return this.#onAcknowledged(notification);
    if (this.#state !== "open") return;
    const change = toChange(notification.method, notification.params);
    if (change === undefined) this.#events.onOther?.(notification);
    else if (isWantedBy(this.#honoured, change)) this.#events.onChange(change);
  }

  /** Ends with the response of the server. */
  answered(response: RpcResponse): void {
    if ("error" in response) this.#end("lost", fromErrorObject(response.error));
    else this.#end("graceful", undefined);
  }

  failed(reason: unknown): void {
    this.#end("lost", toError(reason));
  }

  /** Ends because the server cancelled the request without a result. */
  cancelledByServer(): void {
    this.#end("graceful", undefined);
    this.#life.abort(new ConnectionError("The server ended the subscription"));
  }

  close(): void {
    this.#state = "over";
    this.#life.abort(new ConnectionError("The subscription was closed"));
  }

  #onAcknowledged(notification: RpcNotification): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    const { resourceSubscriptions, ...lists } = (notification.params?.notifications ?? {}) as SubscriptionFilter;
    const wanted = new Set(this.#wanted.resourceSubscriptions);
    this.#honoured =
      resourceSubscriptions === undefined
        ? lists
        : { ...lists, resourceSubscriptions: resourceSubscriptions.filter((uri) => wanted.has(uri)) };
    this.#resolve();
  }

  #end(how: "graceful" | "lost", reason: Error | undefined): void {
    const before = this.#state;
    this.#state = "over";
    if (before === "opening") this.#reject(this.#life.aborted ? this.#life.reason : (reason ?? notAcknowledged()));
    else if (before === "open") this.#events.onEnd(how, reason);
  }
}

function notAcknowledged(): ConnectionError {
  return new ConnectionError("The server ended the subscription before acknowledging it", { delivery: "answer_lost" });
}
